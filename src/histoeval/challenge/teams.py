"""Files of teams: a table of ids and reports, or the jobs of a platform."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from math import inf, isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import TypeAdapter, ValidationError

from histoeval.argument_names import argument, front_door
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

SECONDS = "seconds"  # the column of how long a report took
_DURATION = TypeAdapter(timedelta)
_ROW = re.compile(r"(\(|\bid of )row (\d+)(?=[,)])")
_NO_TIME = ("", "none", "nan")
_REPORT_KEYS = ("report", "text", "prediction", "value")


@dataclass(frozen=True)
class Team:
    """A team: its usable reports by id, problems of the others, and why it is excluded, if so."""

    name: str
    reports: Mapping[str, str]
    problems: tuple[SubmissionProblem, ...] = ()
    sha256: str = ""
    excluded: str | None = None
    notes: tuple[str, ...] = ()  # on how the file was read: a guessed encoding


def read_team(challenge: Challenge, path: Path, name: str | None = None) -> Team:
    truth, policy = challenge.truth, challenge.policy
    limits = policy.limits
    jobs = platform_jobs(path)
    untimed: list[SubmissionProblem] = []
    if jobs is not None:
        submission, seconds = _from_jobs(jobs, path.parent, truth, policy)
    else:
        submission, seconds = _submission(path, truth, policy), {}
        if limits.seconds_per_case or limits.seconds_in_all:
            seconds, untimed = seconds_of(path)
    seconds = {submission.renamed.get(id_, id_): took for id_, took in seconds.items()}
    expected_ids = set(challenge.ids)
    reports = {id_: text for id_, text in submission.reports.items() if id_ in expected_ids}
    longest = inf if limits.seconds_per_case is None else limits.seconds_per_case
    slow = {id_: seconds[id_] for id_ in reports if seconds.get(id_, 0.0) > longest}
    total, limit = sum(seconds.values()), limits.seconds_in_all
    is_out = limit is not None and total > limit
    problems = [
        problem
        for problem in (*submission.problems, *untimed)
        if problem.row is not None or problem.id in expected_ids
    ]
    for id_, took in slow.items():
        reason = f"{id_!r} took {took:g} s, and {longest:g} are allowed"
        problems.append(SubmissionProblem(id_, None, "too_slow", reason))
    return Team(
        name or system_names([path])[0],
        {id_: text for id_, text in reports.items() if id_ not in slow},
        tuple(problems),
        submission.sha256,
        f"took {total:g} s for all cases, and {limit:g} are allowed" if is_out else None,
        (*submission.notes, *_notes(submission, limits, is_timed=bool(seconds or untimed))),
    )


def named_teams(challenge: Challenge, paths: Sequence[Path]) -> list[Team]:
    if not paths:
        raise InputError("there is no team to rank: give a file of predictions for each")
    for path in paths:
        check_there(path)
    teams = []
    for path, name in zip(paths, system_names(paths, "teams"), strict=True):
        try:
            teams.append(read_team(challenge, path, name))
        except InputError as error:  # it does not stop the others
            excluded = f"has a file that cannot be read: {error}"
            teams.append(Team(name, {}, excluded=excluded))
    return teams


def _submission(path: Path, truth: Truth, policy: ChallengePolicy) -> Submission:
    longest = policy.limits.max_chars
    return read_submission(path, truth, loose_ids=policy.loose_ids, longest=longest)


def _notes(submission: Submission, limits: Limits, *, is_timed: bool) -> Iterator[str]:
    if renamed := submission.renamed:
        submitted, id_ = next(iter(renamed.items()))
        yield (
            f"ids that {how_ids_differ(renamed)} were accepted: {len(renamed):,}, for example "
            f"{submitted!r} for {id_!r}"
        )
    times = {"for each case": limits.seconds_per_case, "for all cases": limits.seconds_in_all}
    if allowed := [f"{limit:g} {unit}" for unit, limit in times.items() if limit and not is_timed]:
        yield (
            f"the policy allows {' and '.join(allowed)} (seconds), and the file has no times in a "
            f"column {SECONDS!r}: nothing was checked against that limit"
        )


def seconds_of(path: Path) -> tuple[dict[str, float], list[SubmissionProblem]]:
    """Read the seconds of each report, if the file has that column, and problems of that column."""
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    if path.is_dir() or ENDINGS.get(ending, "text") == "text":
        return {}, []
    source = open_reports(path)
    column, id_ = columns_by_name(source.table.columns).get(SECONDS), source.layout.id
    if column is None:
        return {}, []
    times: dict[str, float] = {}
    problems = []
    for record in source.table.read((column,) if id_ is None else (id_, column)):
        values = record.values or {}
        name = str(record.key if id_ is None else values.get(id_))
        text = str(values.get(column))
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if seconds >= 0 and isfinite(seconds):
            times.setdefault(name, seconds)
        elif text.lower() not in _NO_TIME:
            reason = f"{column} is {text!r} ({record.place}): a number of seconds is expected"
            problems.append(SubmissionProblem(name, record.number, "not_a_time", reason))
    return times, problems


# --- the platform --------------------------------------------------------------------------------


def platform_jobs(path: Path) -> list[Any] | None:
    """The jobs of a grand-challenge `predictions.json`; None where the file is something else."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    is_jobs = isinstance(content, list) and any(map(_is_job, content))
    return content if is_jobs else None


def _is_job(item: object) -> bool:
    return isinstance(item, Mapping) and "pk" in item and isinstance(item.get("outputs"), list)


def _from_jobs(
    jobs: Sequence[Any], home: Path, truth: Truth, policy: ChallengePolicy
) -> tuple[Submission, dict[str, float]]:
    rows: list[dict[str, Any]] = []
    problems: list[SubmissionProblem] = []
    seconds: dict[str, float] = {}
    job_of_row: list[tuple[int, object]] = []
    for number, job in enumerate(jobs, start=1):
        if not _is_job(job):
            reason = f"entry {number} of predictions.json is no job: a job has `pk` and `outputs`"
            problems.append(SubmissionProblem(None, number, "broken_job", reason))
            continue
        try:
            job_rows = list(_job_rows(job, home, policy.platform))
        except InputError as error:
            case = _case_name(job, policy.platform)
            problems.append(SubmissionProblem(case, number, "broken_job", str(error)))
            continue
        rows += job_rows
        job_of_row += [(number, job["pk"])] * len(job_rows)
        with suppress(ValidationError):  # of a job whose time the platform has not measured
            took = _DURATION.validate_python(job.get("exec_duration")).total_seconds()
            seconds |= {str(row.get("id")): took / len(job_rows) for row in job_rows}
    if not rows:
        example = f": {problems[0].reason}" if problems else ""
        raise InputError(f"no job of predictions.json has written a report{example}")
    with TemporaryDirectory() as scratch:
        file = Path(scratch) / "predictions.json"
        file.write_text(json.dumps(rows), "utf-8")
        submission = _submission(file, truth, policy)

    def job_name(row: re.Match[str]) -> str:
        return f"{row[1]}job {job_of_row[int(row[2]) - 1][1]}"

    broken = {problem.id for problem in problems}
    for problem in submission.problems:
        if problem.row is not None:
            number, _ = job_of_row[problem.row - 1]
            reason = _ROW.sub(job_name, problem.reason)
            problems.append(replace(problem, row=number, reason=reason))
        elif problem.id not in broken:
            problems.append(problem)
    return replace(submission, problems=tuple(problems)), seconds


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
        slug = "" if rule.case is None else f" {rule.case!r}"
        raise InputError(
            f"job {job['pk']} does not say which case it is about: it has no input{slug} with the "
            "name of an image or file; platform.case in the policy says which input names the case"
        )
    yield {"id": case, "report": content}


def _slots(values: Any) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield inputs or outputs of a job: slug, socket (once called interface), and value."""
    for value in values if isinstance(values, Iterable) else ():
        if isinstance(value, Mapping):
            socket = value.get("socket") or value.get("interface") or {}
            socket = socket if isinstance(socket, Mapping) else {"slug": socket}
            yield str(socket.get("slug", "")), socket, value


def _output(job: Mapping[str, Any], home: Path, rule: PlatformRule) -> Any:
    slots = [slot for slot in _slots(job.get("outputs")) if rule.report in (None, slot[0])]
    if len(slots) != 1:
        hint = "set platform.report in the policy" if len(slots) > 1 else "it has no such output"
        raise InputError(f"job {job['pk']} has {len(slots)} outputs that may be the report: {hint}")
    _, socket, value = slots[0]
    file = home / str(job["pk"]) / "output" / str(socket.get("relative_path", ""))
    if not file.resolve().is_relative_to(home.resolve()):
        raise InputError(f"job {job['pk']} names a file outside of the input")
    if not file.is_file():
        if value.get("value") is not None:
            return value["value"]
        raise InputError(f"job {job['pk']} has written no {socket.get('relative_path')}")
    try:
        text = file.read_text("utf-8-sig")
        return json.loads(text) if file.suffix.lower() == ".json" else text
    except ValueError as error:
        raise InputError(f"{file.name} of job {job['pk']} cannot be read: {error}") from error


def _case_name(job: Mapping[str, Any], rule: PlatformRule) -> str | None:
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


MOST_ALIKE = 5  # faults of one kind that are shown one by one
MOST_NAMED = 10  # ids that are named of more


class FileCheck(Noun):
    file: str
    asked: int
    usable: int
    faults: tuple[SubmissionProblem, ...]
    excluded: str | None = None
    notes: tuple[str, ...] = ()  # on how the file was read: a guessed encoding

    @property
    def is_complete(self) -> bool:
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
    team = read_team(challenge, path)
    foreign = list(_not_english(challenge.policy, team))
    return FileCheck(
        file=path.name,
        asked=len(challenge.ids),
        usable=len(team.reports) - len(foreign),
        faults=(*team.problems, *foreign),
        excluded=team.excluded,
        notes=team.notes,
    )


def _not_english(policy: ChallengePolicy, team: Team) -> Iterator[SubmissionProblem]:
    reading = []
    for name in policy.metrics:
        metric = create(name) if name.partition(":")[0] in metric_entries() else None
        if isinstance(metric, EnglishMetric) and metric.language == "en":
            reading.append(name)
    for id_, text in team.reports.items() if reading else ():
        if language := foreign_language(text):
            reason = (
                f"the report of {id_!r} seems to be written in {language}, which these metrics of "
                f"the policy cannot read: {', '.join(reading)}; write it in English"
            )
            yield SubmissionProblem(id_, None, "not_english", reason)


def fault_kinds(faults: Sequence[SubmissionProblem]) -> list[SubmissionProblem]:
    """Faults to show: many of one kind become one, with the cure for all of them."""
    by_code: dict[str, list[SubmissionProblem]] = {}
    for fault in faults:
        by_code.setdefault(fault.code, []).append(fault)
    kinds = []
    for code, alike in by_code.items():
        first, count = alike[0], len(alike)
        if count <= MOST_ALIKE:
            kinds += alike
            continue
        if meant := {fault.id: fault.meant for fault in alike if fault.id and fault.meant}:
            accept = argument("loose_ids")
            cure = f", or accept such ids: {accept}" if accept else ""
            differ = how_ids_differ(meant)
            reason = f"{count:,} ids {differ}, such as {first.id!r} for {first.meant!r}: "
            reason += f"correct them{cure}"
        else:
            examples = ", ".join(fault.id or f"row {fault.row}" for fault in alike[1:MOST_NAMED])
            ending = f" and {count - MOST_NAMED:,} more" if count > MOST_NAMED else ""
            reason = f"{first.reason}. The same {count:,} times: also {examples}{ending}"
        kinds.append(SubmissionProblem(f"{count:,} ids", None, code, reason))
    return kinds
