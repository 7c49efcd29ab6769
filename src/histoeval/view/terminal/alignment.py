"""Tables on a judge beside experts: agreement, mappings, confusion, disagreements."""

from collections.abc import Iterator

from histoeval.agreement.judge_alignment import CriterionAlignment
from histoeval.console import visible
from histoeval.judges.alignment import ScoreMapping
from histoeval.run.alignment.found import AlignedMetric, JudgeAgreement
from histoeval.statistics.resampling import Estimate
from histoeval.table import ResultTable, number
from histoeval.view.terminal.judge import UNKNOWN

REASON = 160
"""Characters of a judge's reason that are shown."""


def alignment_tables(found: JudgeAgreement, gaps: int = 10) -> Iterator[ResultTable]:
    """All tables, the most important first."""
    yield agreement_table(found)
    yield mapping_table(found.judge)
    for each in found.judge.criteria:
        yield confusion_table(found.judge.metric, each)
    if found.judge.gaps and gaps:
        yield gap_table(found.judge, gaps)
    if any(metric.usage for metric in found.metrics):
        yield cost_table(found)


def agreement_table(found: JudgeAgreement) -> ResultTable:
    """Agreement with experts, before and after, the judge and the baseline."""
    rows = [
        [
            each.criterion,
            metric.metric,
            state,
            f"{each.pairs:,}",
            *[_interval(e, 2) for e in (fig.exact, fig.within_one, fig.kappa, fig.mae)],
        ]
        for place, _ in enumerate(found.judge.criteria)
        for metric in found.metrics
        if place < len(metric.criteria)
        for each in [metric.criteria[place]]
        for state, fig in (("as it is", each.before), ("aligned", each.after))
        if fig is not None
    ]
    columns = ["criterion", "metric", "scores", "pairs", "exact", "within one", "kappa", "MAE"]
    return ResultTable("\nAgreement with experts (95 %; aligned: on unseen cases)", columns, rows)


def mapping_table(metric: AlignedMetric) -> ResultTable:
    """What is written to the alignment, and where nothing is."""
    return ResultTable.of(
        f"\nWhat brings {metric.metric} closer to the experts",
        metric.criteria,
        {
            "criterion": lambda each: each.criterion,
            "experts score higher by": lambda each: _interval(each.offset, 2),
            "mapping": lambda each: _mapping(each.mapping) if not each.reason else "none",
            "chosen in folds": lambda each: ", ".join(f"{k} {n}" for k, n in each.chosen.items()),
            "why none": lambda each: each.reason,
        },
    )


def _mapping(mapping: ScoreMapping) -> str:
    if mapping.kind == "offset":
        return f"{mapping.offset:+.2f}"
    if mapping.kind == "thresholds":
        steps = enumerate(mapping.thresholds, start=1)
        return ", ".join(f"{mapping.low + n:g} from {cut:g}" for n, cut in steps)
    if mapping.kind == "curve":
        points = zip(mapping.at, mapping.value, strict=True)
        return ", ".join(f"{at:g} → {value:.2f}" for at, value in points)
    return "none: as it is"


def confusion_table(metric: str, each: CriterionAlignment) -> ResultTable:
    """The judge's scores in rows, the experts' in columns."""
    levels = each.confusion.levels
    rows = [
        [f"judge {level}", *map(str, counts)]
        for level, counts in zip(levels, each.confusion.counts, strict=True)
    ]
    title = f"\n{each.criterion}: {metric} (rows) and experts (columns)"
    return ResultTable(title, ["", *[f"expert {level}" for level in levels]], rows)


def gap_table(metric: AlignedMetric, most: int) -> ResultTable:
    """The pairs on which judge and experts differ most."""
    return ResultTable.of(
        f"\nWhere {metric.metric} and the experts differ most ({len(metric.gaps):,} in all)",
        metric.gaps[:most],
        {
            "id": lambda gap: visible(gap.id),
            "system": lambda gap: visible(gap.system),
            "criterion": lambda gap: gap.criterion,
            "judge": lambda gap: f"{gap.judge:g}",
            "experts": lambda gap: f"{gap.expert:g}",
            "aligned": lambda gap: f"{gap.aligned:.2f}",
            "reason": lambda gap: _short(gap.reason),
        },
    )


def cost_table(found: JudgeAgreement) -> ResultTable:
    """What each metric took."""
    rows = [
        [
            who,
            f"{used.get('requests', 0):,}",
            f"{used['cached']:,}" if "cached" in used else "",
            UNKNOWN if used.get("seconds") is None else f"{used['seconds']:.1f}",
            UNKNOWN
            if used.get("cost") is None
            else f"{used['cost']:.4f} {used['currency']}".strip(),
        ]
        for metric in found.metrics
        for who, used in metric.usage.items()
    ]
    return ResultTable("\nCost", ["metric", "requests", "cached", "seconds", "cost"], rows)


def _short(reason: str) -> str:
    line = visible(" ".join(reason.split()))
    return line if len(line) <= REASON else f"{line[:REASON]}…"


def _interval(found: Estimate, digits: int) -> str:
    if found.value is None or found.low is None:
        return number(found.value, digits)
    return f"{found.value:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"
