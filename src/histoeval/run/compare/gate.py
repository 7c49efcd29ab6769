"""Whether a new run may take the place of a baseline: conditions, and the cases that got worse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from histoeval.io.finished_run import has_texts, read_texts
from histoeval.report import Noun
from histoeval.run.compare.changes import MetricChange, PairedTest, Successor, WorseCase
from histoeval.run.compare.conditions import Condition
from histoeval.run.compare.systems import Missing, ScoredFiles
from histoeval.run.compare.trial import ConditionResult, Trial


class Gate(Noun):
    """The conditions with what became of them, the means behind them, and the worse cases."""

    baseline: str
    metric: str
    conditions: tuple[ConditionResult, ...]
    changes: tuple[MetricChange, ...]
    worse: tuple[WorseCase, ...]
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[ConditionResult, ...]:
        """The conditions that are met, each of which fails the gate."""
        return tuple(each for each in self.conditions if each.failed)

    @property
    def passed(self) -> bool:
        """Whether the new run may take the place of the baseline."""
        return not self.failed

    def content(self) -> dict[str, Any]:
        """Everything as it stands in `comparison.json`."""
        return {"passed": self.passed, **self.model_dump(mode="json")}


def gate_of(
    read: ScoredFiles,
    conditions: Sequence[Condition],
    metric: str,
    missing: Missing | None,
    test: PairedTest,
) -> Gate:
    """Judge new runs by the first of these files, which is the baseline."""
    trial = Trial(read, missing, test)
    results = [each for condition in conditions for each in trial.judge(condition)]
    trial.changes(metric)
    worse = sorted(trial.worse(metric), key=lambda case: case.order)
    lost = _lost_systems(read, trial.rivals(metric))
    return Gate(
        baseline=str(read[0][0]),
        metric=metric,
        conditions=tuple(results),
        changes=tuple(each for found in trial.compared.values() for each in found),
        worse=tuple(worse),
        notes=tuple(dict.fromkeys([*trial.notes, *lost, *_changed_references(read)])),
    )


def _lost_systems(read: ScoredFiles, rivals: Sequence[Successor]) -> Iterator[str]:
    """A note where the baseline has systems that no new run has."""
    compared = {each.before.own for each in rivals}
    if lost := sorted({row.system for row in read[0][1] if row.system} - compared):
        yield (
            f"WARNING: no new run has {', '.join(lost)}, which the baseline has: not compared, and "
            "no condition is about it."
        )


def _changed_references(read: ScoredFiles) -> Iterator[str]:
    """A note where ids have another reference in the new run."""
    (first, _), *others = read
    known = _references(first)
    for file, _ in others:
        now = _references(file)
        changed = [id_ for id_ in now if id_ in known and now[id_] != known[id_]]
        if changed:
            yield (
                f"WARNING: {len(changed):,} ids have another reference in {file} than in the "
                f"baseline (the first: {changed[0]}): their scores are not of the same reports."
            )


def _references(file: Path) -> dict[str, int]:
    folder = file if file.is_dir() else file.parent
    if not has_texts(folder):
        return {}
    return {
        str(each.get("id")): hash(each["reference"])
        for each in read_texts(folder)
        if each.get("reference") is not None
    }
