"""Tables on a gate: its conditions, the means behind them, and the cases that got worse."""

from collections.abc import Iterator

from histoeval.run.compare.changes import MetricChange, WorseCase
from histoeval.run.compare.gate import Gate
from histoeval.table import NONE, ResultTable, number
from histoeval.view.terminal.agreement import interval, p_text

WORST = 20
"""Cases that are shown of those that got worse, unless another number is wished for."""

MAX_ERRORS = 3
"""New errors shown of one case."""


def verdict(gate: Gate) -> str:
    """The outcome in one line."""
    if not gate.conditions:
        return f"{len(gate.worse):,} cases got worse; no condition was given"
    if gate.passed and len(gate.conditions) == 1:
        return "Gate passed: the condition is not met"
    if gate.passed:
        return f"Gate passed: none of {len(gate.conditions)} conditions is met"
    return f"Gate failed: {len(gate.failed)} of {len(gate.conditions)} conditions met"


def gate_tables(gate: Gate, most: int = WORST) -> Iterator[ResultTable]:
    """The conditions, the means, and the worst of the cases that got worse."""
    if gate.conditions:
        yield ResultTable.of(
            verdict(gate),
            gate.conditions,
            {
                "fail if": lambda each: each.condition,
                "system": lambda each: each.system,
                "outcome": lambda each: "FAILED" if each.failed else "ok",
                "found": lambda each: each.found,
            },
        )
    yield changes_table(gate)
    if gate.worse and most:
        yield worse_table(gate, most)


def changes_table(gate: Gate) -> ResultTable:
    """The means of the baseline and of the new run."""
    several = len({each.system for each in gate.changes}) > 1

    def name(change: MetricChange) -> str:
        return f"{change.metric}, {change.system}" if several else change.metric

    return ResultTable.of(
        f"New minus baseline ({gate.baseline})",
        gate.changes,
        {
            "metric": name,
            "baseline": lambda each: number(each.before.value, 4),
            "new": lambda each: number(each.after.value, 4),
            "difference": lambda each: interval(each.difference),
            "p": lambda each: p_text(each.p),
            "better/same/worse": lambda each: f"{each.better}/{each.same}/{each.worse}",
            "pairs": lambda each: f"{each.pairs:,}",
        },
    )


def worse_table(gate: Gate, most: int) -> ResultTable:
    """The cases that got worse, the worst first, with what is new."""
    shown = gate.worse[:most]
    of = f"the {len(shown)} worst of {len(gate.worse):,}" if len(shown) < len(gate.worse) else ""
    several = len({each.system for each in gate.changes}) > 1
    return ResultTable.of(
        f"Cases that got worse by {gate.metric}, or have new errors{of and f': {of}'}",
        shown,
        {
            "id": lambda case: f"{case.id} ({case.system})" if several else case.id,
            "baseline": lambda case: number(case.before),
            "new": lambda case: number(case.after),
            "what is new": evidence,
        },
    )


def evidence(case: WorseCase) -> str:
    """The new errors of a case in a few words, or why it has no score."""
    if case.after is None:
        return f"no score: {case.reason}"
    shown = [f"{each.severity}: {each.message}" for each in case.new_errors[:MAX_ERRORS]]
    more = len(case.new_errors) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])]) or NONE
