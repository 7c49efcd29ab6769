"""What a team has handed in: a table of ids and reports, or the jobs of a platform."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import TypeAdapter, ValidationError

from histoeval.callers import argument, front_door
from histoeval.challenge.folder import Challenge, open_challenge
from histoeval.challenge.policy import ChallengePolicy, Limits, PlatformRule
from histoeval.errors import InputError
from histoeval.io.files import ENDINGS, check_there
from histoeval.io.reports import open_reports
from histoeval.io.submissions import (
    Submission,
    SubmissionProblem,
    Truth,
    how_ids_differ,
    read_submission,
    system_names,
)
from histoeval.io.tables.columns import columns_by_name
from histoeval.metrics.base import EnglishMetric
from histoeval.metrics.registry import create, metric_entries
from histoeval.report import Noun
from histoeval.terms.language import foreign_language

SECONDS = "seconds"
"""The column of how long a report took."""

_DURATION = TypeAdapter(timedelta)
_ROW = re.compile(r"(\(|\bid of )row (\d+)(?=[,)])")
_NO_TIME = ("", "none", "nan")
_REPORT_KEYS = ("report", "text", "prediction", "value")


@dataclass(frozen=True)
class Team:
    """A team by name: its usable reports by id, what is wrong with others, and why it is out."""

    name: str
    reports: Mapping[str, str]
    problems: tuple[SubmissionProblem, ...] = ()
    sha256: str = ""
    excluded: str | None = None
    notes: tuple[str, ...] = ()
    """What to know of how the file was read, such as an encoding that was guessed."""


def read_team(challenge: Challenge, path: Path, name: str | None = None) -> Team:
    """A file of predictions, checked against the ids that are asked for and the limits."""
    truth, policy = challenge.truth, challenge.policy
    jobs = platform_jobs(path)
    untimed: list[SubmissionProblem] = []
    if jobs is not None:
        found, seconds = _from_jobs(jobs, path.parent, truth, policy)
    else:
        found, seconds = _submission(path, truth, policy), {}
        if policy.limits.seconds_per_case or policy.limits.seconds_in_all:
            seconds, untimed = seconds_of(path)
    seconds = {found.renamed.get(id_, id_): took for id_, took in seconds.items()}
    asked = set(challenge.ids)
    team = Team(
        name or system_names([path])[0],
        {id_: text for id_, text in found.reports.items() if id_ in asked},
        tuple(
            each for each in (*found.problems, *untimed) if each.row is not None or each.id in asked
        ),
        found.sha256,
        notes=(*found.notes, *_notes(found, policy, timed=bool(seconds or untimed))),
    )
    return _in_time(team, seconds, policy.limits)


def named_teams(challenge: Challenge, paths: Sequence[Path]) -> list[Team]:
    """The teams of files, called as `score --truth` calls systems."""
    if not paths:
        raise InputError("there is no team to rank: give a file of predictions for each")
    for path in paths:
        check_there(path)
    names = system_names(paths, "teams")
    return [_team_or_reason(challenge, path, name) for path, name in zip(paths, names, strict=True)]


def _team_or_reason(challenge: Challenge, path: Path, name: str) -> Team:
    """A team; one whose file cannot be read is out, and does not stop the others."""
    try:
        return read_team(challenge, path, name)
    except InputError as error:
        return Team(name, {}, excluded=f"has a file that cannot be read: {error}")


def _submission(path: Path, truth: Truth, policy: ChallengePolicy) -> Submission:
    longest = policy.limits.max_chars
    return read_submission(path, truth, loose_ids=policy.loose_ids, longest=longest)


def _notes(found: Submission, policy: ChallengePolicy, *, timed: bool) -> Iterator[str]:
    """What was taken for granted of a file."""
    if found.renamed:
        written, id_ = next(iter(found.renamed.items()))
        yield (
            f"ids that {how_ids_differ(found.renamed)} were accepted: {len(found.renamed):,}, for "
            f"example {written!r} for {id_!r}"
        )
    limits = {
        "for each case": policy.limits.seconds_per_case,
        "for all cases": policy.limits.seconds_in_all,
    }
    if allowed := [f"{most:g} {what}" for what, most in limits.items() if most and not timed]:
        yield (
            f"the policy allows {' and '.join(allowed)} (seconds), and the file has no times in a "
            f"column {SECONDS!r}: nothing was checked against that limit"
        )


def seconds_of(path: Path) -> tuple[dict[str, float], list[SubmissionProblem]]:
    """How long each report took, where the file has a column for that, and what is no time."""
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    if path.is_dir() or ENDINGS.get(ending, "text") == "text":
        return {}, []
    source = open_reports(path)
    column, id_ = columns_by_name(source.table.columns).get(SECONDS), source.layout.id
    if column is None:
        return {}, []
    found: dict[str, float] = {}
    problems = []
    for record in source.table.read((column,) if id_ is None else (id_, column)):
        values = record.values or {}
        name = str(record.key if id_ is None else values.get(id_))
        written = str(values.get(column))
        try:
            seconds = float(written)
        except ValueError:
            seconds = -1.0
        if seconds >= 0 and isfinite(seconds):
            found.setdefault(name, seconds)
        elif written.lower() not in _NO_TIME:
            why = f"{column} is {written!r} ({record.place}): a number of seconds is expected"
            problems.append(SubmissionProblem(name, record.number, "not_a_time", why))
    return found, problems


def _in_time(team: Team, seconds: Mapping[str, float], limits: Limits) -> Team:
    """The team without the reports that took too long, and out if all took too long."""
    longest, in_all = limits.seconds_per_case, limits.seconds_in_all
    slow = {
        id_: f"{id_!r} took {seconds[id_]:g} s, and {longest:g} are allowed"
        for id_ in team.reports
        if longest is not None and seconds.get(id_, 0.0) > longest
    }
    total = sum(seconds.values())
    over = in_all is not None and total > in_all
    return replace(
        team,
        reports={id_: text for id_, text in team.reports.items() if id_ not in slow},
        problems=(
            *team.problems,
            *(SubmissionProblem(id_, None, "too_slow", why) for id_, why in slow.items()),
        ),
        excluded=f"took {total:g} s for all cases, and {in_all:g} are allowed" if over else None,
    )


# --- the platform --------------------------------------------------------------------------------


def platform_jobs(path: Path) -> list[Any] | None:
    """The jobs of a grand-challenge `predictions.json`; None where the file is something else."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    is_jobs = isinstance(content, list) and any(_is_job(each) for each in content)
    return content if is_jobs else None


def _is_job(item: object) -> bool:
    return isinstance(item, Mapping) and "pk" in item and isinstance(item.get("outputs"), list)


def _from_jobs(
    jobs: Sequence[Any], home: Path, truth: Truth, policy: ChallengePolicy
) -> tuple[Submission, dict[str, float]]:
    """What the jobs have written, read as one table, and the seconds of each case."""
    rows: list[dict[str, Any]] = []
    problems: list[SubmissionProblem] = []
    seconds: dict[str, float] = {}
    made_by: list[tuple[int, object]] = []
    for number, job in enumerate(jobs, start=1):
        if not _is_job(job):
            why = f"entry {number} of predictions.json is no job: a job has `pk` and `outputs`"
            problems.append(SubmissionProblem(None, number, "broken_job", why))
            continue
        try:
            made = list(_job_rows(job, home, policy.platform))
        except InputError as error:
            case = _case_name(job, policy.platform)
            problems.append(SubmissionProblem(case, number, "broken_job", str(error)))
            continue
        rows += made
        made_by += [(number, job["pk"])] * len(made)
        if (took := _duration(job)) is not None:
            seconds |= {str(row.get("id")): took / len(made) for row in made}
    if not rows:
        why = f": {problems[0].reason}" if problems else ""
        raise InputError(f"no job of predictions.json has written a report{why}")
    with TemporaryDirectory() as place:
        file = Path(place) / "predictions.json"
        file.write_text(json.dumps(rows), "utf-8")
        found = _submission(file, truth, policy)
    told = {each.id for each in problems}
    for each in found.problems:
        if each.row is not None:
            number, _ = made_by[each.row - 1]
            reason = _ROW.sub(lambda row: f"{row[1]}job {made_by[int(row[2]) - 1][1]}", each.reason)
            problems.append(each._replace(row=number, reason=reason))
        elif each.id not in told:
            problems.append(each)
    return replace(found, problems=tuple(problems)), seconds


def _job_rows(job: Mapping[str, Any], home: Path, rule: PlatformRule) -> Iterator[dict[str, Any]]:
    """The rows of one job: one report on its case, or a table of its own."""
    if str(job.get("status", "Succeeded")).lower() != "succeeded":
        raise InputError(f"job {job.get('pk')} has not succeeded: {job['status']}")
    content = _output(job, home, rule)
    if isinstance(content, list):
        yield from (
            row if isinstance(row, dict) else {"id": None, "report": row} for row in content
        )
        return
    if isinstance(content, Mapping):
        if "id" in content:
            yield dict(content)
            return
        content = next((content[key] for key in _REPORT_KEYS if key in content), None)
    case = _case_name(job, rule)
    if case is None:
        where = "no input" if rule.case is None else f"no input {rule.case!r}"
        raise InputError(
            f"job {job['pk']} does not say which case it is about: it has {where} with the name of "
            "an image or file; platform.case in the policy says which input names the case"
        )
    yield {"id": case, "report": content}


def _slots(values: Any) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """The inputs or outputs of a job: slug, what describes it (old and new name), and itself."""
    for value in values if isinstance(values, Iterable) else ():
        if isinstance(value, Mapping):
            about = value.get("socket") or value.get("interface") or {}
            about = about if isinstance(about, Mapping) else {"slug": about}
            yield str(about.get("slug", "")), about, value


def _output(job: Mapping[str, Any], home: Path, rule: PlatformRule) -> Any:
    slots = [slot for slot in _slots(job.get("outputs")) if rule.report in (None, slot[0])]
    if len(slots) != 1:
        hint = "set platform.report in the policy" if len(slots) > 1 else "it has no such output"
        raise InputError(f"job {job['pk']} has {len(slots)} outputs that may be the report: {hint}")
    _, about, value = slots[0]
    file = home / str(job["pk"]) / "output" / str(about.get("relative_path", ""))
    if not file.resolve().is_relative_to(home.resolve()):
        raise InputError(f"job {job['pk']} names a file outside of the input")
    if not file.is_file():
        if value.get("value") is not None:
            return value["value"]
        raise InputError(f"job {job['pk']} has written no {about.get('relative_path')}")
    try:
        text = file.read_text("utf-8-sig")
        return json.loads(text) if file.suffix.lower() == ".json" else text
    except ValueError as error:
        raise InputError(f"{file.name} of job {job['pk']} cannot be read: {error}") from error


def _case_name(job: Mapping[str, Any], rule: PlatformRule) -> str | None:
    """The name of the image or file that the job was given."""
    for slug, _, value in _slots(job.get("inputs")):
        if rule.case not in (None, slug):
            continue
        image, file, plain = value.get("image"), value.get("file"), value.get("value")
        if isinstance(image, Mapping) and image.get("name"):
            return str(image["name"])
        if isinstance(file, str) and file:
            return re.split(r"[/\\]", file.partition("?")[0])[-1]
        if rule.case is not None and isinstance(plain, str | int):
            return str(plain)
    return None


def _duration(job: Mapping[str, Any]) -> float | None:
    """Seconds that the platform measured."""
    try:
        return _DURATION.validate_python(job.get("exec_duration")).total_seconds()
    except ValidationError:
        return None


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
