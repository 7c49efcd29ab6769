"""Reports edited by a language model: one change each, reported in strict JSON.

An answer that is not JSON of the requested form, that quotes text which is not in the report, or
that leaves the report unchanged is no edit; it is counted with its reason, and never repaired.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from histoeval.errors import Problem
from histoeval.llm.chat import Instruction, fenced, mark_of
from histoeval.resources import resource_text
from histoeval.vlm.model import Ask, Vlm, VlmAnswer
from histoeval_research.experiments.edits.registry import EditedReport, SkippedEdit
from histoeval_research.experiments.edits.source_report import Change

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
