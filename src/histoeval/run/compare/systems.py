"""The systems in files of scores: named so that they can be told apart, on ids that they share."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from histoeval.callers import argument
from histoeval.errors import InputError, SettingError
from histoeval.io.results import MetricResult, ResultRow
from histoeval.metric import FrozenDict

Missing = Literal["worst", "skip"]
ScoredFiles = Sequence[tuple[Path, list[ResultRow]]]
"""Files of scores, each with its rows."""

MIN_SHARED = 0.5
"""Below this share of all ids, systems are compared on what they share only if asked to."""

NO_SCORE = "no score: the worst value stands in"
"""The evidence of a value that `missing="worst"` has set."""

_NOTHING = FrozenDict({"errors": ({"message": NO_SCORE},)})


@dataclass(frozen=True)
class System:
    """The results of one system by id, and the file they are from."""

    name: str
    file: Path
    place: int = 0
    """That of its file among those that were given."""
    own: str = ""
    """What its rows call it."""
    rows: dict[str, MetricResult] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    """The ids of rows without a score."""


def systems_in(read: ScoredFiles, metric: str) -> list[System]:
    """Every system of every file, named after itself and, if need be, after its file."""
    found: dict[tuple[int, str], System] = {}
    for place, (file, rows) in enumerate(read):
        for row in rows:
            _take(found, (place, row.system or ""), file, row, metric)
    systems = [each for each in found.values() if each.name or each.rows]
    often = Counter(each.name for each in systems)
    return _numbered([replace(each, name=_called(each, often[each.name] > 1)) for each in systems])


def _take(
    found: dict[tuple[int, str], System],
    key: tuple[int, str],
    file: Path,
    row: ResultRow,
    metric: str,
) -> None:
    system = found.get(key) or System(key[1], file, *key)
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
        named.append(replace(each, name=name))
    return named


def matched(
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
