"""What is different between a baseline and a new run: means, errors, and cases that got worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from histoeval.agreement.systems import Contest, contest
from histoeval.concordance.evidence import Severity
from histoeval.errors import InputError
from histoeval.io.results import MetricResult
from histoeval.report import Noun
from histoeval.run.compare.systems import System
from histoeval.run.totals import listed_errors
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES, Estimate

ROUNDING = 1e-12


@dataclass(frozen=True)
class PairedTest:
    """How scores of the same ids are tested: which ids are one case, and how often to draw."""

    case_of: Mapping[str, str] | None = None
    tie: float = 0.0
    resamples: int = RESAMPLES
    permutations: int = PERMUTATIONS
    seed: int = 0

    def contest(self, scores: Mapping[str, Any], ids: Sequence[str]) -> Contest:
        known = self.case_of
        lacking = [] if known is None else [id_ for id_ in ids if id_ not in known]
        if lacking:
            raise InputError(
                f"the table of cases has no case for {lacking[0]!r}, and {len(lacking) - 1} more"
            )
        return contest(
            scores,
            [id_ if known is None else known[id_] for id_ in ids],
            tie=self.tie,
            resamples=self.resamples,
            permutations=self.permutations,
            seed=self.seed,
        )


class MetricChange(Noun):
    """The mean of a metric, or of a part of it, in the baseline and in the new run.

    `difference` is the new less the old, `p` that of the paired randomisation test.
    """

    metric: str
    system: str
    pairs: int
    before: Estimate
    after: Estimate
    difference: Estimate
    p: float | None
    better: int
    same: int
    worse: int


class NewError(Noun):
    """An error of the new run that the baseline does not make on the same case."""

    kind: str
    severity: str
    message: str


class WorseCase(Noun):
    """A case that got worse: its values before and after, and the errors that are new."""

    id: str
    system: str
    before: float
    after: float | None
    """None where there is no score any more; `reason` says why."""
    new_errors: tuple[NewError, ...] = ()
    reason: str = ""

    @property
    def order(self) -> tuple[float, ...]:
        """The worst first: no score, then the worst new error, then the largest loss."""
        worst = max((Severity[each.severity.upper()] for each in self.new_errors), default=0)
        lost = np.inf if self.after is None else abs(self.before - self.after)
        return self.after is not None, -worst, -len(self.new_errors) if worst else 0, -lost


class Successor(NamedTuple):
    """A new system and the one of the baseline that it is compared with."""

    before: System
    after: System
    reasons: Mapping[str, str]
    """Why ids of the new run have no score."""

    @property
    def shared(self) -> list[str]:
        return [id_ for id_ in self.before.rows if id_ in self.after.rows]


def change_of(
    rivals: Successor, metric: str, part: str, test: PairedTest, *, higher_is_better: bool = True
) -> MetricChange | None:
    """How the mean of a metric or a part has changed; None where no id has it in both runs."""
    values = [
        (id_, old, new)
        for id_ in rivals.shared
        if (old := value_of(rivals.before.rows[id_], part)) is not None
        and (new := value_of(rivals.after.rows[id_], part)) is not None
    ]
    if not values:
        return None
    ids, old_values, new_values = zip(*values, strict=True)
    found = test.contest({"new": np.array(new_values), "old": np.array(old_values)}, ids)
    means = {each.system: each.mean for each in found.systems}
    duel = found.duels[0]
    better, worse = duel.wins, duel.losses
    return MetricChange(
        metric=f"{metric}.{part}" if part else metric,
        system=rivals.after.name,
        pairs=len(ids),
        before=means["old"],
        after=means["new"],
        difference=duel.difference,
        p=duel.p,
        better=better if higher_is_better else worse,
        same=duel.ties,
        worse=worse if higher_is_better else better,
    )


def value_of(result: MetricResult, part: str) -> float | None:
    """The value of a metric, or of one of its parts."""
    return result.parts.get(part) if part else result.value


def errors_of(result: MetricResult) -> list[NewError]:
    return [_named(error) for error in listed_errors(result) or ()]


def new_errors(before: MetricResult, after: MetricResult) -> list[NewError]:
    """The errors of a case that are new, the worst first.

    An error is the same where it is of the same kind and severity and about the same place of the
    reference; one without such a place (an invention), where it is about the same words.
    """
    known = Counter(map(_identity, listed_errors(before) or ()))
    found = []
    for error in listed_errors(after) or ():
        if known[_identity(error)]:
            known[_identity(error)] -= 1
        else:
            found.append(error)
    return [_named(error) for error in sorted(found, key=lambda each: -each["severity"])]


def _identity(error: Mapping[str, Any]) -> Hashable:
    reference, candidate = error.get("reference"), error.get("candidate")
    about: Hashable = None
    if isinstance(reference, Mapping):
        about = (reference.get("start"), reference.get("end"))
    elif isinstance(candidate, Mapping):
        about = " ".join(str(candidate.get("text")).casefold().split())
    return error["kind"], error["severity"], error.get("part"), about


def _named(error: Mapping[str, Any]) -> NewError:
    kind = error["kind"].replace("_", " ")
    severity = Severity(error["severity"]).name.lower()
    return NewError(kind=kind, severity=severity, message=str(error.get("message") or kind))


def worse_cases(
    rivals: Successor, errors: Successor | None, tie: float, *, higher_is_better: bool
) -> Iterator[WorseCase]:
    """The cases with a worse value or with new errors; `errors` is the same by what lists them."""
    for id_, before in rivals.before.rows.items():
        after = rivals.after.rows.get(id_)
        case = {"id": id_, "system": rivals.after.name, "before": before.value}
        if after is None:
            reason = rivals.reasons.get(id_, "the new run does not have it")
            yield WorseCase(**case, after=None, reason=reason)
            continue
        lost = before.value - after.value if higher_is_better else after.value - before.value
        new: list[NewError] = []
        if errors is not None and id_ in errors.before.rows and id_ in errors.after.rows:
            new = new_errors(errors.before.rows[id_], errors.after.rows[id_])
        if lost > tie + ROUNDING or new:
            yield WorseCase(**case, after=after.value, new_errors=tuple(new))
