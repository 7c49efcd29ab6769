"""Reports of the model under test: one answer for each picture, merged into one report.

Many drafts are written together, so that an endpoint gets as many requests at a time as it allows.
"""

from collections.abc import Sequence
from typing import NamedTuple

from histoeval.errors import Problem
from histoeval.llm.chat import Instruction
from histoeval.pathgls.stability.attacks import merge_of
from histoeval.vlm.model import Ask, Vlm, VlmAnswer


class TileReportDraft(NamedTuple):
    """A report to be written: a question for each picture that it is about."""

    name: str
    asks: tuple[Ask, ...]


class TileReport(NamedTuple):
    """A report that was written, with notes for the reader."""

    text: str
    notes: tuple[str, ...] = ()


def write_all(
    drafts: Sequence[TileReportDraft], subject: Vlm, merge: Instruction | None
) -> list[TileReport | Problem]:
    """The report of each draft, or why there is none; without `merge` texts are plainly joined.

    Where one picture of several has no answer because a request failed, there is no report: it
    would be incomplete without showing it. Empty answers are counted in a note.
    """
    answers = iter(subject.describe_all([ask for draft in drafts for ask in draft.asks]))
    gathered = [_gathered(draft, [next(answers) for _ in draft.asks]) for draft in drafts]
    waiting = [
        Ask(merge, merge_of(merge, each.texts))
        for each in gathered
        if merge is not None and isinstance(each, _Parts) and len(each.texts) > 1
    ]
    merged = iter(subject.describe_all(waiting))
    return [
        each
        if isinstance(each, Problem)
        else _whole(each, next(merged) if merge is not None and len(each.texts) > 1 else None)
        for each in gathered
    ]


class _Parts(NamedTuple):
    """The answers on the pictures of one draft."""

    name: str
    texts: tuple[str, ...]
    notes: tuple[str, ...]


def _gathered(draft: TileReportDraft, answers: Sequence[VlmAnswer | Problem]) -> _Parts | Problem:
    empty = sum(isinstance(each, Problem) and each.code == "empty_report" for each in answers)
    failed = [e for e in answers if isinstance(e, Problem) and e.code != "empty_report"]
    if failed:
        return failed[0]
    if empty == len(answers):
        return Problem("empty_report", "the model answered with nothing")
    written = [each for each in answers if isinstance(each, VlmAnswer)]
    notes = [f"{draft.name}: empty answers on {empty} of {len(answers)} tiles"] if empty else []
    if cut := sum(each.cut for each in written):
        notes.append(f"{draft.name}: {cut} of {len(answers)} answers hit the token limit")
    return _Parts(draft.name, tuple(each.text for each in written), tuple(notes))


def _whole(parts: _Parts, merged: VlmAnswer | Problem | None) -> TileReport | Problem:
    """One report of the parts."""
    if merged is None:
        return TileReport("\n\n".join(parts.texts), parts.notes)
    if isinstance(merged, Problem):
        return Problem(merged.code, f"when reports on tiles were merged: {merged.message}")
    cut = (f"{parts.name}: the merged report hit the token limit",) if merged.cut else ()
    return TileReport(merged.text, (*parts.notes, *cut))
