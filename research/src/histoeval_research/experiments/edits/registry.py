"""From one true report a set of edited ones: reworded, slightly wrong, hallucinated, illogical.

Every edit is made by rule from what the builtin reader found and what the catalogue of terms
knows, so that it reads well and is wrong for certain; `data/perturbing.toml` says how grave each
is. Which edit a report gets is drawn from its id and a seed, and from nothing else.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Annotated, NamedTuple

from pydantic import Field

from histoeval.report import Noun, Report
from histoeval.resources import resource_bytes
from histoeval_research.experiments.edits import (
    contradiction,
    hallucination,
    paraphrase,
    wrong_detail,
)
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
    rooms = (paraphrase, wrong_detail, hallucination, contradiction)
    return {
        kind.name: getattr(room, kind.name)
        for kind in kinds()
        for room in rooms
        if hasattr(room, kind.name)
    }
