"""Tables on LLM judges: scores, consistency, cost, a check, and judges beside experts."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import shorten
from typing import Any

from rich.text import Text

from histoeval.console import visible
from histoeval.judges.alignment import ScoreMapping
from histoeval.judges.check import CriterionVerdict
from histoeval.judges.panel import SPREAD, JudgePanel, RequestEstimate
from histoeval.judges.stability import short_names
from histoeval.llm.cache import CacheStats
from histoeval.progress import ignore, step_progress
from histoeval.run.align_judge import JudgeAgreement
from histoeval.run.pipeline import Watch
from histoeval.statistics.resampling import Estimate
from histoeval.table import ResultTable, number
from histoeval.view.terminal.agreement import interval

UNKNOWN = "unknown"
YES, NO = Text("may be used", "green"), Text("may not", "red")

MAX_NAME = 22  # characters of the name of a judge in a cell

# answers per update of the bar when many are in flight; more updates would slow them down
UPDATE_EVERY = 16
REASON = 160  # characters of a judge's reason that are shown


@contextmanager
def answer_progress(bench: JudgePanel, count: Callable[[], int]) -> Iterator[Watch]:
    """Show a bar that moves with every answer; pairs are counted only if the bar is shown."""
    if not sys.stderr.isatty():
        yield ignore
        return
    questions_a_pair = bench.questions_a_pair
    done = 0
    note = ""
    with step_progress("judging", count() * questions_a_pair) as on_step:

        def settled() -> None:
            nonlocal done
            done += 1
            if done % UPDATE_EVERY == 0 or bench.concurrency < UPDATE_EVERY:
                on_step(done, note)

        def watch(rows: int, errors: int, _position: int) -> None:
            nonlocal done, note
            done = max(done, rows * questions_a_pair)
            note = f"{errors:,} rows with errors"
            on_step(done, note)

        bench.settled = settled
        yield watch


def criteria_table(summary: Mapping[str, Any], prefix: str) -> ResultTable:
    """Criteria by systems: the mean of each, and its spread over answers, for each judge."""
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for name, metric in summary["metrics"].items():
        if not name.startswith(prefix):
            continue
        judge = "all" if name == prefix else name.removeprefix(f"{prefix}@")
        if len(judge) > MAX_NAME:
            judge = f"{judge[: MAX_NAME // 2]}…{judge[-MAX_NAME // 2 + 1 :]}"
        for system, totals in metric["systems"].items():
            parts = totals["parts"]
            for part in parts:
                if part != SPREAD and not part.endswith(f"_{SPREAD}"):
                    mean, spread = number(parts[part], 2), parts.get(f"{part}_{SPREAD}")
                    cells.setdefault((part, judge), {})[system] = (
                        mean if spread is None else f"{mean} (spread {spread:.2f})"
                    )
    systems = list(dict.fromkeys(system for row in cells.values() for system in row))
    has_several_judges = len({judge for _, judge in cells}) > 1  # one judge needs no name
    rows = [
        [
            part,
            *([judge] if has_several_judges else []),
            *(row.get(system, "") for system in systems),
        ]
        for (part, judge), row in cells.items()
    ]
    names = [
        "criterion",
        *(["judge"] if has_several_judges else []),
        *(system or "mean" for system in systems),
    ]
    return ResultTable(f"\nMean of each criterion of {prefix}", names, rows)


def without_difference(summary: Mapping[str, Any], prefix: str) -> str:
    """Warn if all pairs, or all systems, have the same scores on every criterion; else empty."""
    judged = [
        [str(totals["parts"]) for totals in metric["systems"].values() if totals["parts"]]
        for name, metric in summary["metrics"].items()
        if name.startswith(prefix)
    ]
    told_apart = [parts for parts in judged if len(parts) < 2 or len(set(parts)) > 1]
    if summary.get("judge", {}).get("all_pairs_alike"):
        alike = "All pairs have the same scores"
    elif told_apart or not judged:
        return ""
    else:
        alike = "All systems have the same means"
    return (
        f"{alike} on every criterion: this judge may not tell good reports from bad ones. "
        "`histoeval judge check` tries that."
    )


def steadiness_tables(agreement: Mapping[str, Any]) -> Iterator[ResultTable]:
    for judge, criteria in agreement.get("repeats", {}).items():
        yield _agreement_table(f"Repeats of {judge}", criteria)
    for judge, criteria in agreement.get("order", {}).items():
        yield _agreement_table(f"Candidate first, {judge}", criteria, "mean_shift")
    if "between_judges" in agreement:
        yield _agreement_table("Between judges", agreement["between_judges"])


def _agreement_table(title: str, criteria: Mapping[str, Any], *more: str) -> ResultTable:
    rows = []
    for criterion, figures in criteria.items():
        alpha = figures["alpha"]
        estimate = Estimate(value=alpha["value"], low=alpha["low"], high=alpha["high"])
        rows.append(
            (
                criterion,
                alpha["reason"] if estimate.value is None else interval(estimate, 3, 3, " to "),
                *[number(figures[measure]) for measure in ("identical", "mean_spread", *more)],
                f"{figures['pairs']:,}",
            )
        )
    names = [measure.removeprefix("mean_") for measure in more]
    columns = ["criterion", "alpha (95 %)", "same", "spread", *names, "pairs"]
    return ResultTable(f"\n{title}", columns, rows)


def usage_table(usage: Mapping[str, Mapping[str, Any]]) -> ResultTable:
    counts = ("requests", "cached", "retries", "tokens_in", "tokens_out")
    columns = {
        judge: [
            *[f"{used[name]:,}" for name in counts],
            f"{used['seconds']:.1f}",
            _known(used["cost"], 4, used["currency"]),
        ]
        for judge, used in usage.items()
    }
    names = [*[name.replace("_", " ") for name in counts], "seconds", "cost"]
    return _by_judge("Cost of this run", names, columns)


def estimate_table(estimates: Sequence[RequestEstimate]) -> ResultTable:
    columns = {}
    for estimate in estimates:
        counts = (estimate.pairs, estimate.questions, estimate.cached, estimate.requests)
        about = "" if estimate.measured else "~"
        time = UNKNOWN
        if estimate.seconds is not None:
            is_short = estimate.seconds < 120
            time = f"{estimate.seconds:.0f} s" if is_short else f"{estimate.seconds / 60:.0f} min"
        columns[estimate.judge] = [
            *[f"{count:,}" for count in counts],
            *[f"{about}{count:,}" for count in (estimate.tokens_in, estimate.tokens_out)],
            time,
            _known(estimate.cost, 4, estimate.currency),
        ]
    names = ["pairs", "questions", "cached", "to ask", "tokens in", "tokens out", "time", "cost"]
    return _by_judge("Estimate; nothing was asked", names, columns)


def _by_judge(title: str, names: Sequence[str], cells: Mapping[str, Sequence[str]]) -> ResultTable:
    """Measures in rows and judges in columns, so that their long names are written once."""
    judges = short_names([*cells]) if len(cells) > 1 else [*cells]
    return ResultTable(f"\n{title}", ["", *judges], [*zip(names, *cells.values(), strict=True)])


def verdict_table(judge: str, verdicts: Sequence[CriterionVerdict]) -> ResultTable:
    return ResultTable.of(
        f"\n{judge}: what it may be used for",
        verdicts,
        {
            "criterion": lambda verdict: verdict.criterion,
            "verdict": lambda verdict: YES if verdict.may_be_used else NO,
            "answered": lambda verdict: f"{verdict.answered:.0%}",
            "in order": lambda verdict: f"{verdict.in_order:.0%}",
            "in range": lambda verdict: f"{verdict.in_range:.0%}",
            "obeyed": lambda verdict: str(verdict.obeyed),
        },
    )


def cache_table(cached: Sequence[CacheStats]) -> ResultTable:
    return ResultTable.of(
        "\nReplies kept",
        cached,
        {
            "judge": lambda entry: entry.judge,
            "prompt": lambda entry: entry.prompt.rpartition("-")[0] or entry.prompt,
            "replies": lambda entry: f"{entry.replies:,}",
            "tokens in": lambda entry: f"{entry.tokens_in:,}",
            "tokens out": lambda entry: f"{entry.tokens_out:,}",
        },
    )


# --- judges beside experts -----------------------------------------------------------------------


def alignment_tables(agreement: JudgeAgreement, gaps: int = 10) -> Iterator[ResultTable]:
    judge = agreement.judge
    yield ResultTable(
        "\nAgreement with experts (95 %; aligned: on unseen cases)",
        ["criterion", "metric", "scores", "pairs", "exact", "within one", "kappa", "MAE"],
        [
            [
                criterion.criterion,
                metric.metric,
                state,
                f"{criterion.pairs:,}",
                *[
                    interval(estimate, 2, 2, " to ")
                    for estimate in (fig.exact, fig.within_one, fig.kappa, fig.mae)
                ],
            ]
            for index, _ in enumerate(judge.criteria)
            for metric in agreement.metrics
            for criterion in metric.criteria[index : index + 1]
            for state, fig in (("as it is", criterion.before), ("aligned", criterion.after))
            if fig is not None
        ],
    )
    yield ResultTable.of(
        f"\nWhat brings {judge.metric} closer to the experts",
        judge.criteria,
        {
            "criterion": lambda criterion: criterion.criterion,
            "experts score higher by": lambda criterion: interval(criterion.offset, 2, 2, " to "),
            "mapping": lambda criterion: (
                _mapping(criterion.mapping) if not criterion.reason else "none"
            ),
            "chosen in folds": lambda criterion: ", ".join(
                f"{k} {n}" for k, n in criterion.chosen.items()
            ),
            "why none": lambda criterion: criterion.reason,
        },
    )
    for criterion in judge.criteria:
        levels, counts = criterion.confusion.levels, criterion.confusion.counts
        yield ResultTable(
            f"\n{criterion.criterion}: {judge.metric} (rows) and experts (columns)",
            ["", *[f"expert {level}" for level in levels]],
            [[f"judge {n}", *map(str, row)] for n, row in zip(levels, counts, strict=True)],
        )
    if judge.gaps and gaps:
        yield ResultTable.of(
            f"\nWhere {judge.metric} and the experts differ most ({len(judge.gaps):,} in all)",
            judge.gaps[:gaps],
            {
                "id": lambda gap: visible(gap.id),
                "system": lambda gap: visible(gap.system),
                "criterion": lambda gap: gap.criterion,
                "judge": lambda gap: f"{gap.judge:g}",
                "experts": lambda gap: f"{gap.expert:g}",
                "aligned": lambda gap: f"{gap.aligned:.2f}",
                "reason": lambda gap: visible(shorten(gap.reason, REASON, placeholder="…")),
            },
        )
    if any(metric.usage for metric in agreement.metrics):
        yield ResultTable.of(
            "\nCost",
            [usage for metric in agreement.metrics for usage in metric.usage.items()],
            {
                "metric": lambda usage: usage[0],
                "requests": lambda usage: f"{usage[1].get('requests', 0):,}",
                "cached": lambda usage: f"{usage[1]['cached']:,}" if "cached" in usage[1] else "",
                "seconds": lambda usage: _known(usage[1].get("seconds"), 1),
                "cost": lambda usage: _known(usage[1].get("cost"), 4, usage[1].get("currency")),
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


def _known(amount: float | None, digits: int, unit: str | None = None) -> str:
    return UNKNOWN if amount is None else f"{amount:.{digits}f} {unit or ''}".strip()
