"""From one true report a set of edited ones: reworded, slightly wrong, hallucinated, illogical.

Every edit is made by rule from what the builtin reader found and what the catalogue of terms
knows, so that it reads well and is wrong for certain; `data/perturbing.toml` says how grave each
is. Which edit a report gets is drawn from its id and a seed, and from nothing else.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from histoeval.errors import Problem
from histoeval.llm.chat import Instruction, fenced, mark_of
from histoeval.report import Noun, Report
from histoeval.resources import resource_bytes, resource_text
from histoeval.vlm.model import Ask, Vlm, VlmAnswer
from histoeval_research.experiments.edits import rules
from histoeval_research.experiments.edits.source_report import (
    Change,
    NotApplicable,
    Original,
    applied,
    tables,
)

CONTROL = "control"
Level = Annotated[int, Field(ge=0)]
Edit = Callable[[Original, Random], "tuple[Change, ...] | NotApplicable"]


class EditKind(Noun):
    """An edit as the data file describes it."""

    name: str
    group: str
    level: Level
    about: str


class EditedReport(Noun):
    """A report after one edit; the control is the report itself."""

    group: str
    edit: str
    level: Level
    text: str
    changes: tuple[Change, ...] = ()


class SkippedEdit(NamedTuple):
    """An edit that could not be made, and why."""

    edit: str
    reason: str


@cache
def kinds() -> tuple[EditKind, ...]:
    """Every edit there is, the mildest group first."""
    return tuple(EditKind.model_validate(row) for row in tables()["edit"])


@cache
def groups() -> tuple[str, ...]:
    """The groups of edits, the control first."""
    return tuple(dict.fromkeys([CONTROL, *(kind.group for kind in kinds())]))


@cache
def levels() -> dict[int, str]:
    """The error hierarchy: what each level means."""
    return {row["level"]: row["name"] for row in tables()["level"]}


@cache
def rules_hash() -> str:
    """Twelve characters that change with the rules' data."""
    data = resource_bytes("histoeval_research/experiments/edits/data/edits.toml")
    return hashlib.sha256(data).hexdigest()[:12]


def perturb(
    report: Report,
    name: str,
    *,
    seed: int = 0,
    chosen: Sequence[str] | None = None,
    each: int | None = 1,
) -> tuple[list[EditedReport], list[SkippedEdit]]:
    """The control and the edits of a report, and the edits that could not be made.

    `name` is the report's id. Of every group of `chosen` as many edits as `each` are made, drawn
    by chance; all that can be made where it is None.
    """
    original = Original(report)
    made = [EditedReport(group=CONTROL, edit=CONTROL, level=0, text=report.text)]
    skipped: list[SkippedEdit] = []
    for group in chosen if chosen is not None else groups():
        own = [kind for kind in kinds() if kind.group == group]
        Random(f"{seed}/{name}/{group}").shuffle(own)
        found = 0
        for kind in own:
            if each is not None and found >= each:
                break
            outcome = _made(kind, original, Random(f"{seed}/{name}/{kind.name}"))
            if isinstance(outcome, EditedReport):
                made.append(outcome)
                found += 1
            else:
                skipped.append(SkippedEdit(kind.name, outcome.reason))
    return made, skipped


def _made(kind: EditKind, original: Original, chance: Random) -> EditedReport | NotApplicable:
    changes = edits()[kind.name](original, chance)
    if isinstance(changes, NotApplicable):
        return changes
    text = applied(original.text, changes)
    if text.split() == original.text.split() and kind.name != "layout":
        return NotApplicable("the edit leaves the report as it was")
    return EditedReport(
        group=kind.group, edit=kind.name, level=kind.level, text=text, changes=changes
    )


@cache
def edits() -> dict[str, Edit]:
    """What makes each edit: the function of its name."""
    return {kind.name: getattr(rules, kind.name) for kind in kinds() if hasattr(rules, kind.name)}


_FENCE = re.compile(r"\A```[a-zA-Z]*|```\Z")
_MIN_LENGTH, _MAX_LENGTH = 0.5, 1.8
"""How long the new report may be, in lengths of the old one."""
_MAX_TOKENS = 2048


Rewritten = tuple[list[EditedReport], list[SkippedEdit]]
"""The edits of a report, and those that the model did not manage."""


class _Answer(BaseModel):
    """The form of the answer."""

    model_config = ConfigDict(extra="forbid", strict=True)
    before: str
    after: str
    report: str


@cache
def _prompts() -> dict[str, Any]:
    text = resource_text("histoeval_research/experiments/edits/data/prompts.yaml")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def rewritten_groups() -> tuple[str, ...]:
    """The groups of edits that a language model can make."""
    return tuple(_prompts()["groups"])


@cache
def instruction_for(group: str) -> Instruction:
    """The instruction for a group."""
    prompts = _prompts()
    text = f"{prompts['groups'][group]['task'].strip()}\n\n{prompts['form'].strip()}"
    return Instruction(
        name=f"{prompts['name']}_{group}",
        version=prompts["version"],
        kind="neutral",
        text=text,
        most_tokens=_MAX_TOKENS,
    )


def rewrite(model: Vlm, texts: Sequence[str], groups: Sequence[str]) -> list[Rewritten]:
    """For each report its edits, and those that failed."""
    asks = [_ask(text, group) for text in texts for group in groups]
    answers = iter(model.describe_all(asks))
    found = []
    for text in texts:
        outcomes = [_read(next(answers), text, group) for group in groups]
        made = [each for each in outcomes if isinstance(each, EditedReport)]
        found.append((made, [each for each in outcomes if isinstance(each, SkippedEdit)]))
    return found


def _ask(text: str, group: str) -> Ask:
    instruction = instruction_for(group)
    report = fenced("REFERENCE", text, mark_of(text, ""))
    return Ask(instruction, f"{instruction.text}\n\n{report}")


def _read(reply: VlmAnswer | Problem, text: str, group: str) -> EditedReport | SkippedEdit:
    """The edit in an answer, or why there is none."""
    row = _prompts()["groups"][group]
    if isinstance(reply, Problem):
        return SkippedEdit(row["edit"], reply.message)
    try:
        answer = _Answer.model_validate_json(_FENCE.sub("", reply.text.strip()))
    except ValidationError:
        return SkippedEdit(
            row["edit"], "the model's answer is not the JSON object that was asked for"
        )
    if reason := _fault(answer, text):
        return SkippedEdit(row["edit"], reason)
    start = text.index(answer.before) if answer.before else len(text)
    change = Change(start=start, before=answer.before, after=answer.after)
    return EditedReport(
        group=group, edit=row["edit"], level=row["level"], text=answer.report, changes=(change,)
    )


def _fault(answer: _Answer, text: str) -> str | None:
    """What is wrong with an edit."""
    if answer.report.split() == text.split():
        return "the model left the report as it was"
    if answer.before not in text or not answer.after or answer.after not in answer.report:
        return "the words that the model says it changed are not there"
    if not _MIN_LENGTH <= len(answer.report) / len(text) <= _MAX_LENGTH:
        return "the model wrote another report, much shorter or longer"
    return None
