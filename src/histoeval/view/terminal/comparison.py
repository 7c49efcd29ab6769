"""Tables on which of several systems writes better."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from histoeval.agreement.systems import Contest
from histoeval.table import NONE, ResultTable, footnotes, number
from histoeval.view.terminal.agreement import interval, p_text

MAX_ERRORS = 3
"""Errors shown of one side of a pair."""


def comparison_tables(
    metric: str, contest: Contest, apart: Sequence[Mapping[str, Any]]
) -> Iterator[ResultTable]:
    """The ranking, every two systems, and the pairs on which they differ most."""
    yield ResultTable(
        f"Mean {metric} on {contest.pairs:,} pairs of {contest.cases:,} cases; systems that share "
        "a rank do not differ significantly from the best of them",
        ["system", "rank", "mean"],
        [[each.system, str(each.rank), interval(each.mean)] for each in contest.systems],
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
    """Why results are missing."""
    reasons = [(each.system, each.mean.reason) for each in contest.systems]
    reasons += [(f"{duel.one} - {duel.other}", duel.difference.reason) for duel in contest.duels]
    return footnotes(reasons)


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """The evidence of a score in a few words: its errors, or the lengths of its lists."""
    errors = evidence.get("errors")
    if errors is not None:
        messages = [str(error["message"]) for error in errors[:MAX_ERRORS]]
        more = len(errors) - len(messages)
        return "; ".join([*messages, *([f"and {more} more"] if more > 0 else [])]) or "no errors"
    sizes = [
        f"{len(part)} {name}" for name, part in evidence.items() if isinstance(part, list | tuple)
    ]
    return ", ".join(sizes) or NONE
