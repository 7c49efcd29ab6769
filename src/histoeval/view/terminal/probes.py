"""Tables on how metrics react to edited reports (probes), for a terminal and for Markdown."""

from collections.abc import Iterator, Mapping, Sequence

from histoeval.evaluate.estimates import ReportEstimate
from histoeval.evaluate.probe_scores import Cost, PairShare, ProbeFigures
from histoeval.table import FittedTable, ResultTable, markdown, terminal_table

_NONE = "none"


def probe_tables(figures: Sequence[ProbeFigures]) -> Iterator[FittedTable]:
    """Whether harmful edits cost more, and the cost of each kind of edit and each severity."""
    return map(terminal_table, _tables(figures))


def probe_markdown(figures: Sequence[ProbeFigures]) -> str:
    """The same tables in Markdown."""
    return "\n\n".join(map(markdown, _tables(figures)))


def remarks(figures: Sequence[ProbeFigures], unavailable: Mapping[str, str]) -> Iterator[str]:
    """Which edits have no score, and why."""
    for name, reason in unavailable.items():
        yield f"{name} {reason}"
    for each in figures:
        if each.missing:
            yield (
                f"{each.metric}: {each.missing:,} of {each.edits:,} edits have no score and are "
                f"not counted. The first: {each.problem}"
            )


def _tables(figures: Sequence[ProbeFigures]) -> Iterator[ResultTable]:
    names = [each.metric for each in figures]
    first = figures[0]
    critical = first.critical_passed.pairs > 0
    yield ResultTable(
        f"{first.edits:,} edits of {first.references:,} references (95 % interval)",
        [
            "metric",
            "harmful below harmless",
            "AUROC",
            "in order of severity",
            *(["critical passed"] if critical else []),
            "scored",
        ],
        [_headline(each, critical=critical) for each in figures],
    )
    yield ResultTable(
        "Mean cost by kind of edit (0: none, 1: all)",
        ["edit", "severity", "edits", *names],
        [
            [
                _plain(kind),
                f"{cost.severity:.1f}",
                *_costs(each.kinds[kind] for each in figures),
            ]
            for kind, cost in first.kinds.items()
        ],
    )
    yield ResultTable(
        "Harmful below harmless, of the pairs with such an edit",
        ["edit", "pairs", *names],
        [
            [
                _plain(kind),
                f"{share.pairs:,}",
                *[_number(each.below_by_kind[kind].share) for each in figures],
            ]
            for kind, share in first.below_by_kind.items()
        ],
    )
    yield ResultTable(
        "Mean cost by severity",
        ["severity", "edits", *names],
        [
            [f"{severity}", *_costs(each.severities[severity] for each in figures)]
            for severity in first.severities
        ],
    )


def _plain(kind: str) -> str:
    return kind.replace("_", " ")


def _headline(each: ProbeFigures, *, critical: bool) -> list[str]:
    shares = [_share(share) for share in (each.below, each.auroc, each.in_order)]
    if critical:
        shares.append(_number(each.critical_passed.share))
    return [each.metric, *shares, f"{each.edits - each.missing:,} of {each.edits:,}"]


def _costs(costs: Iterator[Cost]) -> list[str]:
    """The number of edits, and their cost by each metric."""
    all_costs = list(costs)
    return [f"{all_costs[0].edits:,}", *[_number(each.cost) for each in all_costs]]


def _share(share: PairShare) -> str:
    found = share.share
    if found is None or found.low is None or found.high is None:
        return _number(found)
    return f"{_number(found)} ({found.low:.3f}-{found.high:.3f})"


def _number(estimate: ReportEstimate | None) -> str:
    return _NONE if estimate is None else f"{estimate.value:.3f}"
