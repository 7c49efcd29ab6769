"""Reports by id: the truth of a study, and the submissions of systems.

References and candidates lie in files of their own, as challenges keep them. A file that cannot be
read as reports with ids at all is an `InputError`; whatever is wrong with one row or one id is a
`SubmissionProblem` or a row outside of the cases, and the other reports are there.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from histoeval.argument_names import argument
from histoeval.errors import InputError, Problem
from histoeval.io.files import NO_ID
from histoeval.io.reports import TextSource, open_reports
from histoeval.io.tables.columns import reference_texts
from histoeval.io.tables.records import Fault, Record, name_of

# Endings of files that one side of a study leaves in its ids and the other does not.
ID_ENDINGS = tuple(
    ".tiff .tif .svs .ndpi .mrxs .scn .bif .vms .vmu .qptiff .isyntax .czi .dcm .png .jpg .jpeg "
    ".ome .txt .md .json .xml .docx .pdf .hl7".split()
)

REFERENCES = "the references"  # what a truth is called where whoever reads of it has it before them
_NUMBER = re.compile(r"(\d+)(?:\.0+)?", re.ASCII)


class ReportLine(NamedTuple):
    """One row of a file of reports: its id and its texts, or their faults."""

    record: Record
    id: str | None
    texts: tuple[str, ...] | Fault = ()
    problem: Problem | None = None
    kind: str = ""  # what sort of problem it is


@dataclass(frozen=True)
class SubmissionProblem:
    """A fault of one row or one id of a file."""

    id: str | None
    row: int | None  # counted from 1; None for a report that is not there at all
    code: str  # missing_report, or a kind of problems.toml
    reason: str
    meant: str | None = None  # the id that a near one may mean


@dataclass(frozen=True)
class Truth:
    """The references by id, in the order of their file; mostly one for each id."""

    name: str
    references: Mapping[str, tuple[str, ...]] = field(repr=False)
    problems: tuple[SubmissionProblem, ...] = ()
    sha256: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """The reports that a system has handed in, by the ids of the truth and in its order.

    `renamed` has the ids that were written differently and were accepted, as they were written.
    """

    name: str
    reports: Mapping[str, str] = field(repr=False)
    problems: tuple[SubmissionProblem, ...] = ()
    sha256: str = ""
    notes: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class IdMatches:
    reports: Mapping[str, ReportLine]
    strangers: Sequence[ReportLine]
    broken: Sequence[ReportLine]
    # Ids that are not in the truth, by the one of the truth that each may mean.
    near: Mapping[str, str]
    renamed: Mapping[str, str]  # such ids that were accepted


def read_truth(path: Path) -> Truth:
    """Read the references of a file or folder by id, mostly one for each id."""
    source = open_reports(path, several=True)
    lines = report_lines(source, several=True)
    references: dict[str, tuple[str, ...]] = {}
    for line in lines:
        if line.id is not None and line.problem is None and not isinstance(line.texts, Fault):
            references[line.id] = references.get(line.id, ()) + line.texts
    if not references:
        first_problem = next(_row_problems(lines, source), None)
        hint = f". The first problem: {first_problem.reason}" if first_problem else ""
        raise InputError(f"{path} has no reference that can be used{hint}")
    problems = tuple(_row_problems(lines, source))
    return Truth(source.name, references, problems, source.sha256, source.notes)


def read_submission(
    path: Path, truth: Truth, *, loose_ids: bool = False, longest: int | None = None
) -> Submission:
    """Read the reports of a file or folder, and check their ids against the truth."""
    source = open_reports(path)
    lines = report_lines(source)
    for number, line in enumerate(lines):
        length = 0 if isinstance(line.texts, Fault) else max(map(len, line.texts), default=0)
        if longest is not None and length > longest:
            fault = Fault("too_long", {"length": length, "most": longest})
            lines[number] = line._replace(texts=fault)
    matches = match_ids(lines, truth.references, loose=loose_ids)
    reports = {
        name: report.texts[0]
        for name in truth.references
        if (report := matches.reports.get(name)) and not isinstance(report.texts, Fault)
    }
    problems = [*_row_problems(lines, source)]
    for line in matches.strangers:
        fault = unknown_id(line, matches.near, truth.name)
        message = fault.problem(line.record.place, source.name).message
        meant_id = matches.near.get(line.id or "")
        problems.append(
            SubmissionProblem(line.id, line.record.number, fault.kind, message, meant_id)
        )
    covered_ids = {*matches.reports, *matches.near.values()}
    for missing_id in truth.references:
        if missing_id not in covered_ids:
            message = Fault("not_handed_in", {"key": missing_id}).problem(truth.name).message
            problems.append(SubmissionProblem(missing_id, None, "missing_report", message))
    problems.sort(key=lambda problem: problem.row or len(lines) + 1)
    return Submission(
        source.name, reports, tuple(problems), source.sha256, source.notes, matches.renamed
    )


def report_lines(source: TextSource, *, several: bool = False) -> list[ReportLine]:
    """List the rows of a file with ids; a repeated id is a problem unless `several`."""
    table, layout = source.table, source.layout
    if layout.id is None and not table.keyed:
        if source.format == "text":
            raise InputError(
                f"{source.name} has a report in each line and no ids, by which files are joined: "
                "give text files on both sides, or a table with ids, or a folder with a file for "
                "each report"
            )
        option = argument("id_column", "NAME")
        hint = f"; name it: {option}" if option else ""
        raise InputError(f"{source.name} has no column of ids, by which files are joined{hint}")
    place_by_id: dict[str, str] = {}
    lines = []
    for record in table.read(layout.columns):
        if record.values is None:
            assert record.problem is not None, "a record has values or a problem"
            kind = record.problem.code
            lines.append(ReportLine(record, None, problem=record.problem, kind=kind))
            continue
        name = name_of(record.key if layout.id is None else record.values.get(layout.id), NO_ID)
        fault: Fault | None = None
        if isinstance(name, Fault):
            cell = record.values.get(layout.text)
            fault = cell if isinstance(cell, Fault) else name
        elif (
            first_place := place_by_id.setdefault(name, record.place)
        ) != record.place and not several:
            fault = Fault("duplicate_id", {"id": name, "earlier": first_place})
        id_ = name if isinstance(name, str) else None
        if fault is not None:
            fault = table.named(fault)
            problem = fault.problem(record.place, layout.id or "id")
            lines.append(ReportLine(record, id_, problem=problem, kind=fault.kind))
            continue
        texts = reference_texts(record.values, layout.text, layout, several=several)
        checked_texts = table.named(texts) if isinstance(texts, Fault) else texts
        lines.append(ReportLine(record, id_, checked_texts))
    return lines


def match_ids(
    lines: Sequence[ReportLine], truth: Iterable[str], *, loose: bool = False
) -> IdMatches:
    truth_ids = set(truth)
    usable_lines = {line.id: line for line in lines if line.problem is None and line.id is not None}
    reports = {name: line for name, line in usable_lines.items() if name in truth_ids}
    strangers = {name: line for name, line in usable_lines.items() if name not in truth_ids}
    # an id may mean the one free id of the same plain spelling, if no other may mean it
    plain_ids = {name: plain_id(name) for name in strangers}
    plain_counts = Counter(plain_ids.values())
    truth_by_plain: dict[str, list[str]] = {}
    for name in truth_ids - reports.keys():
        truth_by_plain.setdefault(plain_id(name), []).append(name)
    near_ids = {
        name: truth_by_plain[key][0]
        for name, key in plain_ids.items()
        if plain_counts[key] == 1 and len(truth_by_plain.get(key, ())) == 1
    }
    if loose:
        reports |= {meant_id: strangers.pop(name) for name, meant_id in near_ids.items()}
    broken_lines = [line for line in lines if line.problem is not None]
    return IdMatches(
        reports, list(strangers.values()), broken_lines, near_ids, near_ids if loose else {}
    )


def plain_id(name: str) -> str:
    """Normalise an id, so that two files of one study agree on it.

    Removed are case and outer spaces, the folders and the ending of a file's path, and the zeros
    that spreadsheets and data frames take from or give to a number, as in 007 and 7.0.
    """
    normalised_id = unicodedata.normalize("NFKC", name).strip().casefold()
    if normalised_id.endswith(ID_ENDINGS):
        normalised_id = re.split(r"[/\\]", normalised_id)[-1]
    while normalised_id.endswith(ID_ENDINGS):
        normalised_id = normalised_id.rpartition(".")[0]
    number = _NUMBER.fullmatch(normalised_id)
    return (number[1].lstrip("0") or "0") if number else normalised_id


def near_hint(other: str) -> str:
    option = argument("loose_ids")
    return f"correct the id to {other!r}" + (option and f", or accept such ids: {option}")


def how_ids_differ(meant: Mapping[str, str]) -> str:
    """Describe the part that all ids lack or add, compared with the ids that they may mean."""
    for verb, pairs in (
        ("lack", meant.items()),
        ("have", [(true_id, written_id) for written_id, true_id in meant.items()]),
    ):
        ends = {
            longer.removeprefix(shorter) if longer.startswith(shorter) else ""
            for shorter, longer in pairs
        }
        starts = {
            longer.removesuffix(shorter) if longer.endswith(shorter) else ""
            for shorter, longer in pairs
        }
        for position, parts in (("at the end", ends), ("at the start", starts)):
            if len(parts) == 1 and (part := parts.pop()):
                return f"{verb} {part!r} {position}"
    if all(written_id.casefold() == true_id.casefold() for written_id, true_id in meant.items()):
        return "are written in another case"
    return "are written otherwise"


def unknown_id(line: ReportLine, near: Mapping[str, str], truth: str = REFERENCES) -> Fault:
    """Return the fault of a row whose id is not in the file called `truth`."""
    true_id = near.get(line.id or "")
    details = {"id": line.id, "truth": truth}
    if true_id is None:
        return Fault("unknown_id", details)
    return Fault("near_id", {**details, "other": true_id, "hint": near_hint(true_id)})


def _row_problems(lines: Iterable[ReportLine], source: TextSource) -> Iterator[SubmissionProblem]:
    for line in lines:
        row = line.record.number
        if line.problem is not None:
            yield SubmissionProblem(line.id, row, line.kind, line.problem.message)
        elif isinstance(line.texts, Fault):
            message = line.texts.problem(line.record.place, source.layout.text).message
            yield SubmissionProblem(line.id, row, line.texts.kind, message)


def system_names(paths: Sequence[Path], what: str = "systems") -> list[str]:
    """Name systems by their files, with the folder if two are the same."""
    stems = [
        path.resolve().name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem
        for path in paths
    ]
    names = [
        f"{path.resolve().parent.name}/{stem}" if stems.count(stem) > 1 else stem
        for path, stem in zip(paths, stems, strict=True)
    ]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f"two {what} would be called {', '.join(repeated)}: rename one of the files, or put "
            "each into a folder of its own"
        )
    return names
