"""What participants do before they hand in: every fault of their file by id and reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from histoeval.callers import argument, front_door
from histoeval.challenge.folder import Challenge, open_challenge
from histoeval.challenge.policy import ChallengePolicy
from histoeval.challenge.teams import Team, read_team
from histoeval.io.submissions import how_ids_differ
from histoeval.metrics.base import EnglishMetric
from histoeval.metrics.registry import create, metric_entries
from histoeval.report import Noun
from histoeval.terms.language import foreign_language

MOST_ALIKE = 5
"""Faults of one kind that are shown one by one."""

MOST_NAMED = 10
"""Ids that are named of more."""


class FileFault(Noun):
    """One fault: the id and row where they are known, a code, and what to do."""

    id: str | None
    row: int | None
    code: str
    reason: str
    meant: str | None = None
    """The id that one with another ending or spelling may mean."""


class FileCheck(Noun):
    """What `check` finds in a file of predictions."""

    file: str
    asked: int
    usable: int
    faults: tuple[FileFault, ...]
    excluded: str | None = None
    notes: tuple[str, ...] = ()
    """What to know of how the file was read, such as an encoding that was guessed."""

    @property
    def is_complete(self) -> bool:
        """Whether every case has a report that can be scored, and nothing else is wrong."""
        return not self.faults and self.excluded is None


@front_door
def check_predictions(
    folder: Path | str, predictions: Path | str, *, loose_ids: bool = False
) -> FileCheck:
    """Check a file of predictions by the ids and limits of a challenge; no truth is needed.

    Args:
        folder: the folder of the challenge, or what its organisers have published of it:
            `policy.yaml` and `ids.txt`.
        predictions: the file to hand in.
        loose_ids: accept ids that differ only in ending, case, spaces or zeros, as a policy with
            `loose_ids: true` does.

    Examples:
        >>> found = histoeval.challenge.check_predictions("challenge", "predictions.json")
        >>> [(fault.id, fault.reason) for fault in found.faults]
    """
    challenge = open_challenge(folder, need_truth=False, loose_ids=loose_ids)
    path = Path(predictions)
    return checked(challenge, read_team(challenge, path), path.name)


def checked(challenge: Challenge, team: Team, file: str) -> FileCheck:
    """A team that was read, as participants see it."""
    foreign = list(_not_english(challenge.policy, team))
    faults = [*(FileFault(**problem._asdict()) for problem in team.problems), *foreign]
    return FileCheck(
        file=file,
        asked=len(challenge.ids),
        usable=len(team.reports) - len(foreign),
        faults=tuple(faults),
        excluded=team.excluded,
        notes=team.notes,
    )


def _not_english(policy: ChallengePolicy, team: Team) -> Iterator[FileFault]:
    """The reports that some metrics of the policy cannot read; plug-ins may be elsewhere."""
    here = [name for name in policy.metrics if name.partition(":")[0] in metric_entries()]
    made = {name: create(name) for name in here}
    reading = [
        name
        for name, metric in made.items()
        if isinstance(metric, EnglishMetric) and metric.language == "en"
    ]
    for id_, text in team.reports.items() if reading else ():
        if language := foreign_language(text):
            why = f"the report of {id_!r} seems to be written in {language}, which these metrics "
            why += f"of the policy cannot read: {', '.join(reading)}; write it in English"
            yield FileFault(id=id_, row=None, code="not_english", reason=why)


def fault_kinds(faults: Sequence[FileFault]) -> list[FileFault]:
    """Faults to be shown: many of one kind are one, with what would cure all of them."""
    by_code: dict[str, list[FileFault]] = {}
    for fault in faults:
        by_code.setdefault(fault.code, []).append(fault)
    shown = []
    for alike in by_code.values():
        shown += alike if len(alike) <= MOST_ALIKE else [_together(alike)]
    return shown


def _together(alike: Sequence[FileFault]) -> FileFault:
    first = alike[0]
    if meant := {each.id: each.meant for each in alike if each.id and each.meant}:
        accept = argument("loose_ids")
        reason = (
            f"{len(alike):,} ids {how_ids_differ(meant)}, such as {first.id!r} for "
            f"{first.meant!r}: correct them" + (accept and f", or accept such ids: {accept}")
        )
    else:
        others = ", ".join(each.id or f"row {each.row}" for each in alike[1:MOST_NAMED])
        more = len(alike) - MOST_NAMED
        reason = f"{first.reason}. The same {len(alike):,} times: also {others}" + (
            f" and {more:,} more" if more > 0 else ""
        )
    return FileFault(id=f"{len(alike):,} ids", row=None, code=first.code, reason=reason)
