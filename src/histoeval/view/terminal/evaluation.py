"""Tables on how metrics react to edited reports (probes), and on grounding models."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from histoeval.evaluate.estimates import ReportEstimate
from histoeval.evaluate.grounding_verdicts import decided_remarks
from histoeval.evaluate.probe_scores import ProbeFigures
from histoeval.table import ResultTable, number
from histoeval.view.terminal.agreement import interval

# the figures of tiles of laboratories that a model had not learned from
OTHERS = "other laboratories"
COLUMNS = ("figure", "value", "by organ or group")


def remarks(figures: Sequence[ProbeFigures], unavailable: Mapping[str, str]) -> Iterator[str]:
    for name, reason in unavailable.items():
        yield f"{name} {reason}"
    for metric in figures:
        if metric.missing:
            yield (
                f"{metric.metric}: {metric.missing:,} of {metric.edits:,} edits have no score and "
                f"are not counted. The first: {metric.problem}"
            )


def probe_tables(figures: Sequence[ProbeFigures]) -> Iterator[ResultTable]:
    """Yield tables of harmful against harmless edits, and of cost by kind and by severity."""
    names = [metric.metric for metric in figures]
    first = figures[0]
    has_critical = first.critical_passed.pairs > 0
    yield ResultTable(
        f"{first.edits:,} edits of {first.references:,} references (95 % interval)",
        [
            *("metric", "harmful below harmless", "AUROC", "in order of severity"),
            *(["critical passed"] if has_critical else []),
            "scored",
        ],
        [
            [
                metric.metric,
                *[
                    interval(s.share, 3, 3, "-")
                    for s in (metric.below, metric.auroc, metric.in_order)
                ],
                *([_value(metric.critical_passed.share)] if has_critical else []),
                f"{metric.edits - metric.missing:,} of {metric.edits:,}",
            ]
            for metric in figures
        ],
    )
    yield ResultTable(
        "Mean cost by kind of edit (0: none, 1: all)",
        ["edit", "severity", "edits", *names],
        [
            [
                *(kind.replace("_", " "), f"{cost.severity:.1f}", f"{cost.edits:,}"),
                *[_value(metric.kinds[kind].cost) for metric in figures],
            ]
            for kind, cost in first.kinds.items()
        ],
    )
    yield ResultTable(
        "Harmful below harmless, of the pairs with such an edit",
        ["edit", "pairs", *names],
        [
            [
                *(kind.replace("_", " "), f"{share.pairs:,}"),
                *[_value(metric.below_by_kind[kind].share) for metric in figures],
            ]
            for kind, share in first.below_by_kind.items()
        ],
    )
    yield ResultTable(
        "Mean cost by severity",
        ["severity", "edits", *names],
        [
            [
                *(f"{severity}", f"{cost.edits:,}"),
                *[_value(metric.severities[severity].cost) for metric in figures],
            ]
            for severity, cost in first.severities.items()
        ],
    )


def _value(estimate: ReportEstimate | None) -> str:
    return number(None if estimate is None else estimate.value)


def grounding_tables(scores: Mapping[str, Any]) -> Iterator[RenderableType]:
    for name, figures in sets_of(scores):
        table = ResultTable(name, COLUMNS, figure_rows(figures))
        yield Group(table, *map(Text, decided_remarks(figures)))


def sets_of(scores: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the cross-validation as `held out`, and the parts of each measured split."""
    for name, figures in scores.items():
        if name == "held out":
            yield "Cross-validation: cases that the model of the fold had not learned", figures
            continue
        if name == "phrases":
            yield "Phrases by language models, not in the bank", {"scope, phrases": figures}
            continue
        if "scope" in figures:
            yield f"{name}: scope", {"scope, images": figures["scope"]}
        yield from ((f"{name}: {part}", f) for part, f in figures.items() if part != "scope")


def figure_rows(scores: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each score of a JSON summary; other laboratories first."""
    own = {name: figures for name, figures in scores.items() if name != OTHERS}
    return [
        [f"{before}{cell}", *more]
        for before, part in ((f"{OTHERS}: ", scores.get(OTHERS, {})), ("", own))
        for name, figures in part.items()
        for cell, *more in _rows(name, figures)
    ]


def _rows(name: str, figures: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    kind = name.split(",", maxsplit=1)[0]
    by_organ = "; ".join(f"{n} {value:.2f}" for n, value in figures.get("by_organ", {}).items())
    if kind == "organ" and figures.get("count"):
        chance = f"chance {figures['chance']:.3f}"
        if "commonest" in figures:
            chance += f", commonest organ {figures['commonest']:.3f}"
        label = f"{name}: top 1 of {figures['organs']}, n = {figures['count']}"
        yield label, f"{figures['top1']:.3f} ({chance})", by_organ
        yield f"{name}: mean of organs", f"{figures['mean_of_organs']:.3f}", ""
    elif kind == "behaviour" and by_organ:
        yield f"{name}: AUROC within organs", f"{figures['within_organ']:.3f}", by_organ
        yield f"{name}: mean of organs", f"{figures['mean_of_organs']:.3f}", ""
        yield f"{name}: all organs together", f"{figures['all_together']:.3f}", ""
    elif kind == "replaced" and "all" in figures:
        groups = [f"{g} {v['drop']:.0%} (AUROC {v['auroc']:.2f})" for g, v in figures.items()]
        whole = figures["all"]
        drop = f"{whole['drop']:.0%} ({whole['true']:.2f} to {whole['foreign']:.2f})"
        yield f"{name}: drop when claims are foreign", drop, "; ".join(groups)
    elif kind == "decided":
        for reports in ("foreign", "true", "other diagnosis"):
            if not (count := figures.get(f"{reports} reports")):
                continue
            shares = [
                f"{verdict.replace('_', ' ')} {figures[f'{reports}, {verdict}']:.3f}"
                for verdict in ("not_known", "contradicted")
            ]
            if f"{reports}, drop" in figures:
                shares.append(f"drop of the value {figures[f'{reports}, drop']:.0%}")
            label = f"{name}: {reports} reports supported, n = {count}"
            yield label, f"{figures[f'{reports}, supported']:.3f}", "; ".join(shares)
    elif kind == "scope":
        for part, value in figures.items():
            if isinstance(value, Mapping):
                label = f"{name}: {part} called unknown, n = {value['count']}"
                yield label, f"{value['unknown']:.3f}", ""
            elif isinstance(value, list):
                yield f"{name}: {part}", str(len(value)), "; ".join(value)
            elif isinstance(value, float):
                yield f"{name}: {part}", f"{value:.3f}", ""
