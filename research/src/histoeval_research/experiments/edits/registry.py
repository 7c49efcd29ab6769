"""From one true report a set of edited ones: reworded, slightly wrong, hallucinated, illogical.

An edit by rule is made from what the reader found and what the catalogue of terms knows, so that it
reads well and is wrong for certain; `data/edits.toml` says how grave each is. Which edit a report
gets is drawn from its id and a seed, and from nothing else.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from histoeval.errors import Problem
from histoeval.llm.chat import Instruction, fenced, mark_of
from histoeval.report import Report
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
DATA = "histoeval_research/experiments/edits/data"


class EditKind(NamedTuple):
    name: str
    group: str
    level: int
    about: str


class EditedReport(NamedTuple):
    """A report after one edit; the control is the report itself."""

    group: str
    edit: str
    level: int
    text: str
    changes: tuple[Change, ...] = ()


# The edits of a report, and why others could not be made, by their names.
Edits = tuple[list[EditedReport], dict[str, str]]


@cache
def kinds() -> tuple[EditKind, ...]:
    return tuple(EditKind(**row) for row in tables()["edit"])


@cache
def groups() -> tuple[str, ...]:
    return tuple(dict.fromkeys([CONTROL, *(kind.group for kind in kinds())]))


@cache
def levels() -> dict[int, str]:
    return {row["level"]: row["name"] for row in tables()["level"]}


@cache
def rules_hash() -> str:
    """Twelve characters that change with the rules' data."""
    return hashlib.sha256(resource_bytes(f"{DATA}/edits.toml")).hexdigest()[:12]


def perturb(
    report: Report,
    name: str,
    *,
    seed: int = 0,
    chosen: Sequence[str] | None = None,
    each: int | None = 1,
) -> Edits:
    """The control and the edits of a report, and why others could not be made."""
    # `name` is the report's id. Of every group of `chosen` as many edits as `each` are made, drawn
    # by chance; all that can be made where it is None.
    original = Original(report)
    edited = [EditedReport(CONTROL, CONTROL, 0, report.text)]
    skipped: dict[str, str] = {}
    for group in chosen if chosen is not None else groups():
        own = [kind for kind in kinds() if kind.group == group]
        Random(f"{seed}/{name}/{group}").shuffle(own)
        before = len(edited)
        for kind in own:
            if each is not None and len(edited) >= before + each:
                break
            chance = Random(f"{seed}/{name}/{kind.name}")
            try:
                changes = tuple(getattr(rules, kind.name)(original, chance))
                text = applied(original.text, changes)
                if text.split() == original.text.split() and kind.name != "layout":
                    raise NotApplicable("the edit leaves the report as it was")
            except NotApplicable as reason:
                skipped[kind.name] = str(reason)
            else:
                edited.append(EditedReport(group, kind.name, kind.level, text, changes))
    return edited, skipped


_FENCE = re.compile(r"\A```[a-zA-Z]*|```\Z")
MIN_LENGTH, MAX_LENGTH = 0.5, 1.8  # how long the new report may be, in lengths of the old one
MAX_TOKENS = 2048


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    before: str
    after: str
    report: str


@cache
def prompts() -> dict[str, Any]:
    prompts: dict[str, Any] = yaml.safe_load(resource_text(f"{DATA}/prompts.yaml"))
    return prompts


def rewrite(model: Vlm, texts: Sequence[str], groups: Sequence[str]) -> list[Edits]:
    replies = iter(model.describe_all([_ask(text, group) for text in texts for group in groups]))
    rewritten = []
    for text in texts:
        edited: list[EditedReport] = []
        skipped: dict[str, str] = {}
        for group in groups:
            row = prompts()["groups"][group]
            try:
                edited.append(_edit_of(next(replies), text, group, row))
            except NotApplicable as reason:
                skipped[row["edit"]] = str(reason)
        rewritten.append((edited, skipped))
    return rewritten


def _ask(text: str, group: str) -> Ask:
    task, form = prompts()["groups"][group]["task"], prompts()["form"]
    instruction = Instruction(
        name=f"{prompts()['name']}_{group}",
        version=prompts()["version"],
        kind="neutral",
        text=f"{task.strip()}\n\n{form.strip()}",
        most_tokens=MAX_TOKENS,
    )
    report = fenced("REFERENCE", text, mark_of(text, ""))
    return Ask(instruction, f"{instruction.text}\n\n{report}")


def _edit_of(
    reply: VlmAnswer | Problem, text: str, group: str, row: dict[str, Any]
) -> EditedReport:
    if isinstance(reply, Problem):
        raise NotApplicable(reply.message)
    try:
        answer = _Answer.model_validate_json(_FENCE.sub("", reply.text.strip()))
    except ValidationError as error:
        reason = "the model's answer is not the JSON object that was asked for"
        raise NotApplicable(reason) from error
    if answer.report.split() == text.split():
        raise NotApplicable("the model left the report as it was")
    if answer.before not in text or not answer.after or answer.after not in answer.report:
        raise NotApplicable("the words that the model says it changed are not there")
    if not MIN_LENGTH <= len(answer.report) / len(text) <= MAX_LENGTH:
        raise NotApplicable("the model wrote another report, much shorter or longer")
    start = text.index(answer.before) if answer.before else len(text)
    change = Change(start=start, before=answer.before, after=answer.after)
    return EditedReport(group, row["edit"], row["level"], answer.report, (change,))
