"""Prompts whose answer is a list: verdicts on statements, or errors with their severity.

Read as strictly as scores are: every statement has one verdict, every quotation stands in its
report, or nothing of the answer is used.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from histoeval.concordance.evidence import ErrorKind, Severity
from histoeval.concordance.statements import stated
from histoeval.io.settings_files import read_yaml
from histoeval.io.tables.records import shown
from histoeval.judges.prompt import LAYOUT, Name, Order, fenced_pair, unreadable
from histoeval.llm.chat import RULE, Message, mark_of
from histoeval.llm.replies import Unreadable, only_object, strip_reasoning
from histoeval.report import Noun
from histoeval.resources import resource_path

STRICT = ConfigDict(extra="forbid", strict=True)
AGREED = ("diagnosis", "site", "laterality", "grade", "stage", "markers", "finding")
"""What both reports can have in common, by part."""

Text = Annotated[str, Field(min_length=1, max_length=2000)]


class _Verdict(BaseModel):
    model_config = STRICT
    n: int
    verdict: Literal["supported", "contradicted", "neither"]
    by: list[int]


class _Verdicts(BaseModel):
    model_config = STRICT
    reference: list[_Verdict]
    candidate: list[_Verdict]


class _Agreed(BaseModel):
    model_config = STRICT
    part: Literal["diagnosis", "site", "laterality", "grade", "stage", "markers", "finding"]
    reference: Text
    candidate: Text


class _Error(BaseModel):
    model_config = STRICT
    kind: str
    severity: Literal["minor", "moderate", "major", "critical"]
    reference: Text | None
    candidate: Text | None
    message: Text

    @model_validator(mode="after")
    def _is_one(self) -> _Error:
        if self.kind not in set(ErrorKind):
            raise ValueError(f"kind must be one of {', '.join(ErrorKind)}")
        if self.reference is None and self.candidate is None:
            raise ValueError("reference and candidate cannot both be null")
        return self


class _Errors(BaseModel):
    model_config = STRICT
    agreed: list[_Agreed]
    errors: list[_Error]


_FORMS: dict[str, tuple[type[BaseModel], str]] = {
    "statements": (
        _Verdicts,
        'Answer at once, with a single JSON object with the keys "reference" and "candidate": for '
        'each report a list with one object for each of its statements, in their order, {"n": its '
        'number, "verdict": "supported", "contradicted" or "neither", "by": the numbers of the '
        "statements of the other report that decide it, [] where none does}. No other text, no "
        "code fence.",
    ),
    "errors": (
        _Errors,
        'Answer at once, with a single JSON object with the keys "agreed", a list of {"part": '
        f'{", ".join(AGREED)}, "reference": words of the reference, "candidate": words of the '
        'candidate}, and "errors", a list of {"kind": '
        f'{", ".join(ErrorKind)}, "severity": minor, moderate, major or critical, "reference": '
        'words of the reference or null, "candidate": words of the candidate or null, "message": '
        "the error in one sentence}. Words of a report are copied exactly. No other text, no code "
        "fence.",
    ),
}


@dataclass(frozen=True, slots=True)
class Listing:
    """A judge's lists about a pair, as evidence has them."""

    content: dict[str, Any]


class ListPrompt(Noun):
    """Instructions to a judge whose answer is lists."""

    name: Name
    version: int
    form: Literal["statements", "errors"]
    system: str
    answer_tokens: int = 400
    most_tokens: int = 4096

    @cached_property
    def hash(self) -> str:
        """Twelve characters that change with anything that a judge is sent."""
        sent = [LAYOUT, RULE, self.instructions, self.schema_of_answer, self.most_tokens]
        content = json.dumps(sent, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @property
    def identity(self) -> str:
        """Name, version and hash, for signatures."""
        return f"{self.name}-{self.version}-{self.hash}"

    @cached_property
    def schema_of_answer(self) -> dict[str, Any]:
        """The JSON schema of the answer, for servers that can enforce one."""
        return _FORMS[self.form][0].model_json_schema()

    @cached_property
    def instructions(self) -> str:
        """The system message: task, rule on reports, form of the answer."""
        return "\n\n".join([self.system.strip(), RULE, _FORMS[self.form][1]])

    def messages(self, reference: str, candidate: str, order: Order = "usual") -> list[Message]:
        """The conversation that asks about one pair."""
        mark = mark_of(reference, candidate)
        if self.form == "statements":
            reference, candidate = _numbered(reference), _numbered(candidate)
        content = fenced_pair(reference, candidate, order, mark)
        return [
            {"role": "system", "content": self.instructions},
            {"role": "user", "content": content},
        ]

    def read(self, text: str, reference: str, candidate: str) -> Listing:
        """The lists in a reply; `Unreadable` unless all of it is valid."""
        try:
            answer = _FORMS[self.form][0].model_validate(only_object(strip_reasoning(text)))
        except ValidationError as error:
            raise unreadable(error) from error
        if isinstance(answer, _Verdicts):
            return Listing(_statements(answer, reference, candidate))
        assert isinstance(answer, _Errors)
        return Listing(_errors(answer, reference, candidate))


@cache
def load_list_prompt(name: str) -> ListPrompt:
    """A prompt of this package by its name."""
    path = resource_path(f"judges/prompts/lists/{name}.yaml")
    return ListPrompt.model_validate(read_yaml(path).content)


def _numbered(text: str) -> str:
    """Statements of a report, each on a numbered line."""
    return "\n".join(f"{n}. {each.asked}" for n, each in enumerate(stated(text), start=1))


def _statements(answer: _Verdicts, reference: str, candidate: str) -> dict[str, Any]:
    """Each statement with its verdict, and the words that it is by."""
    texts = [[each.text for each in stated(text)] for text in (reference, candidate)]
    given = (("reference", answer.reference), ("candidate", answer.candidate))
    found: dict[str, Any] = {}
    for (side, verdicts), own, other in zip(given, texts, texts[::-1], strict=True):
        if [each.n for each in verdicts] != list(range(1, len(own) + 1)):
            raise Unreadable(f"{side}: there must be one entry for each of {len(own)} statements")
        if any(not 1 <= n <= len(other) for each in verdicts for n in each.by):
            raise Unreadable(f"{side}: by names a statement that the other report does not have")
        found[side] = [
            {"text": text, "verdict": each.verdict}
            | ({"by": other[each.by[0] - 1]} if each.by and each.verdict != "neither" else {})
            for text, each in zip(own, verdicts, strict=True)
        ]
    return found


def _errors(answer: _Errors, reference: str, candidate: str) -> dict[str, Any]:
    """Matches and errors as concordance has them in its evidence."""
    if not answer.agreed and not answer.errors:
        raise Unreadable("agreed and errors are both empty: nothing was compared")
    plain = {"reference": _plain(reference), "candidate": _plain(candidate)}
    for each in (*answer.agreed, *answer.errors):
        for side, text in plain.items():
            words = getattr(each, side)
            if words is not None and _plain(words) not in text:
                raise Unreadable(f"words that are not in the {side}: copy them exactly")
    matches = [
        {"part": m.part, "similarity": 1.0}
        | {"reference": _mention(m.reference), "candidate": _mention(m.candidate)}
        for m in answer.agreed
    ]
    errors = [
        {"kind": e.kind, "severity": int(Severity[e.severity.upper()])}
        | {"reference": _mention(e.reference), "candidate": _mention(e.candidate)}
        | {"message": shown(e.message)}
        for e in answer.errors
    ]
    return {"matches": matches, "errors": errors}


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _mention(words: str | None) -> dict[str, str] | None:
    return None if words is None else {"text": shown(words)}
