"""Prompts whose answer is a list: verdicts on statements, or errors with their severity.

Read as strictly as scores are: every statement has one verdict, every quotation stands in its
report, or nothing of the answer is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, ValidationError, model_validator

from histoeval.concordance.evidence import ErrorKind, Severity
from histoeval.concordance.statements import stated
from histoeval.io.settings_files import read_model
from histoeval.io.tables.records import shown
from histoeval.judges.prompt import STRICT, JudgePrompt, unreadable
from histoeval.llm.chat import RULE
from histoeval.llm.replies import Unreadable, only_object, strip_reasoning
from histoeval.resources import resource_path

AgreedPart = Literal["diagnosis", "site", "laterality", "grade", "stage", "markers", "finding"]
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
    part: AgreedPart
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


_FORMS: dict[str, type[BaseModel]] = {"statements": _Verdicts, "errors": _Errors}


@dataclass(frozen=True, slots=True)
class Listing:
    content: dict[str, Any]


class ListPrompt(JudgePrompt):
    form: Literal["statements", "errors"]
    answer: str  # the form of the answer in words; `{parts}` and `{kinds}` are filled in
    answer_tokens: int = 400
    most_tokens: int = 4096

    @property
    def sent(self) -> list[Any]:
        return [self.instructions, self.schema_of_answer, self.most_tokens]

    @cached_property
    def schema_of_answer(self) -> dict[str, Any]:
        return _FORMS[self.form].model_json_schema()

    @cached_property
    def instructions(self) -> str:
        answer = self.answer.strip().replace("{parts}", ", ".join(get_args(AgreedPart)))
        answer = answer.replace("{kinds}", ", ".join(ErrorKind))
        return "\n\n".join([self.system.strip(), RULE, answer])

    def shown(self, report: str) -> str:
        if self.form == "errors":
            return report
        numbered = enumerate(stated(report), start=1)
        return "\n".join(f"{number}. {statement.asked}" for number, statement in numbered)

    def read(self, text: str, reference: str = "", candidate: str = "") -> Listing:
        content = only_object(strip_reasoning(text))
        try:
            answer = _FORMS[self.form].model_validate(content)
        except ValidationError as error:
            raise unreadable(error) from error
        if isinstance(answer, _Verdicts):
            return Listing(_statements(answer, reference, candidate))
        assert isinstance(answer, _Errors)
        return Listing(_errors(answer, reference, candidate))


@cache
def load_list_prompt(name: str) -> ListPrompt:
    path = resource_path(f"judges/prompts/lists/{name}.yaml")
    return read_model(path, ListPrompt, "the prompt")


def _statements(answer: _Verdicts, reference: str, candidate: str) -> dict[str, Any]:
    texts = [[statement.text for statement in stated(text)] for text in (reference, candidate)]
    verdicts_of = (("reference", answer.reference), ("candidate", answer.candidate))
    evidence: dict[str, Any] = {}
    for (side, verdicts), statements, opposite in zip(verdicts_of, texts, texts[::-1], strict=True):
        if [verdict.n for verdict in verdicts] != list(range(1, len(statements) + 1)):
            raise Unreadable(
                f"{side}: there must be one entry for each of {len(statements)} statements"
            )
        if any(not 1 <= n <= len(opposite) for verdict in verdicts for n in verdict.by):
            raise Unreadable(f"{side}: by names a statement that the other report does not have")
        evidence[side] = [
            {"text": text, "verdict": entry.verdict}
            | ({"by": opposite[entry.by[0] - 1]} if entry.by and entry.verdict != "neither" else {})
            for text, entry in zip(statements, verdicts, strict=True)
        ]
    return evidence


def _errors(answer: _Errors, reference: str, candidate: str) -> dict[str, Any]:
    if not answer.agreed and not answer.errors:
        raise Unreadable("agreed and errors are both empty: nothing was compared")
    plain = {"reference": _plain(reference), "candidate": _plain(candidate)}

    def mentions(entry: _Agreed | _Error) -> dict[str, Any]:
        """The quoted words of both reports, which must occur in them."""
        quoted: dict[str, Any] = {}
        for side, report in plain.items():
            words = getattr(entry, side)
            if words is not None and _plain(words) not in report:
                raise Unreadable(f"words that are not in the {side}: copy them exactly")
            quoted[side] = None if words is None else {"text": shown(words)}
        return quoted

    matches = [{"part": m.part, "similarity": 1.0} | mentions(m) for m in answer.agreed]
    errors = [
        {"kind": error.kind, "severity": int(Severity[error.severity.upper()])}
        | mentions(error)
        | {"message": shown(error.message)}
        for error in answer.errors
    ]
    return {"matches": matches, "errors": errors}


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
