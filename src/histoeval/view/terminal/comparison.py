"""Systems and gates: tables, Markdown for a pull request, and JUnit XML for a CI job."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from histoeval.agreement.systems import Contest
from histoeval.console import visible
from histoeval.run.compare.compare import Comparison
from histoeval.run.compare.gate import Gate, WorseCase
from histoeval.table import NONE, ResultTable, footnotes, markdown, markdown_text, number
from histoeval.version import __version__
from histoeval.view.html.page import fragment
from histoeval.view.terminal.agreement import interval, p_text

MAX_ERRORS = 3  # errors shown of one side of a pair, and new errors of one case
WORST = 20  # cases that are shown of those that got worse, unless another number is wished for
MOST_TESTS = 200  # cases that JUnit lists at most
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_ADDRESSED = re.compile(r"@(?=\w)")


def comparison_tables(
    metric: str, contest: Contest, apart: Sequence[Mapping[str, Any]]
) -> Iterator[ResultTable]:
    yield ResultTable(
        f"Mean {metric} on {contest.pairs:,} pairs of {contest.cases:,} cases; systems that share "
        "a rank do not differ significantly from the best of them",
        ["system", "rank", "mean"],
        [[ranked.system, str(ranked.rank), interval(ranked.mean)] for ranked in contest.systems],
    )
    yield ResultTable.of(
        "System against system",
        contest.duels,
        {
            "first minus second": lambda duel: f"{duel.one} - {duel.other}",
            "difference": lambda duel: interval(duel.difference),
            "p": lambda duel: p_text(duel.p),
            "Holm": lambda duel: p_text(duel.holm),
            "d": lambda duel: number(duel.effect, 2),
            "win/tie/loss": lambda duel: f"{duel.wins}/{duel.ties}/{duel.losses}",
        },
    )
    if apart:
        yield ResultTable(
            f"Where systems differ most by {metric}",
            ["pair", "system", "score", "evidence"],
            [
                [str(pair["id"]), name, f"{score['value']:.3f}", evidence_text(score["evidence"])]
                for pair in apart
                for name, score in pair["systems"].items()
            ],
        )


def remarks(contest: Contest) -> list[str]:
    reasons = [(ranked.system, ranked.mean.reason) for ranked in contest.systems]
    reasons += [(f"{duel.one} - {duel.other}", duel.difference.reason) for duel in contest.duels]
    return footnotes(reasons)


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """Summarise the evidence of a score: its errors, or the lengths of its lists."""
    errors = evidence.get("errors")
    if errors is not None:
        return _first([str(error["message"]) for error in errors]) or "no errors"
    sizes = [
        f"{len(part)} {name}" for name, part in evidence.items() if isinstance(part, list | tuple)
    ]
    return ", ".join(sizes) or NONE


def verdict(gate: Gate) -> str:
    if not gate.conditions:
        return f"{len(gate.worse):,} cases got worse; no condition was given"
    if gate.passed and len(gate.conditions) == 1:
        return "Gate passed: the condition is not met"
    if gate.passed:
        return f"Gate passed: none of {len(gate.conditions)} conditions is met"
    return f"Gate failed: {len(gate.failed)} of {len(gate.conditions)} conditions met"


def gate_tables(gate: Gate, most: int = WORST) -> Iterator[ResultTable]:
    if gate.conditions:
        yield ResultTable.of(
            verdict(gate),
            gate.conditions,
            {
                "fail if": lambda outcome: outcome.condition,
                "system": lambda outcome: outcome.system,
                "outcome": lambda outcome: "FAILED" if outcome.failed else "ok",
                "found": lambda outcome: outcome.found,
            },
        )
    yield changes_table(gate)
    if gate.worse and most:
        shown = gate.worse[:most]
        cut = f": the {most} worst of {len(gate.worse):,}" if most < len(gate.worse) else ""
        has_several_systems = len({change.system for change in gate.changes}) > 1
        yield ResultTable.of(
            f"Cases that got worse by {gate.metric}, or have new errors{cut}",
            shown,
            {
                "id": lambda case: f"{case.id} ({case.system})" if has_several_systems else case.id,
                "baseline": lambda case: number(case.before),
                "new": lambda case: number(case.after),
                "what is new": evidence,
            },
        )


def changes_table(gate: Gate) -> ResultTable:
    has_several_systems = len({change.system for change in gate.changes}) > 1
    return ResultTable.of(
        f"New minus baseline ({gate.baseline})",
        gate.changes,
        {
            "metric": lambda change: (
                f"{change.metric}, {change.system}" if has_several_systems else change.metric
            ),
            "baseline": lambda change: number(change.before.value, 4),
            "new": lambda change: number(change.after.value, 4),
            "difference": lambda change: interval(change.difference),
            "p": lambda change: p_text(change.p),
            "better/same/worse": lambda change: f"{change.better}/{change.same}/{change.worse}",
            "pairs": lambda change: f"{change.pairs:,}",
        },
    )


def evidence(case: WorseCase) -> str:
    if case.after is None:
        return f"no score: {case.reason}"
    return _first([f"{error.severity}: {error.message}" for error in case.new_errors]) or NONE


def _first(messages: Sequence[str]) -> str:
    more = len(messages) - MAX_ERRORS
    return "; ".join([*messages[:MAX_ERRORS], *([f"and {more} more"] if more > 0 else [])])


def gate_markdown(comparison: Comparison, gate: Gate, most: int = WORST) -> str:
    """Return a comment on a pull request; no report becomes markup, a link or a mention."""
    tables = list(gate_tables(gate, most))
    if gate.conditions:
        tables[0] = tables[0]._replace(title="Conditions")
    notes = [f"- {markdown_text(note)}" for note in dict.fromkeys([*comparison.notes, *gate.notes])]
    content = "\n\n".join([*map(markdown, tables), *notes])
    head = f"## {'✅' if gate.passed else '❌'} {verdict(gate)}"
    origin = f"`{comparison.signature.replace('`', '')}`, compared by histoeval {__version__}"
    return visible("\n\n".join([head, _ADDRESSED.sub("@<!-- -->", content), origin])) + "\n"


def gate_junit(gate: Gate) -> str:
    """Return JUnit tests of conditions and worse cases; a case in a failed condition fails."""
    conditions = [
        {
            "group": "histoeval.gate",
            "name": f"{outcome.system}: fail if {outcome.condition}",
            "failed": outcome.failed,
            "outcome": f"{outcome.system}: {outcome.found}",
            "more": outcome.cases[:MOST_TESTS],
        }
        for outcome in gate.conditions
    ]
    blamed = {(outcome.system, case) for outcome in gate.failed for case in outcome.cases}
    cases = []
    for case in gate.worse[:MOST_TESTS]:
        after = "no score" if case.after is None else f"{case.after:.4f}"
        cases.append(
            {
                "group": f"histoeval.case.{case.system}",
                "name": case.id,
                "failed": (case.system, case.id) in blamed,
                "outcome": f"{gate.metric}: {case.before:.4f} -> {after}",
                "more": [evidence(case)],
            }
        )
    suites = {"conditions": conditions, "cases that got worse": cases}
    text = fragment("gate_junit.xml", suites=suites)
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
