"""A baseline and new runs, judged by the conditions of `compare --fail-if`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from histoeval.agreement.systems import Contest, contest
from histoeval.concordance.evidence import Severity
from histoeval.errors import InputError, SettingError
from histoeval.io.finished_run import has_texts, read_texts
from histoeval.io.results import MetricResult
from histoeval.report import Noun
from histoeval.run.compare.conditions import STARTS, Condition
from histoeval.run.compare.systems import (
    Missing,
    ScoredFiles,
    System,
    matched,
    shared_description,
    systems_in,
)
from histoeval.run.totals import listed_errors
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES, Estimate

USUAL_METRIC = "concordance"


ROUNDING = 1e-12


@dataclass(frozen=True)
class PairedTest:
    case_of: Mapping[str, str] | None = None
    tie: float = 0.0
    resamples: int = RESAMPLES
    permutations: int = PERMUTATIONS
    seed: int = 0

    def contest(self, scores: Mapping[str, Any], ids: Sequence[str]) -> Contest:
        case_of = self.case_of
        caseless_ids = [] if case_of is None else [id_ for id_ in ids if id_ not in case_of]
        if caseless_ids:
            raise InputError(
                f"the table of cases has no case for {caseless_ids[0]!r}, and "
                f"{len(caseless_ids) - 1} more"
            )
        return contest(
            scores,
            [id_ if case_of is None else case_of[id_] for id_ in ids],
            tie=self.tie,
            resamples=self.resamples,
            permutations=self.permutations,
            seed=self.seed,
        )


class MetricChange(Noun):
    """The mean of a metric, or of a part of it, in the baseline and in the new run."""

    metric: str
    system: str
    pairs: int
    before: Estimate
    after: Estimate
    difference: Estimate  # the new less the old
    p: float | None  # of the paired randomisation test
    better: int
    same: int
    worse: int


class NewError(Noun):
    kind: str
    severity: str
    message: str


class WorseCase(Noun):
    id: str
    system: str
    before: float
    after: float | None  # None where there is no score any more; `reason` says why
    new_errors: tuple[NewError, ...] = ()
    reason: str = ""

    @property
    def order(self) -> tuple[float, ...]:
        """Sort key, worst first: no score, then the worst new error, then the largest loss."""
        worst_severity = max(
            (Severity[error.severity.upper()] for error in self.new_errors), default=0
        )
        loss = np.inf if self.after is None else abs(self.before - self.after)
        return (
            self.after is not None,
            -worst_severity,
            -len(self.new_errors) if worst_severity else 0,
            -loss,
        )


class Successor(NamedTuple):
    before: System
    after: System
    reasons: Mapping[str, str]  # why ids of the new run have no score

    @property
    def shared(self) -> list[str]:
        return [id_ for id_ in self.before.rows if id_ in self.after.rows]


def value_of(result: MetricResult, part: str) -> float | None:
    return result.parts.get(part) if part else result.value


def new_errors(before: MetricResult, after: MetricResult) -> list[NewError]:
    """List the new errors of a case, the worst first.

    An error is the same where it is of the same kind and severity and about the same place of the
    reference; one without such a place (an invention), where it is about the same words.
    """
    old_counts = Counter(map(_identity, listed_errors(before) or ()))
    errors = []
    for error in listed_errors(after) or ():
        if old_counts[_identity(error)]:
            old_counts[_identity(error)] -= 1
        else:
            errors.append(error)
    return [_named(error) for error in sorted(errors, key=lambda error: -error["severity"])]


def _identity(error: Mapping[str, Any]) -> Hashable:
    reference, candidate = error.get("reference"), error.get("candidate")
    subject: Hashable = None
    if isinstance(reference, Mapping):
        subject = (reference.get("start"), reference.get("end"))
    elif isinstance(candidate, Mapping):
        subject = " ".join(str(candidate.get("text")).casefold().split())
    return error["kind"], error["severity"], error.get("part"), subject


def _named(error: Mapping[str, Any]) -> NewError:
    kind = error["kind"].replace("_", " ")
    severity = Severity(error["severity"]).name.lower()
    return NewError(kind=kind, severity=severity, message=str(error.get("message") or kind))


class ConditionResult(Noun):
    condition: str
    system: str
    failed: bool
    found: str  # what was found, in words
    # The ids that a condition which failed is about; empty where it is about a mean.
    cases: tuple[str, ...] = ()


# A new system, what was found of it in words, whether that meets the condition, and the cases.
Finding = tuple[str, str, bool, Sequence[str]]


class Trial:
    """Compare a baseline with the runs that are to replace it, by any metric."""

    def __init__(self, read: ScoredFiles, missing: Missing | None, test: PairedTest) -> None:
        self._read = read
        self._missing = missing
        self._test = test
        self._rivals: dict[str, list[Successor]] = {}
        self._about: dict[str, Mapping[str, Any]] = {}
        self.compared: dict[str, list[MetricChange]] = {}
        self.notes: list[str] = []

    @cached_property
    def metrics(self) -> list[str]:
        by_file = [{name for row in rows for name in row.scores} for _, rows in self._read]
        return sorted(set.intersection(*by_file))

    def judge(self, condition: Condition) -> Iterator[ConditionResult]:
        check = {
            "drop": self._check_change,
            "rise": self._check_change,
            "mean": self._check_mean,
            "errors": self._check_rows,
            "missing": self._check_rows,
        }.get(condition.what, self._check_errors)
        for system, description, is_met, cases in check(condition):
            yield ConditionResult(
                condition=condition.text,
                system=system,
                failed=is_met,
                found=description,
                cases=tuple(cases) if is_met else (),
            )

    def rivals(self, metric: str) -> list[Successor]:
        if metric not in self._rivals:
            description, notes = shared_description([file for file, _ in self._read], metric)
            self._about[metric] = description
            self.notes += notes
            self._rivals[metric] = [*_rivals(self._read, metric)]
        return self._rivals[metric]

    def changes(self, metric: str, part: str = "") -> list[MetricChange]:
        key = f"{metric}.{part}" if part else metric
        if key not in self.compared:
            self.compared[key] = []
            for successor in self.rivals(metric):
                systems = [successor.before, successor.after]
                description = self._about[metric]
                (before, after), _, notes = matched(systems, metric, self._missing, description)
                self.notes += notes
                matched_runs = successor._replace(before=before, after=after)
                if (change := self._change(matched_runs, metric, part)) is not None:
                    self.compared[key].append(change)
        return self.compared[key]

    def _change(self, successor: Successor, metric: str, part: str) -> MetricChange | None:
        """Compare two means; None if no id has the metric or part in both runs."""
        values = [
            (id_, old, new)
            for id_ in successor.shared
            if (old := value_of(successor.before.rows[id_], part)) is not None
            and (new := value_of(successor.after.rows[id_], part)) is not None
        ]
        if not values:
            return None
        ids, old_values, new_values = zip(*values, strict=True)
        scores = {"new": np.array(new_values), "old": np.array(old_values)}
        outcome = self._test.contest(scores, ids)
        means = {system.system: system.mean for system in outcome.systems}
        duel = outcome.duels[0]
        better, worse = duel.wins, duel.losses
        if not self._is_higher_better(metric):
            better, worse = worse, better
        return MetricChange(
            metric=f"{metric}.{part}" if part else metric,
            system=successor.after.name,
            pairs=len(ids),
            before=means["old"],
            after=means["new"],
            difference=duel.difference,
            p=duel.p,
            better=better,
            same=duel.ties,
            worse=worse,
        )

    def worse(self, metric: str) -> Iterator[WorseCase]:
        try:
            error_metric = self._lists_errors()
        except InputError as error:
            error_metric = None
            self.notes.append(f"WARNING: new errors were not looked for: {error}")
        sign = 1 if self._is_higher_better(metric) else -1
        for index, successor in enumerate(self.rivals(metric)):
            errors = self.rivals(error_metric)[index] if error_metric else None
            for id_, before in successor.before.rows.items():
                after = successor.after.rows.get(id_)
                case = {"id": id_, "system": successor.after.name, "before": before.value}
                if after is None:
                    reason = successor.reasons.get(id_, "the new run does not have it")
                    yield WorseCase(**case, after=None, reason=reason)
                    continue
                added: list[NewError] = []
                if errors is not None and id_ in errors.before.rows and id_ in errors.after.rows:
                    added = new_errors(errors.before.rows[id_], errors.after.rows[id_])
                if sign * (before.value - after.value) > self._test.tie + ROUNDING or added:
                    yield WorseCase(**case, after=after.value, new_errors=tuple(added))

    def _is_higher_better(self, metric: str) -> bool:
        return bool(self._about[metric].get("higher_is_better", True))

    def _check_change(self, condition: Condition) -> Iterator[Finding]:
        metric, part = self._metric_of(condition)
        for change in self._demanded(condition, metric, part):
            before, after = change.before.value or 0.0, change.after.value or 0.0
            p = 1.0 if change.p is None else change.p
            size = before - after if condition.what == "drop" else after - before
            if condition.limit.percent and not before:
                raise SettingError(
                    f"{condition.text!r}: the mean of the baseline is 0, of which no share can be "
                    "taken; give a limit without %"
                )
            size = size / abs(before) if condition.limit.percent else size
            is_by_chance = condition.p is not None and not condition.p.is_met(p)
            is_met = condition.limit.is_met(size) and not is_by_chance
            cases = self._worse_ids(condition, metric, part, change.system) if is_met else ()
            description = f"{before:.4g} -> {after:.4g} ({after - before:+.4f}, p {p:.2g})"
            yield change.system, description, is_met, cases

    def _worse_ids(
        self, condition: Condition, metric: str, part: str, system: str
    ) -> Sequence[str]:
        if (condition.what == "drop") != self._is_higher_better(metric):
            return ()
        sign = 1 if condition.what == "drop" else -1
        successor = next(
            successor for successor in self.rivals(metric) if successor.after.name == system
        )
        losses = {
            id_: sign * ((value_of(successor.before.rows[id_], part) or 0.0) - after)
            for id_ in successor.shared
            if (after := value_of(successor.after.rows[id_], part)) is not None
        }
        worse = [id_ for id_, loss in losses.items() if loss > self._test.tie + ROUNDING]
        if self._missing == "worst" and not part:
            worse += [id_ for id_ in successor.before.rows if id_ not in successor.after.rows]
        return worse

    def _check_mean(self, condition: Condition) -> Iterator[Finding]:
        metric, part = self._metric_of(condition)
        self._demanded(condition, metric, part)
        for successor in self.rivals(metric):
            part_values = (value_of(row, part) for row in successor.after.rows.values())
            values = [value for value in part_values if value is not None]
            mean = fsum(values) / len(values)
            description = f"mean {mean:.4f} of {len(values):,} rows"
            yield successor.after.name, description, condition.limit.is_met(mean), ()

    def _check_rows(self, condition: Condition) -> Iterator[Finding]:
        for successor in self.rivals(self.metrics[0]) if self.metrics else ():
            new_ids = [*successor.after.rows, *successor.after.errors, *successor.reasons]
            if condition.what == "errors":
                ids, total, label = [*successor.reasons], len({*new_ids}), "rows with errors"
            else:
                old_ids, known_ids = (
                    [*successor.before.rows, *successor.before.errors],
                    {*new_ids},
                )
                ids, total = (
                    [id_ for id_ in old_ids if id_ not in known_ids],
                    len(old_ids),
                )
                label = "ids of the baseline are missing"
            value = len(ids) / max(1, total) if condition.limit.percent else len(ids)
            description = f"{len(ids):,} of {total:,} {label}"
            yield successor.after.name, description, condition.limit.is_met(value), ids

    def _check_errors(self, condition: Condition) -> Iterator[Finding]:
        metric = self._metric_of(condition)[0] if condition.metric else self._lists_errors()
        if metric is None or not self._lists(metric):
            subject = f"{metric} does not list" if metric else "no metric of these runs lists"
            raise SettingError(
                f"{condition.text!r}: {subject} errors as evidence; score both with concordance"
            )
        for successor in self.rivals(metric):
            counts: dict[str, int] = {}
            for id_ in successor.shared:
                before, after = successor.before.rows[id_], successor.after.rows[id_]
                is_new = condition.what == "new errors"
                all_errors = map(_named, listed_errors(after) or ())
                errors = new_errors(before, after) if is_new else all_errors
                counts[id_] = sum(condition.severity in ("", error.severity) for error in errors)
            count, cases = sum(counts.values()), [id_ for id_, count in counts.items() if count]
            description = f"{count:,} in {len(cases):,} of {len(counts):,} cases, by {metric}"
            yield successor.after.name, description, condition.limit.is_met(count), cases

    def _lists(self, metric: str) -> bool:
        return any(
            listed_errors(result) is not None
            for successor in self.rivals(metric)
            for result in successor.after.rows.values()
        )

    def _lists_errors(self) -> str | None:
        """Return the metric whose errors count: concordance, or else the first that lists any."""
        names = sorted(self.metrics, key=lambda name: (name != USUAL_METRIC, name))
        return next(filter(self._lists, names), None)

    def _metric_of(self, condition: Condition) -> tuple[str, str]:
        name = condition.metric
        if name in self.metrics:
            return name, ""
        metric, _, part = name.rpartition(".")
        if metric in self.metrics:
            return metric, part
        available = ", ".join(self.metrics) or "none"
        problem = f"not every run has scores of {name!r}; all have: {available}"
        raise condition.wrong_metric([*self.metrics, *STARTS], problem)

    def _demanded(self, condition: Condition, metric: str, part: str) -> list[MetricChange]:
        changes = self.changes(metric, part)
        if len(changes) == len(self.rivals(metric)):
            return changes
        parts = {
            name
            for successor in self.rivals(metric)
            for row in successor.after.rows.values()
            for name in row.parts
        }
        problem = (
            f"no id has {part!r} of {metric} in both runs; there are: {', '.join(sorted(parts))}"
        )
        raise condition.wrong_metric([f"{metric}.{name}" for name in sorted(parts)], problem)


def _rivals(runs: ScoredFiles, metric: str) -> Iterator[Successor]:
    """Pair each new system with the baseline system of the same name, or with the only one."""
    systems = systems_in(runs, metric)
    old_systems = [system for system in systems if system.place == 0]
    for after in (system for system in systems if system.place):
        counterparts = [system for system in old_systems if system.own == after.own] or old_systems
        if len(counterparts) != 1:
            names = ", ".join(system.own or system.name for system in old_systems) or "none"
            raise InputError(
                f"{runs[0][0]} has no system called {after.own!r} to compare that of "
                f"{after.file} with; it has: {names}"
            )
        # Rows too broken to name a system count for each.
        reasons = {
            row.id: "; ".join(dict.fromkeys(problem.code for problem in row.errors))
            for row in runs[after.place][1]
            if row.errors and row.system in (None, after.own)
        }
        yield Successor(counterparts[0], after, reasons)


class Gate(Noun):
    baseline: str
    metric: str
    conditions: tuple[ConditionResult, ...]
    changes: tuple[MetricChange, ...]
    worse: tuple[WorseCase, ...]
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[ConditionResult, ...]:
        return tuple(result for result in self.conditions if result.failed)

    @property
    def passed(self) -> bool:
        """True if the new run may take the place of the baseline."""
        return not self.failed

    def content(self) -> dict[str, Any]:
        return {"passed": self.passed, **self.model_dump(mode="json")}


def gate_of(
    read: ScoredFiles,
    conditions: Sequence[Condition],
    metric: str,
    missing: Missing | None,
    test: PairedTest,
) -> Gate:
    trial = Trial(read, missing, test)
    results = [result for condition in conditions for result in trial.judge(condition)]
    trial.changes(metric)
    worse = sorted(trial.worse(metric), key=lambda case: case.order)
    return Gate(
        baseline=str(read[0][0]),
        metric=metric,
        conditions=tuple(results),
        changes=tuple(change for changes in trial.compared.values() for change in changes),
        worse=tuple(worse),
        notes=tuple(dict.fromkeys([*trial.notes, *_warnings(read, trial.rivals(metric))])),
    )


def _warnings(runs: ScoredFiles, rivals: Sequence[Successor]) -> Iterator[str]:
    (baseline_file, rows), *new_runs = runs
    compared = {successor.before.own for successor in rivals}
    if missing_systems := sorted({row.system for row in rows if row.system} - compared):
        yield (
            f"WARNING: no new run has {', '.join(missing_systems)}, which the baseline has: "
            "not compared, and no condition is about it."
        )
    old_references = _references(baseline_file)
    for file, _ in new_runs:
        new_references = _references(file)
        changed = [
            id_
            for id_ in new_references
            if id_ in old_references and new_references[id_] != old_references[id_]
        ]
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
        str(texts.get("id")): hash(texts["reference"])
        for texts in read_texts(folder)
        if texts.get("reference") is not None
    }
