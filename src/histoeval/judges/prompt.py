"""Prompts are data: a YAML file with a rubric, its scales and examples."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from histoeval.errors import InputError, SettingError, did_you_mean, explain_validation
from histoeval.io.yaml_files import read_yaml
from histoeval.llm.chat import RULE, Message, fenced, mark_of
from histoeval.report import Noun
from histoeval.resources import resource_path

LAYOUT = 1
"""Version of how prompts are laid out as messages; part of their hash."""

REASONING = "reasoning"
"""The key of the answer that holds text and not a score."""

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Order = Literal["usual", "swapped"]
"""Which report is shown first: the reference, as usual, or the candidate."""


class Criterion(Noun):
    """A question and its scale: each step with what it means."""

    name: Name
    question: str
    levels: Annotated[dict[int, str], Field(min_length=2)]

    @property
    def lowest(self) -> int:
        """The worst score."""
        return min(self.levels)

    @property
    def highest(self) -> int:
        """The best score."""
        return max(self.levels)

    @model_validator(mode="after")
    def _steps_follow(self) -> Self:
        if self.highest - self.lowest + 1 != len(self.levels):
            raise ValueError(f"the levels of {self.name} must be whole numbers in a row")
        return self


class PromptExample(Noun):
    """A pair and the answer it should get."""

    reference: str
    candidate: str
    answer: dict[str, int | str]


class Rule(Noun):
    """A contradiction: with these scores, others can have at most these."""

    when: dict[str, int]
    at_most: dict[str, int]

    def broken_by(self, scores: Mapping[str, int]) -> str | None:
        """How the scores contradict each other; None if they do not."""
        for name, score in self.when.items():
            if scores[name] > score:
                return None
        for name, most in self.at_most.items():
            if scores[name] > most:
                given = ", ".join(f"{each} {scores[each]}" for each in self.when)
                return f"{name} {scores[name]} does not go with {given}"
        return None


class Prompt(Noun):
    """The instructions to a judge, and the form of its answer."""

    name: Name
    version: Annotated[int, Field(ge=1)]
    system: str
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1)]
    reasoning: str
    examples: tuple[PromptExample, ...] = ()
    consistency: tuple[Rule, ...] = ()
    answer_tokens: Annotated[int, Field(ge=1)] = 200
    """How long an answer usually is, for estimates."""
    most_tokens: Annotated[int, Field(ge=16)] = 1024
    """How long it may be."""

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [criterion.name for criterion in self.criteria]
        if len(set(names)) < len(names) or REASONING in names:
            raise ValueError("each criterion needs a name of its own, and none can be 'reasoning'")
        for rule in self.consistency:
            if unknown := {*rule.when, *rule.at_most} - set(names):
                raise ValueError(f"consistency names {sorted(unknown)}, which is no criterion")
        return self

    @cached_property
    def hash(self) -> str:
        """Twelve characters that change with anything that a judge is sent."""
        sent = self.model_dump(mode="json", exclude={"answer_tokens", "consistency"})
        content = json.dumps([LAYOUT, RULE, sent], sort_keys=True)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def identity(self) -> str:
        """Name, version and hash, for signatures."""
        return f"{self.name}-{self.version}-{self.hash}"

    def overall(self, scores: Mapping[str, float]) -> float:
        """All criteria as one number from 0 to 1: the mean of how far each is up its scale."""
        heights = [(scores[name] - low) / (high - low) for name, low, high in self.scales]
        return sum(heights) / len(heights)

    @cached_property
    def scales(self) -> tuple[tuple[str, int, int], ...]:
        """Each criterion with its lowest and highest score."""
        return tuple((each.name, each.lowest, each.highest) for each in self.criteria)

    @cached_property
    def schema_of_answer(self) -> dict[str, Any]:
        """The JSON schema of the answer, for servers that can enforce one."""
        scores = {
            each.name: {"type": "integer", "enum": sorted(each.levels)} for each in self.criteria
        }
        return {
            "type": "object",
            "properties": scores | {REASONING: {"type": "string"}},
            "required": [*scores, REASONING],
            "additionalProperties": False,
        }

    @cached_property
    def instructions(self) -> str:
        """The system message: task, rule on reports, rubric, form of the answer, examples."""
        keys = ", ".join(f'"{each.name}"' for each in self.criteria)
        form = (
            f"Answer at once, with a single JSON object with the keys {keys}, each a whole number "
            f'of its scale, and "{REASONING}": {self.reasoning.strip()}. '
            "No other text, no code fence."
        )
        shown = [_shown(example) for example in self.examples]
        return "\n\n".join([self.system.strip(), RULE, *map(_scale, self.criteria), form, *shown])

    def messages(self, reference: str, candidate: str, order: Order = "usual") -> list[Message]:
        """The conversation that asks about one pair."""
        return [
            {"role": "system", "content": self.instructions},
            {"role": "user", "content": _case(reference, candidate, order)},
        ]


_FOLDER = resource_path("judges/prompts")


def load_prompt(name: str) -> Prompt:
    """A prompt of this package by its name, or your own by its file."""
    if name in known_prompts():
        return _read(_FOLDER / f"{name}.yaml")
    path = Path(name)
    if path.suffix.lower() not in (".yaml", ".yml"):
        known = ", ".join(known_prompts())
        guess = did_you_mean(name, known_prompts())
        raise SettingError(
            f"there is no prompt {name!r}{guess}; known: {known}; or name a .yaml file"
        )
    return _read(path)


@cache
def known_prompts() -> tuple[str, ...]:
    """The prompts of this package."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


def _read(path: Path) -> Prompt:
    content = read_yaml(path, "the prompt").content
    try:
        return Prompt.model_validate(content)
    except ValidationError as error:
        fault = explain_validation(error)
        raise InputError(f"the prompt {path} cannot be used: {fault}") from error


def _scale(criterion: Criterion) -> str:
    steps = sorted(criterion.levels.items(), reverse=True)
    lines = [f"{criterion.name} ({criterion.lowest} to {criterion.highest}): {criterion.question}"]
    return "\n".join([*lines, *[f"  {score} = {meaning}" for score, meaning in steps]])


def _shown(example: PromptExample) -> str:
    case = _case(example.reference, example.candidate, "usual")
    return f"Example\n{case}\n{json.dumps(example.answer, ensure_ascii=False)}"


def _case(reference: str, candidate: str, order: Order) -> str:
    mark = mark_of(reference, candidate)
    both = [fenced("REFERENCE", reference, mark), fenced("CANDIDATE", candidate, mark)]
    return "\n\n".join(both if order == "usual" else both[::-1])
