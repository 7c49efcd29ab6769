"""What is different between two runs: what was asked for, what made it, and the scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, NamedTuple

from histoeval.errors import InputError
from histoeval.io.results import read_rows
from histoeval.io.store import read_lines
from histoeval.run.compare.systems import differences
from histoeval.run.history.stored_runs import SCORED, RunDetails, all_means
from histoeval.run.trust.rows import TrustRow

_ROUNDING = 1e-12


class Difference(NamedTuple):
    """A value that two runs do not share."""

    what: str
    one: Any
    other: Any


class ScoreDifference(NamedTuple):
    """A score that two runs do not share; None where a run has none."""

    id: str
    system: str
    metric: str
    one: float | None
    other: float | None

    @property
    def size(self) -> float:
        """How far apart they are; what only one run has comes first."""
        if self.one is None or self.other is None:
            return float("inf")
        return abs(self.one - self.other)


class RunDiff(NamedTuple):
    """Two runs side by side: what made them differ first, then what came of it."""

    settings: list[Difference]
    signatures: list[Difference]
    means: list[Difference]
    scores: list[ScoreDifference]
    compared: int
    """Scores that both runs have."""

    def content(self) -> dict[str, Any]:
        lists = ("settings", "signatures", "means", "scores")
        found = {name: [each._asdict() for each in getattr(self, name)] for name in lists}
        return {**found, "compared": self.compared}


def diff_runs(one: RunDetails, other: RunDetails) -> RunDiff:
    """Compare two runs of one verb."""
    kinds = {"scores" if each.run.kind in SCORED else each.run.kind for each in (one, other)}
    if len(kinds) > 1:
        raise InputError(
            f"{one.run.place} is of `{one.run.kind}` and {other.run.place} of "
            f"`{other.run.kind}`: there is nothing to compare"
        )
    first, second = _values(one), _values(other)
    scores = [
        ScoreDifference(*key, first.get(key), second.get(key))
        for key in dict.fromkeys([*first, *second])
        if abs(first.get(key, inf) - second.get(key, -inf)) > _ROUNDING
    ]
    return RunDiff(
        settings=[*_between(_settings(one), _settings(other))],
        signatures=[*_signatures(one, other)],
        means=[*_between(_means(one), _means(other))],
        scores=sorted(scores, key=lambda each: -each.size),
        compared=len(first.keys() & second.keys()),
    )


def _settings(details: RunDetails) -> dict[str, Any]:
    """What was asked for, and by which versions, with a flat name each."""
    request = {name: each for name, each in details.request.items() if name != "metrics"}
    return {
        **flat(request),
        **flat({"versions": details.summary.get("versions", {})}),
        "rows": details.rows,
        "rows with errors": details.errors,
    }


def flat(content: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested settings by names such as `columns.reference`."""
    found: dict[str, Any] = {}
    for name, each in content.items():
        found |= flat(each, f"{before}{name}.") if isinstance(each, dict) else {before + name: each}
    return found


def _means(details: RunDetails) -> dict[str, Any]:
    return {
        f"{name}, {system}": mean for (name, system), mean in all_means(details.summary).items()
    }


def _signatures(one: RunDetails, other: RunDetails) -> Iterator[Difference]:
    for each in _between(signatures_of(one), signatures_of(other)):
        if isinstance(each.one, str) and isinstance(each.other, str):
            yield Difference(each.what, differences(each.one, each.other), "")
        else:
            yield each


def signatures_of(details: RunDetails) -> dict[str, str]:
    """The signature of each metric of a run."""
    metrics = details.summary.get("metrics")
    if not isinstance(metrics, dict):
        metrics = details.request.get("metrics")
    return {
        name: str(each.get("signature", "")) if isinstance(each, dict) else str(each)
        for name, each in (metrics.items() if isinstance(metrics, dict) else ())
    }


def _between(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Difference]:
    for name in dict.fromkeys([*one, *other]):
        if one.get(name) != other.get(name):
            yield Difference(name, one.get(name), other.get(name))


def _values(details: RunDetails) -> dict[tuple[str, str, str], float]:
    """The scores of a run by id, system and metric."""
    run = details.run
    if run.kind in SCORED:
        return {
            (row.id, row.system or "", name): result.value
            for row in read_rows(run.place)
            for name, result in row.scores.items()
        }
    if run.kind == "trust":
        rows = read_lines(run.place / "trust.jsonl", TrustRow.model_validate_json)
        return {(row.id, "", "trust"): row.trust for row in rows if row.trust is not None}
    return {}
