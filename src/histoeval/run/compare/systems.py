"""The systems in files of scores: named so that they can be told apart, on ids that they share."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from histoeval.callers import argument
from histoeval.errors import InputError, SettingError
from histoeval.io.results import MetricResult, ResultRow, read_summary
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
            name = row.system or ""
            system = found.get((place, name)) or System(name, file, place, name)
            if metric not in row.scores:
                system = replace(system, errors=(*system.errors, row.id))
            elif row.id in system.rows:
                raise InputError(f"{file} has {row.id!r} of {name!r} more than once")
            else:
                system.rows[row.id] = row.scores[metric]
            found[place, name] = system
    systems = [each for each in found.values() if each.name or each.rows]
    often = Counter(each.name for each in systems)
    return _numbered([replace(each, name=_called(each, often[each.name] > 1)) for each in systems])


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


LIBRARIES = "nltk|numpy|onnxruntime|rouge_score|sacrebleu|scipy|tokenizers|torch|transformers"
"""Libraries whose version a signature names, and which compute what our code asks them to.

The version of histoeval, and that of a package that is itself the metric (`radgraph`), are not
among them: there another version may be another metric."""

_VERSION = re.compile(rf"(?<=[|/])({LIBRARIES})(:?)(\d[^|/]*)")


def shared_description(
    files: Sequence[Path], metric: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What the summaries say of a metric, with notes on what could not be checked or differs.

    Scores that differ in more than the versions of libraries were made differently and cannot be
    compared.
    """
    found = {file: each for file in files if (each := read_summary(file).get(metric)) is not None}
    signatures = {file: str(each.get("signature", "")) for file, each in found.items()}
    _demand_same(signatures, metric)
    about: dict[str, Any] = next((dict(each) for each in found.values()), {})
    return about, (*_unknown(files, signatures, metric), *_versions(signatures.values()))


def _demand_same(signatures: dict[Path, str], metric: str) -> None:
    (first, one), *others = signatures.items() or [(Path(), "")]
    for file, other in others:
        if without_versions(one) != without_versions(other):
            raise InputError(
                f"{first} and {file} hold {metric} made in different ways, which cannot be "
                f"compared: {differences(one, other)}. Score both with the same version and "
                f"settings. The signatures: {one} and {other}"
            )


def differences(one: str, other: str) -> str:
    """The settings in which two signatures differ, as in `threshold: 0.5 and 0.7`."""
    first, second = (_settings(each) for each in (one, other))
    return "; ".join(
        f"{name}: {first.get(name, 'none')} and {second.get(name, 'none')}"
        for name in dict.fromkeys([*first, *second])
        if first.get(name) != second.get(name)
    )


def _settings(signature: str) -> dict[str, str]:
    pairs = [part.partition(":") for part in signature.split("|")]
    return {name: value or "yes" for name, _, value in pairs}


def _unknown(files: Sequence[Path], known: dict[Path, str], metric: str) -> tuple[str, ...]:
    lacking = [str(file) for file in files if file not in known]
    if not lacking or len(files) == 1:
        return ()
    return (
        f"WARNING: it is not known how {metric} in {', '.join(lacking)} was made, as there is no "
        "summary.json beside the scores: whether it can be compared was not checked.",
    )


def _versions(signatures: Any) -> tuple[str, ...]:
    versions: dict[str, dict[str, None]] = {}
    for signature in signatures:
        for name, _, version in _VERSION.findall(signature):
            versions.setdefault(name, {})[version] = None
    several = [f"{name} {' and '.join(v)}" for name, v in versions.items() if len(v) > 1]
    if not several:
        return ()
    return (
        f"The scores were made with different versions of libraries ({'; '.join(several)}); "
        "models and settings are the same.",
    )


def without_versions(signature: str) -> str:
    """A signature without the versions of libraries: scores that share it can be compared."""
    return _VERSION.sub(r"\1", signature)
