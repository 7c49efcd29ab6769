"""Comparing systems by their results: ``histoeval.compare(["a.jsonl", "b.jsonl"])``."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from histoeval.agreement.systems import Contest, SystemScore, contest
from histoeval.callers import argument, front_door
from histoeval.errors import InputError, SettingError
from histoeval.io.files import open_table
from histoeval.io.results import MetricResult, ResultRow, read_rows, read_summary
from histoeval.io.tables.cell_checks import name_of
from histoeval.io.tables.columns import Columns, columns_by_name
from histoeval.io.tables.row_faults import Fault
from histoeval.io.writing import make_folder, write_json, writing_to
from histoeval.metric import FrozenDict
from histoeval.run.results import Frames
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES
from histoeval.version import __version__

MOST_DIFFERENT = 5
USUAL_METRIC = "concordance"

Missing = Literal["worst", "skip"]

MIN_SHARED = 0.5
"""Below this share of all ids, systems are compared on what they share only if asked to."""

LIBRARIES = "nltk|numpy|onnxruntime|rouge_score|sacrebleu|scipy|tokenizers|torch|transformers"
"""Libraries whose version a signature names, and which compute what our code asks them to.

The version of histoeval, and that of a package that is itself the metric (`radgraph`), are not
among them: there another version may be another metric."""

_VERSION = re.compile(rf"(?<=[|/])({LIBRARIES})(:?)(\d[^|/]*)")

NO_SCORE = "no score: the worst value stands in"
"""The evidence of a value that `missing="worst"` has set."""

_NOTHING = FrozenDict({"errors": ({"message": NO_SCORE},)})


@dataclass(frozen=True)
class System:
    """The results of one system by id, and the file they are from."""

    name: str
    file: Path
    rows: dict[str, MetricResult] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    """The ids of rows without a score."""


@dataclass(frozen=True, repr=False)
class Comparison(Frames):
    """Which system wrote better, by which metric, and on which pairs systems differ most.

    It has a row for each system, from the best: iterate over them, or take one by its name.
    """

    metric: str
    signature: str
    contest: Contest
    apart: tuple[dict[str, Any], ...]
    left_out: Mapping[str, int]
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    """What to know before reading on: ids that are missing, other versions, the chosen metric."""

    @property
    def summary(self) -> dict[str, Any]:
        """Everything as it stands in `comparison.json`."""
        return self.to_dict()

    def __iter__(self) -> Iterator[SystemScore]:
        return iter(self.contest.systems)

    def __len__(self) -> int:
        return len(self.contest.systems)

    def __getitem__(self, system: str) -> SystemScore:
        return {row.system: row for row in self}[system]

    def records(self) -> Iterator[dict[str, Any]]:
        """Flat records: a system with its rank, its mean and the interval of that."""
        for row in self:
            mean = row.mean
            flat = {"mean": mean.value, "mean.low": mean.low, "mean.high": mean.high}
            skipped = self.left_out.get(row.system, 0)
            yield {"system": row.system, "rank": row.rank, **flat, "left_out": skipped}

    def __repr__(self) -> str:
        ranks = ", ".join(f"{row.rank}. {row.system}" for row in self)
        return f"<Comparison by {self.metric} on {self.contest.pairs} pairs: {ranks}>"

    def to_dict(self) -> dict[str, Any]:
        """Everything as it stands in `comparison.json`."""
        return {
            "histoeval": __version__,
            "metric": self.metric,
            "signature": self.signature,
            "settings": dict(self.settings),
            **self.contest.model_dump(mode="json"),
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
            "most_different": list(self.apart),
        }

    def write(self, folder: Path, command: str | None = None) -> Path:
        """Write `comparison.json` into a folder."""
        content = self.to_dict() | ({} if command is None else {"command": command})
        with writing_to(folder):
            make_folder(folder)
            write_json(folder / "comparison.json", content)
        return folder / "comparison.json"


@front_door
def compare(
    files: str | Path | Sequence[str | Path],
    *more: str | Path,
    metric: str | None = None,
    cases: str | Path | None = None,
    tie: float = 0.0,
    missing: Missing | None = None,
    most_different: int = MOST_DIFFERENT,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Comparison:
    """Compare systems by what `histoeval score` has written.

    Args:
        files: `scores.jsonl` files, or their folders; one file may hold several systems.
        *more: further ones, where they are not in a list.
        metric: which score to go by; by default concordance, or the only one there is.
        cases: a table of id and case; without one each id is a case of its own.
        tie: scores that differ by no more are neither won nor lost.
        missing: what to do with ids that not every system has: "skip" them, or give a system
            without a score the "worst" value of the metric. By default they are skipped, and an
            error is raised where that leaves less than half of the ids.
        most_different: how many pairs to show on which systems differ most.
        resamples: for the intervals.
        permutations: for the tests.
        seed: another one draws other resamples.

    Examples:
        >>> histoeval.compare("results/one", "results/other").to_polars()
    """
    first = [files] if isinstance(files, str | Path) else files
    read = [(Path(file), list(read_rows(Path(file)))) for file in (*first, *more)]
    metric, chosen = _metric(metric, read)
    about, versions = _about(read, metric)
    given = _systems(read, metric)
    systems, shared, lacking = _matched(given, metric, missing, about)
    compared = set(shared)
    sign = 1.0 if about.get("higher_is_better", True) else -1.0
    scores = {s.name: sign * np.array([s.rows[id_].value for id_ in shared]) for s in systems}
    case_of = {} if cases is None else read_case_table(Path(cases))
    if unknown := [id_ for id_ in shared if cases is not None and id_ not in case_of]:
        raise InputError(f"{cases} has no case for {unknown[0]!r}, and {len(unknown) - 1} more")
    found = contest(
        scores,
        [case_of.get(id_, id_) for id_ in shared],
        tie=tie,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
    )
    return Comparison(
        metric=metric,
        signature=str(about.get("signature", "")),
        contest=found,
        apart=tuple(_most_different(systems, shared, most_different)),
        left_out={s.name: sum(id_ not in compared for id_ in (*s.rows, *s.errors)) for s in given},
        notes=(*lacking, *versions, *chosen),
        settings={
            "files": [str(file) for file, _ in read],
            "cases": None if cases is None else str(cases),
            "tie": tie,
            "missing": missing,
            "resamples": resamples,
            "permutations": permutations,
            "seed": seed,
        },
    )


def _metric(
    named: str | None, read: Sequence[tuple[Path, list[ResultRow]]]
) -> tuple[str, tuple[str, ...]]:
    """The metric to go by, and a note if it was chosen among several."""
    by_file = [{name for row in rows for name in row.scores} for _, rows in read]
    shared = sorted(set.intersection(*by_file)) if by_file else []
    known = ", ".join(shared) or "none"
    if named is not None:
        if named in shared:
            return named, ()
        raise SettingError(f"not every file has scores of {named!r}; all files have: {known}")
    if len(shared) == 1:
        return shared[0], ()
    if USUAL_METRIC in shared:
        others = ", ".join(name for name in shared if name != USUAL_METRIC)
        return USUAL_METRIC, (
            f"Compared by {USUAL_METRIC}, as no metric was named; the files also have {others}.",
        )
    raise SettingError(
        f"name the metric to compare by: {argument('metric', 'NAME')}; all files have: {known}"
    )


def _systems(read: Sequence[tuple[Path, list[ResultRow]]], metric: str) -> list[System]:
    """Every system of every file, named after itself and, if need be, after its file."""
    found: dict[tuple[int, str], System] = {}
    for place, (file, rows) in enumerate(read):
        for row in rows:
            _take(found, (place, row.system or ""), file, row, metric)
    systems = [each for each in found.values() if each.name or each.rows]
    often = Counter(each.name for each in systems)
    return _numbered(
        [
            System(_called(each, often[each.name] > 1), each.file, each.rows, each.errors)
            for each in systems
        ]
    )


def _take(
    found: dict[tuple[int, str], System],
    key: tuple[int, str],
    file: Path,
    row: ResultRow,
    metric: str,
) -> None:
    system = found.get(key) or System(key[1], file)
    if metric not in row.scores:
        system = replace(system, errors=(*system.errors, row.id))
    elif row.id in system.rows:
        raise InputError(f"{file} has {row.id!r} of {key[1]!r} more than once")
    else:
        system.rows[row.id] = row.scores[metric]
    found[key] = system


def _called(system: System, ambiguous: bool) -> str:
    """A name that tells it from systems of other files, which are often called the same."""
    usual = system.file.stem in ("scores", "") or system.file.is_dir()
    folder = system.file if system.file.is_dir() else system.file.parent
    file = (folder.resolve().name if usual else system.file.stem) or "results"
    if not system.name:
        return file
    return f"{file}:{system.name}" if ambiguous else system.name


def _numbered(systems: list[System]) -> list[System]:
    """The same, with numbers behind names that still come up more than once."""
    often = Counter(each.name for each in systems)
    seen: Counter[str] = Counter()
    named = []
    for each in systems:
        seen[each.name] += 1
        name = f"{each.name} ({seen[each.name]})" if often[each.name] > 1 else each.name
        named.append(System(name, each.file, each.rows, each.errors))
    return named


def _matched(
    systems: list[System], metric: str, missing: Missing | None, about: Mapping[str, Any]
) -> tuple[list[System], list[str], tuple[str, ...]]:
    """The systems, the ids to compare them on, and a note if they have not the same ids."""
    if missing not in (None, "worst", "skip"):
        raise SettingError(f"missing is {missing!r}; it can be 'worst' or 'skip'")
    if len(systems) < 2:
        raise SettingError("it takes two systems to compare: give another file of scores")
    every = list(dict.fromkeys(id_ for system in systems for id_ in system.rows))
    shared = [id_ for id_ in every if all(id_ in system.rows for system in systems)]
    if len(shared) == len(every):
        return systems, shared, ()
    _demand_overlap(systems, shared, metric, missing)
    short = [(s.name, len(every) - len(s.rows)) for s in systems if len(s.rows) < len(every)]
    lack = ", ".join(f"{name} lacks {count:,}" for name, count in short)
    found = f"Systems do not have the same ids: of {len(every):,} ids with a {metric}, {lack}"
    if missing == "worst":
        worst = _worst(about, metric)
        filled = {id_: MetricResult(value=worst, evidence=_NOTHING) for id_ in every}
        systems = [replace(system, rows=filled | system.rows) for system in systems]
        return systems, every, (f"{found}. For these, {worst:g} stands in, the worst value.",)
    if missing is None and len(shared) < MIN_SHARED * len(every):
        raise InputError(
            f"{found[0].lower()}{found[1:]}, and only {len(shared):,} are shared by all. Leave a "
            f"system out, or choose: {argument('missing', 'worst')} gives the metric's worst value "
            f"for what a system lacks, {argument('missing', 'skip')} compares on the shared ids"
        )
    return systems, shared, (f"{found}. The {len(shared):,} that all have are compared.",)


def _demand_overlap(
    systems: Sequence[System], shared: Sequence[str], metric: str, missing: Missing | None
) -> None:
    """Refuse systems without a common id; to fill in, every system must share some with others."""
    apart = [
        system
        for system in systems
        if not any(set(system.rows) & set(other.rows) for other in systems if other is not system)
    ]
    if not apart and (shared or missing != "skip"):
        return
    examples = "; ".join(
        f"{s.name} has {next(iter(s.rows))!r}" if s.rows else f"{s.name} has none"
        for s in (apart or systems)[:3]
    )
    raise InputError(f"no id has a {metric} of every system: {examples}")


def _worst(about: Mapping[str, Any], metric: str) -> float:
    """The worst value of a metric, as the summary beside its scores gives it."""
    low, high = about.get("range", (None, None))
    worst = low if about.get("higher_is_better", True) else high
    if worst is None:
        raise SettingError(
            f"the worst value of {metric} is not known: its range has no limit, or there is no "
            f"summary.json beside the scores; use {argument('missing', 'skip')}"
        )
    return float(worst)


def _about(
    read: Sequence[tuple[Path, list[ResultRow]]], metric: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What the summaries say of the metric, and a note on libraries of different versions.

    Two that differ in anything else were made differently and cannot be compared.
    """
    found = [each for file, _ in read if (each := read_summary(file).get(metric)) is not None]
    signatures = list(dict.fromkeys(str(each["signature"]) for each in found))
    if len({without_versions(signature) for signature in signatures}) > 1:
        raise InputError(
            f"the files hold {metric} made in different ways, which cannot be compared: "
            f"{' and '.join(sorted(signatures))}"
        )
    versions: dict[str, dict[str, None]] = {}
    for signature in signatures:
        for name, _, version in _VERSION.findall(signature):
            versions.setdefault(name, {})[version] = None
    several = [f"{name} {' and '.join(v)}" for name, v in versions.items() if len(v) > 1]
    notes = (
        f"The scores were made with different versions of libraries ({'; '.join(several)}); "
        "models and settings are the same.",
    )
    return (dict(found[0]) if found else {}), notes if several else ()


def without_versions(signature: str) -> str:
    """A signature without the versions of libraries: scores that share it can be compared."""
    return _VERSION.sub(r"\1", signature)


def _most_different(
    systems: Sequence[System], shared: Sequence[str], most: int
) -> list[dict[str, Any]]:
    """The pairs with the largest gap between two systems, with the evidence of both."""
    gaps = {id_: np.ptp([s.rows[id_].value for s in systems]) for id_ in shared}
    found = []
    for id_ in sorted((i for i in shared if gaps[i] > 0), key=lambda i: -gaps[i])[:most]:
        ordered = sorted(systems, key=lambda s: -s.rows[id_].value)
        found.append(
            {
                "id": id_,
                "gap": float(gaps[id_]),
                "systems": {
                    s.name: {
                        "value": s.rows[id_].value,
                        "parts": dict(s.rows[id_].parts),
                        "evidence": dict(s.rows[id_].evidence),
                    }
                    for s in (ordered[0], ordered[-1])
                },
            }
        )
    return found


def read_case_table(path: Path) -> dict[str, str]:
    """The case of each id, from a table with columns id and case."""
    table = open_table(path, Columns(id="id")).table
    names = columns_by_name(table.columns)
    if missing := [name for name in ("id", "case") if name not in names]:
        raise InputError(f"{path} has no column {missing[0]!r}")
    used = (names["id"], names["case"])
    nothing = Fault("missing_value")
    found: dict[str, str] = {}
    for record in table.read(used):
        cells = [name_of((record.values or {}).get(name), nothing) for name in used]
        if not isinstance(cells[0], str) or not isinstance(cells[1], str):
            raise InputError(f"{path} has no id or no case ({record.place})")
        found[cells[0]] = cells[1]
    return found
