"""Comparing systems by their results: ``histoeval.compare(["a.jsonl", "b.jsonl"])``."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.agreement.systems import Contest, SystemScore, contest
from histoeval.callers import front_door
from histoeval.errors import InputError, SettingError
from histoeval.io.files import open_table
from histoeval.io.results import MetricResult, ResultRow, read_rows, read_summary
from histoeval.io.tables.cell_checks import name_of
from histoeval.io.tables.columns import Columns, columns_by_name
from histoeval.io.tables.row_faults import Fault
from histoeval.io.writing import make_folder, write_json, writing_to
from histoeval.run.results import Frames
from histoeval.statistics.resampling import RESAMPLES
from histoeval.statistics.significance import PERMUTATIONS
from histoeval.version import __version__

MOST_DIFFERENT = 10


@dataclass(frozen=True)
class System:
    """The results of one system by id, and the file they are from."""

    name: str
    file: Path
    rows: dict[str, MetricResult] = field(default_factory=dict)
    errors: int = 0


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
    most_different: int = MOST_DIFFERENT,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Comparison:
    """Compare systems by what `histoeval score` has written.

    Args:
        files: `scores.jsonl` files, or their folders; one file may hold several systems.
        *more: further ones, where they are not in a list.
        metric: which score to go by; needed where there are several.
        cases: a table of id and case; without one each id is a case of its own.
        tie: scores that differ by no more are neither won nor lost.
        most_different: how many pairs to show on which systems differ most.
        resamples: for the intervals.
        permutations: for the tests.
        seed: another one draws other resamples.

    Example:
        >>> histoeval.compare("results/one", "results/other", metric="concordance").to_polars()
    """
    first = [files] if isinstance(files, str | Path) else files
    read = [(Path(file), list(read_rows(Path(file)))) for file in (*first, *more)]
    metric = _metric(metric, read)
    systems = _systems(read, metric)
    about = _about(read, metric)
    shared = _shared(systems, metric)
    sign = 1.0 if about.get("higher_is_better", True) else -1.0
    scores = {s.name: sign * np.array([s.rows[id_].value for id_ in shared]) for s in systems}
    case_of = {} if cases is None else read_case_table(Path(cases))
    if missing := [id_ for id_ in shared if cases is not None and id_ not in case_of]:
        raise InputError(f"{cases} has no case for {missing[0]!r}, and {len(missing) - 1} more")
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
        left_out={s.name: len(s.rows) - len(shared) + s.errors for s in systems},
        settings={
            "files": [str(file) for file, _ in read],
            "cases": None if cases is None else str(cases),
            "tie": tie,
            "resamples": resamples,
            "permutations": permutations,
            "seed": seed,
        },
    )


def _metric(named: str | None, read: Sequence[tuple[Path, list[ResultRow]]]) -> str:
    """The metric to go by: the one that was named, or the only one that all files have."""
    by_file = [{name for row in rows for name in row.scores} for _, rows in read]
    shared = sorted(set.intersection(*by_file)) if by_file else []
    if named is None and len(shared) == 1:
        return shared[0]
    if named in shared and named is not None:
        return named
    known = ", ".join(shared) or "none"
    if named is None:
        raise SettingError(f"name the metric to compare by: --metric NAME; all files have: {known}")
    raise SettingError(f"not every file has scores of {named!r}; all files have: {known}")


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
    errors = system.errors + (metric not in row.scores)
    if metric in row.scores:
        if row.id in system.rows:
            raise InputError(f"{file} has {row.id!r} of {key[1]!r} more than once")
        system.rows[row.id] = row.scores[metric]
    found[key] = System(system.name, file, system.rows, errors)


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


def _shared(systems: Sequence[System], metric: str) -> list[str]:
    """The ids that every system has a score for, in the order of the first."""
    if len(systems) < 2:
        raise SettingError("it takes two systems to compare: give another file of scores")
    shared = set.intersection(*(set(system.rows) for system in systems))
    if not shared:
        examples = "; ".join(
            f"{s.name} has {next(iter(s.rows))!r}" if s.rows else f"{s.name} has none"
            for s in systems[:3]
        )
        raise InputError(f"no id has a {metric} of every system: {examples}")
    return [id_ for id_ in systems[0].rows if id_ in shared]


def _about(read: Sequence[tuple[Path, list[ResultRow]]], metric: str) -> dict[str, Any]:
    """What the summaries say of the metric; two that were made differently cannot be compared."""
    found = [each for file, _ in read if (each := read_summary(file).get(metric)) is not None]
    signatures = {each["signature"] for each in found}
    if len(signatures) > 1:
        raise InputError(
            f"the files hold {metric} made in different ways, which cannot be compared: "
            f"{' and '.join(sorted(signatures))}"
        )
    return dict(found[0]) if found else {}


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
