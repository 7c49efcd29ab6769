"""Prompts are data: a YAML file with a rubric, its scales and examples.

Answers are read strictly: all of one is valid, or none of it is used. Nothing is repaired: no
number is taken from free text, no missing key is filled in, no score is moved into its range.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from histoeval.errors import SettingError, did_you_mean
from histoeval.io.settings_files import read_model
from histoeval.io.tables.records import shown
from histoeval.llm.chat import RULE, Message, fenced, mark_of
from histoeval.llm.replies import Unreadable, only_object, strip_reasoning
from histoeval.report import Noun
from histoeval.resources import resource_path

LAYOUT = 1  # version of how prompts are laid out as messages; part of their hash
REASONING = "reasoning"  # the key of the answer that holds text and not a score
STRICT = ConfigDict(extra="forbid", strict=True)

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Order = Literal["usual", "swapped"]  # the reference is shown first, or the candidate


def fenced_pair(reference: str, candidate: str, order: Order, mark: str) -> str:
    reports = [fenced("REFERENCE", reference, mark), fenced("CANDIDATE", candidate, mark)]
    return "\n\n".join(reports if order == "usual" else reports[::-1])


class JudgePrompt(Noun, ABC):
    name: Name
    version: Annotated[int, Field(ge=1)]
    system: str
    answer_tokens: Annotated[int, Field(ge=1)] = 200  # usual length of an answer, for estimates
    most_tokens: Annotated[int, Field(ge=16)] = 1024

    @property
    @abstractmethod
    def sent(self) -> list[Any]:
        """Everything sent to a judge, for the hash."""

    @property
    @abstractmethod
    def schema_of_answer(self) -> dict[str, Any]: ...

    @property
    @abstractmethod
    def instructions(self) -> str: ...

    @abstractmethod
    def read(self, text: str, reference: str = "", candidate: str = "") -> Any:
        """The answer in a reply; `Unreadable` unless all of it is valid."""

    def shown(self, report: str) -> str:
        return report

    @cached_property
    def hash(self) -> str:
        content = json.dumps([LAYOUT, RULE, *self.sent], sort_keys=True)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def identity(self) -> str:
        return f"{self.name}-{self.version}-{self.hash}"

    def messages(self, reference: str, candidate: str, order: Order = "usual") -> list[Message]:
        mark = mark_of(reference, candidate)
        content = fenced_pair(self.shown(reference), self.shown(candidate), order, mark)
        return [
            {"role": "system", "content": self.instructions},
            {"role": "user", "content": content},
        ]


class Criterion(Noun):
    name: Name
    question: str
    levels: Annotated[dict[int, str], Field(min_length=2)]

    @property
    def lowest(self) -> int:
        return min(self.levels)

    @property
    def highest(self) -> int:
        return max(self.levels)

    @property
    def rubric(self) -> str:
        lines = [f"{self.name} ({self.lowest} to {self.highest}): {self.question}"]
        steps = sorted(self.levels.items(), reverse=True)
        return "\n".join([*lines, *[f"  {score} = {meaning}" for score, meaning in steps]])

    @model_validator(mode="after")
    def _steps_follow(self) -> Self:
        if self.highest - self.lowest + 1 != len(self.levels):
            raise ValueError(f"the levels of {self.name} must be whole numbers in a row")
        return self


class PromptExample(Noun):
    reference: str
    candidate: str
    answer: dict[str, int | str]

    @property
    def instruction(self) -> str:
        answer = json.dumps(self.answer, ensure_ascii=False)
        mark = mark_of(self.reference, self.candidate)
        reports = fenced_pair(self.reference, self.candidate, "usual", mark)
        return f"Example\n{reports}\n{answer}"


class Rule(Noun):
    """A contradiction: with these scores, others can have at most these."""

    when: dict[str, int]
    at_most: dict[str, int]

    def broken_by(self, scores: Mapping[str, int]) -> str | None:
        for name, score in self.when.items():
            if scores[name] > score:
                return None
        for name, limit in self.at_most.items():
            if scores[name] > limit:
                causes = ", ".join(f"{criterion} {scores[criterion]}" for criterion in self.when)
                return f"{name} {scores[name]} does not go with {causes}"
        return None


@dataclass(frozen=True, slots=True)
class Answer:
    scores: dict[str, int]
    reasoning: str


class Prompt(JudgePrompt):
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1)]
    reasoning: str
    examples: tuple[PromptExample, ...] = ()
    consistency: tuple[Rule, ...] = ()

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [criterion.name for criterion in self.criteria]
        if len(set(names)) < len(names) or REASONING in names:
            raise ValueError("each criterion needs a name of its own, and none can be 'reasoning'")
        for rule in self.consistency:
            if unknown := {*rule.when, *rule.at_most} - set(names):
                raise ValueError(f"consistency names {sorted(unknown)}, which is no criterion")
        return self

    @property
    def sent(self) -> list[Any]:
        return [self.model_dump(mode="json", exclude={"answer_tokens", "consistency"})]

    def overall(self, scores: Mapping[str, float]) -> float:
        """All criteria as one number from 0 to 1: the mean of their positions on their scales."""
        heights = [(scores[name] - low) / (high - low) for name, low, high in self.scales]
        return sum(heights) / len(heights)

    @cached_property
    def scales(self) -> tuple[tuple[str, int, int], ...]:
        return tuple((item.name, item.lowest, item.highest) for item in self.criteria)

    @cached_property
    def schema_of_answer(self) -> dict[str, Any]:
        scores = {
            item.name: {"type": "integer", "enum": sorted(item.levels)} for item in self.criteria
        }
        return {
            "type": "object",
            "properties": scores | {REASONING: {"type": "string"}},
            "required": [*scores, REASONING],
            "additionalProperties": False,
        }

    @cached_property
    def instructions(self) -> str:
        keys = ", ".join(f'"{item.name}"' for item in self.criteria)
        form = (
            f"Answer at once, with a single JSON object with the keys {keys}, each a whole number "
            f'of its scale, and "{REASONING}": {self.reasoning.strip()}. '
            "No other text, no code fence."
        )
        scales = [criterion.rubric for criterion in self.criteria]
        examples = [example.instruction for example in self.examples]
        return "\n\n".join([self.system.strip(), RULE, *scales, form, *examples])

    def read(self, text: str, reference: str = "", candidate: str = "") -> Answer:  # noqa: ARG002
        content = only_object(strip_reasoning(text))
        try:
            _form_of(self.scales).model_validate(content)
        except ValidationError as error:
            raise unreadable(error) from error
        scores = {name: content[name] for name, _, _ in self.scales}
        return Answer(scores, shown(content[REASONING]))


_FOLDER = resource_path("judges/prompts")


def load_prompt(name: str) -> Prompt:
    path = _FOLDER / f"{name}.yaml" if name in known_prompts() else Path(name)
    if path.suffix.lower() not in (".yaml", ".yml"):
        names = ", ".join(known_prompts())
        guess = did_you_mean(name, known_prompts())
        raise SettingError(
            f"there is no prompt {name!r}{guess}; known: {names}; or name a .yaml file"
        )
    return read_model(path, Prompt, "the prompt")


@cache
def known_prompts() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


@lru_cache(maxsize=64)
def _form_of(scales: tuple[tuple[str, int, int], ...]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        name: (Annotated[int, Field(ge=low, le=high)], ...) for name, low, high in scales
    }
    return create_model("Form", __config__=STRICT, **fields, reasoning=(str, ...))


def unreadable(error: ValidationError) -> Unreadable:
    """Each wrong key once; nothing of the reply is quoted, since that may quote a report."""
    complaints = [
        "there are keys that were not asked for"
        if fault["type"] == "extra_forbidden"
        else f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].lower()}"
        for fault in error.errors()
    ]
    return Unreadable("; ".join(dict.fromkeys(complaints)))
