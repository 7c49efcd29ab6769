"""The systems in files of scores: named so that they can be told apart, on ids that they share."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from histoeval.argument_names import argument
from histoeval.errors import InputError, SettingError
from histoeval.io.results import MetricResult, ResultRow, read_summary
from histoeval.metric import FrozenDict

Missing = Literal["worst", "skip"]
ScoredFiles = Sequence[tuple[Path, list[ResultRow]]]  # files of scores, each with its rows
# Below this share of all ids, systems are compared on what they share only if asked to.
MIN_SHARED = 0.5

# The evidence of a value that `missing="worst"` has set.
NO_SCORE = "no score: the worst value stands in"

_NOTHING = FrozenDict({"errors": ({"message": NO_SCORE},)})


@dataclass(frozen=True)
class System:
    name: str
    file: Path
    place: int = 0  # that of its file among those that were given
    own: str = ""  # what its rows call it
    rows: dict[str, MetricResult] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)  # the ids of rows without a score


def systems_in(read: ScoredFiles, metric: str) -> list[System]:
    """List the systems of all files under unique names: their own, the file's, or numbered."""
    by_file: dict[tuple[int, str], System] = {}
    for position, (file, rows) in enumerate(read):
        for row in rows:
            key = position, row.system or ""
            if (system := by_file.get(key)) is None:
                system = by_file[key] = System(key[1], file, position, key[1])
            if metric not in row.scores:
                system.errors.append(row.id)
            elif row.id in system.rows:
                raise InputError(f"{file} has {row.id!r} of {key[1]!r} more than once")
            else:
                system.rows[row.id] = row.scores[metric]
    systems = [system for system in by_file.values() if system.name or system.rows]
    name_counts = Counter(system.name for system in systems)
    names = []
    for system in systems:
        # Files of scores are often called the same; their folders are not.
        is_folder = system.file.is_dir()
        folder = system.file if is_folder else system.file.parent
        is_usual = is_folder or system.file.stem in ("scores", "")
        file_name = (folder.resolve().name if is_usual else system.file.stem) or "results"
        name = f"{file_name}:{system.name}" if name_counts[system.name] > 1 else system.name
        names.append(name if system.name else file_name)
    numbers = [names[:index].count(name) + 1 for index, name in enumerate(names)]
    return [
        replace(system, name=f"{name} ({number})" if names.count(name) > 1 else name)
        for system, name, number in zip(systems, names, numbers, strict=True)
    ]


def matched(
    systems: list[System], metric: str, missing: Missing | None, about: Mapping[str, Any]
) -> tuple[list[System], list[str], tuple[str, ...]]:
    if missing not in (None, "worst", "skip"):
        raise SettingError(f"missing is {missing!r}; it can be 'worst' or 'skip'")
    if len(systems) < 2:
        raise SettingError("it takes two systems to compare: give another file of scores")
    all_ids = list(dict.fromkeys(id_ for system in systems for id_ in system.rows))
    shared = [id_ for id_ in all_ids if all(id_ in system.rows for system in systems)]
    if len(shared) == len(all_ids):
        return systems, shared, ()
    # To fill in, every system must share some ids with another one.
    isolated = [
        system
        for system in systems
        if not any(set(system.rows) & set(peer.rows) for peer in systems if peer is not system)
    ]
    if isolated or (missing == "skip" and not shared):
        examples = "; ".join(
            f"{system.name} has {next(iter(system.rows))!r}"
            if system.rows
            else f"{system.name} has none"
            for system in (isolated or systems)[:3]
        )
        raise InputError(f"no id has a {metric} of every system: {examples}")
    incomplete = [
        (system.name, len(all_ids) - len(system.rows))
        for system in systems
        if len(system.rows) < len(all_ids)
    ]
    shortfalls = ", ".join(f"{name} lacks {count:,}" for name, count in incomplete)
    difference = (
        f"Systems do not have the same ids: of {len(all_ids):,} ids with a {metric}, {shortfalls}"
    )
    if missing == "worst":
        low, high = about.get("range", (None, None))
        worst = low if about.get("higher_is_better", True) else high
        if worst is None:
            raise SettingError(
                f"the worst value of {metric} is not known: its range has no limit, or there is no "
                f"summary.json beside the scores; use {argument('missing', 'skip')}"
            )
        worst_rows = {id_: MetricResult(value=worst, evidence=_NOTHING) for id_ in all_ids}
        systems = [replace(system, rows=worst_rows | system.rows) for system in systems]
        return (
            systems,
            all_ids,
            (f"{difference}. For these, {worst:g} stands in, the worst value.",),
        )
    if missing is None and len(shared) < MIN_SHARED * len(all_ids):
        raise InputError(
            f"{difference[0].lower()}{difference[1:]}, and only {len(shared):,} are shared by all. "
            f"Leave a system out, or choose: {argument('missing', 'worst')} gives the metric's "
            f"worst value for what a system lacks, {argument('missing', 'skip')} compares on the "
            "shared ids"
        )
    return systems, shared, (f"{difference}. The {len(shared):,} that all have are compared.",)


# Libraries whose version a signature names, and which compute what our code asks them to. The
# version of histoeval, and that of a package that is itself the metric (`radgraph`), are not among
# them: there another version may be another metric.
LIBRARIES = "nltk|numpy|onnxruntime|rouge_score|sacrebleu|scipy|tokenizers|torch|transformers"

_VERSION = re.compile(rf"(?<=[|/])({LIBRARIES})(:?)(\d[^|/]*)")


def shared_description(
    files: Sequence[Path], metric: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a metric's summary entry, with notes on differences and on missing summaries.

    Scores that differ in more than the versions of libraries were made differently and cannot be
    compared.
    """
    entries = {
        file: entry for file in files if (entry := read_summary(file).get(metric)) is not None
    }
    signatures = {file: str(entry.get("signature", "")) for file, entry in entries.items()}
    (first_file, first_signature), *other_signatures = signatures.items() or [(Path(), "")]
    for file, signature in other_signatures:
        if without_versions(first_signature) != without_versions(signature):
            raise InputError(
                f"{first_file} and {file} hold {metric} made in different ways, which cannot be "
                f"compared: {differences(first_signature, signature)}. Score both with the same "
                f"version and settings. The signatures: {first_signature} and {signature}"
            )
    notes = []
    undescribed = [str(file) for file in files if file not in signatures]
    if undescribed and len(files) > 1:
        notes.append(
            f"WARNING: it is not known how {metric} in {', '.join(undescribed)} was made, as there "
            "is no summary.json beside the scores: whether it can be compared was not checked."
        )
    versions: dict[str, dict[str, None]] = {}
    for signature in signatures.values():
        for name, _, version in _VERSION.findall(signature):
            versions.setdefault(name, {})[version] = None
    if mixed_versions := [
        f"{name} {' and '.join(numbers)}" for name, numbers in versions.items() if len(numbers) > 1
    ]:
        notes.append(
            "The scores were made with different versions of libraries "
            f"({'; '.join(mixed_versions)}); models and settings are the same."
        )
    description: dict[str, Any] = next((dict(entry) for entry in entries.values()), {})
    return description, tuple(notes)


def differences(one: str, other: str) -> str:
    """Describe the settings in which two signatures differ, as in `threshold: 0.5 and 0.7`."""
    first, second = (
        {
            name: value or "yes"
            for name, _, value in (part.partition(":") for part in signature.split("|"))
        }
        for signature in (one, other)
    )
    return "; ".join(
        f"{name}: {first.get(name, 'none')} and {second.get(name, 'none')}"
        for name in dict.fromkeys([*first, *second])
        if first.get(name) != second.get(name)
    )


def without_versions(signature: str) -> str:
    """Strip the versions of libraries: scores with the same result can be compared."""
    return _VERSION.sub(r"\1", signature)
