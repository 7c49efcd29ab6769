"""The page of a `score` or `judge` run, from the files in its folder, and one pair of it.

Nothing inside it can end the element that it stands in: JSON has no `<`, and packs are base64.
"""

import gzip
import json
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from pydantic_core import from_json

from histoeval.agreement.systems import Contest, contest
from histoeval.concordance.evidence import Severity
from histoeval.console import visible
from histoeval.facts.sampled import heading_sites
from histoeval.io.finished_run import beside, has_texts, read_finished_lines
from histoeval.io.results import scores_file
from histoeval.io.store import read_json
from histoeval.statistics.resampling import RESAMPLES, Estimate, Numbers, Positions, mean_estimates
from histoeval.table import html_table
from histoeval.terms.sites import find_sites, organ_of, sites
from histoeval.view.findings import SIDES, Findings, findings_in, mention_spans, spans_of
from histoeval.view.highlight import html, one_line
from histoeval.view.html.page import Website, fragment, render
from histoeval.view.terminal import judge as judge_tables
from histoeval.view.terminal.comparison import comparison_tables

# the worst first
SEVERITIES = tuple(severity.name.lower() for severity in sorted(Severity, reverse=True))
PREFERRED = "concordance"  # where several metrics list errors, this one's are shown

# characters of a reference in which its organ is looked for, if its heading names none
_OPENING = 400
MAX_COMPARED = 12  # systems that are compared with each other on the page, the first ones
BINS = 20


def error_metric(summary: Mapping[str, Any]) -> str | None:
    listing = [
        name
        for name, metric in summary["metrics"].items()
        if any("report_errors" in totals for totals in metric["systems"].values())
    ]
    return PREFERRED if PREFERRED in listing else next(iter(listing), None)


@lru_cache(maxsize=1 << 14)
def organ(reference: str | None) -> str:
    """Return the organ that a reference begins with; empty if it names none."""
    if not reference:
        return ""
    places = heading_sites(reference) or find_sites(reference[:_OPENING])
    return sites()[organ_of(places[0].id)].name if places else ""


def numbered() -> dict[str, int]:
    """Return a mapping that numbers names in the order of their first appearance."""
    names: defaultdict[str, int] = defaultdict()
    names.default_factory = names.__len__
    return names


@dataclass
class ScoredPairs:
    """One entry of every column for each pair, in the order of the run."""

    metrics: Sequence[str]
    judged_by: str | None  # the metric whose errors are counted
    ids: list[str] = field(default_factory=list)
    systems: dict[str, int] = field(default_factory=numbered)
    system: list[int] = field(default_factory=list)
    organs: dict[str, int] = field(default_factory=numbered)
    organ: list[int] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=numbered)
    kind: list[list[int]] = field(default_factory=list)
    # how many errors of each severity, the worst first
    severity: list[list[int]] = field(default_factory=list)
    values: dict[str, list[float | None]] = field(default_factory=dict)
    # why scores are missing, by the codes of the problems
    missing: list[str] = field(default_factory=list)

    def add(self, row: Mapping[str, Any], reference: str | None) -> None:
        self.ids.append(row["id"])
        self.system.append(self.systems[row["system"] or ""])
        self.organ.append(self.organs[organ(reference)])
        scores = row["scores"]
        for name in self.metrics:
            value = scores[name]["value"] if name in scores else None
            self.values.setdefault(name, []).append(value)
        evidence = scores.get(self.judged_by or "", {}).get("evidence", {})
        errors = [error for error in evidence.get("errors", ()) if isinstance(error, Mapping)]
        self.kind.append(sorted({self.kinds[error["kind"]] for error in errors}))
        counts = [0] * len(SEVERITIES)
        for error in errors:
            counts[-error["severity"]] += 1
        self.severity.append(counts)
        self.missing.append(", ".join(dict.fromkeys(error["code"] for error in row["errors"])))

    def __len__(self) -> int:
        return len(self.ids)

    def of_system(self, name: str) -> Positions:
        return np.flatnonzero(np.asarray(self.system) == self.systems[name])

    def column(self, metric: str) -> Numbers:
        return np.asarray(self.values.get(metric, []), dtype=np.float64)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the columns of each pair beside its scores, as flat records."""
        organs, kinds = list(self.organs), list(self.kinds)
        for row in range(len(self)):
            counts = dict(zip(SEVERITIES, self.severity[row], strict=True))
            named = ", ".join(kinds[kind] for kind in self.kind[row])
            judged = {**counts, "kinds": named or None} if self.judged_by else {}
            yield {"organ": organs[self.organ[row]] or None, **judged}

    def content(self, digits: Mapping[str, int]) -> dict[str, Any]:
        """Return the columns for the page; names cannot steer the terminal or page."""
        return {
            "ids": [visible(name) for name in self.ids],
            "systems": [visible(name) for name in self.systems],
            "system": self.system,
            "organs": list(self.organs),
            "organ": self.organ,
            "kinds": [visible(name) for name in self.kinds],
            "kind": self.kind,
            "severities": SEVERITIES,
            "severity": self.severity,
            "metrics": list(self.metrics),
            "values": [
                [None if v is None else float(f"{v:.4g}") for v in self.values.get(name, [])]
                for name in self.metrics
            ],
            "digits": [digits[name] for name in self.metrics],
            "missing": self.missing,
        }


def digits_of(summary: Mapping[str, Any]) -> dict[str, int]:
    return {name: decimals(about["range"][1]) for name, about in summary["metrics"].items()}


def decimals(most: float | None) -> int:
    return 1 if most is not None and most > 10 else 3


class Headline(NamedTuple):
    system: str
    scored: int
    critical: int  # pairs with a critical error
    severities: Mapping[str, int]
    kinds: Mapping[str, int]

    def per_hundred(self, *severities: str) -> float:
        errors = sum(self.severities[name] for name in severities or SEVERITIES)
        return 100 * errors / self.scored if self.scored else 0.0


class SystemMean(NamedTuple):
    system: str
    mean: Estimate
    scored: int
    pairs: int
    bins: Sequence[int]
    quartiles: Sequence[float]


class MetricOverview(NamedTuple):
    name: str
    low: float
    high: float
    higher_is_better: bool
    systems: Sequence[SystemMean]

    @property
    def most(self) -> int:
        return max((max(system.bins, default=0) for system in self.systems), default=0)


def headlines(columns: ScoredPairs, summary: Mapping[str, Any]) -> list[Headline]:
    if columns.judged_by is None:
        return []
    systems = summary["metrics"][columns.judged_by]["systems"]
    lines = []
    for system in best_first(columns, summary):
        totals = systems.get(system, {})
        if (errors := totals.get("report_errors")) is not None:
            rows = columns.of_system(system)
            critical = sum(1 for row in rows if columns.severity[row][0])
            counts = {name: errors["by_severity"][name] for name in SEVERITIES}
            lines.append(Headline(system, totals["scored"], critical, counts, errors["by_kind"]))
    return lines


def best_first(columns: ScoredPairs, summary: Mapping[str, Any]) -> list[str]:
    metric = main_metric(columns)
    if metric is None:
        return list(columns.systems)
    sign = 1.0 if summary["metrics"][metric]["higher_is_better"] else -1.0

    def rank(system: str) -> float:
        values = columns.column(metric)[columns.of_system(system)]
        scores = values[~np.isnan(values)]
        return -sign * float(scores.mean()) if len(scores) else np.inf

    return sorted(columns.systems, key=rank)


def metric_overviews(columns: ScoredPairs, summary: Mapping[str, Any]) -> list[MetricOverview]:
    systems = [name for name in best_first(columns, summary) if name]
    ids = np.asarray(columns.ids)
    rows = {name: (own := columns.of_system(name))[ids[own].argsort()] for name in systems}
    values = {name: columns.column(name) for name in summary["metrics"]}
    means = _means(values, rows, ids)
    overviews = []
    for name, about in summary["metrics"].items():
        column, (low, high) = values[name], about["range"]  # the axis: the range, or the values'
        numbers = column[~np.isnan(column)]
        low = float(numbers.min(initial=0.0)) if low is None else low
        high = float(numbers.max(initial=low + 1.0)) if high is None else high
        high = high if high > low else low + 1.0
        shown = []
        for system in systems:
            scores = column[rows[system]]
            finite = scores[~np.isnan(scores)]
            bins, _ = np.histogram(finite, BINS, (low, high))
            spread = np.quantile(finite, (0.25, 0.5, 0.75)).tolist() if len(finite) else ()
            mean = means[name, system]
            shown.append(SystemMean(system, mean, len(finite), len(scores), bins.tolist(), spread))
        overviews.append(MetricOverview(name, low, high, about["higher_is_better"], shown))
    return overviews


def _means(
    values: Mapping[str, Numbers], rows: Mapping[str, Positions], ids: np.ndarray[Any, Any]
) -> dict[tuple[str, str], Estimate]:
    """Return the mean of every metric and system; those alike in cases share their resamples."""
    alike: dict[bytes, list[tuple[tuple[str, str], Positions, Numbers]]] = {}
    for metric, column in values.items():
        for system, own in rows.items():
            scored = own[~np.isnan(column[own])]
            _, case = np.unique(ids[scored], return_inverse=True)
            alike.setdefault(case.tobytes(), []).append(((metric, system), case, column[scored]))
    estimates: dict[tuple[str, str], Estimate] = {}
    for group in alike.values():
        keys = [key for key, _, _ in group]
        case, table = group[0][1], np.stack([scored for _, _, scored in group], axis=1)
        nothing = [None] * len(keys)
        means = mean_estimates(table, case, nothing) if len(case) else [Estimate()] * len(keys)
        estimates |= zip(keys, means, strict=True)
    return estimates


def main_metric(columns: ScoredPairs) -> str | None:
    scored = [
        name for name in columns.metrics if any(v is not None for v in columns.values.get(name, ()))
    ]
    return PREFERRED if PREFERRED in scored else next(iter(scored), None)


def compared(columns: ScoredPairs, summary: Mapping[str, Any]) -> tuple[str, Contest] | None:
    """Compare systems on the pairs that all of them have; None if there is nothing to compare."""
    metric = main_metric(columns)
    systems = [name for name in columns.systems if name][:MAX_COMPARED]
    if metric is None or len(systems) < 2:
        return None
    sign = 1.0 if summary["metrics"][metric]["higher_is_better"] else -1.0
    values = columns.column(metric)
    scores: dict[str, dict[str, float]] = {}
    for system in systems:
        rows = columns.of_system(system)
        scores[system] = {columns.ids[r]: sign * values[r] for r in rows if not np.isnan(values[r])}
    shared = [
        name
        for name in scores[systems[0]]
        if all(name in values_by_pair for values_by_pair in scores.values())
    ]
    if not shared:
        return None
    table = {
        system: np.array([values_by_pair[name] for name in shared])
        for system, values_by_pair in scores.items()
    }
    return metric, contest(table, shared)


# of a text that is shown; more would make a page slow, and is in texts.jsonl
MAX_CHARACTERS = 40_000
Texts = Mapping[str, str | None]


def pair_html(
    row: Mapping[str, Any],
    texts: Texts | None,
    marked_by: str | None,
    digits: Mapping[str, int] | None = None,
) -> str:
    """Render a row of scores.jsonl as a part of a page, with the findings of one metric marked."""
    return fragment("scores/pair.html", **pair_content(row, texts, marked_by, digits))


def pair_content(
    row: Mapping[str, Any],
    texts: Texts | None,
    marked_by: str | None,
    digits: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    scores = row["scores"]
    evidence = scores.get(marked_by or "", {}).get("evidence", {})
    typed = findings_in(evidence)
    findings = typed or Findings()
    errors = evidence.get("errors")
    return {
        "scores": [
            (
                name,
                f"{result['value']:.{(digits or {}).get(name, 3)}f}",
                # many rows, and nearly the same for every pair
                Markup("".join(_part(n, f"{v:.2f}") for n, v in result.get("parts", {}).items())),
            )
            for name, result in sorted(scores.items(), key=lambda item: item[0] != marked_by)
        ],
        "problems": [problem["message"] for problem in row["errors"]],
        "texts": None if texts is None else _texts(texts, findings, scores, marked_by),
        "marked_by": marked_by,
        "errors": findings.errors,
        # the errors of a metric of somebody else, which may say nothing but a sentence
        "messages": [
            one_line(str(error["message"]))
            for error in (errors if not typed and isinstance(errors, list | tuple) else ())
            if isinstance(error, Mapping) and "message" in error
        ],
        "matches": findings.facts,
        "specimens": findings.specimens,
        "reasons": [
            reason
            for name, result in scores.items()
            for reason in judge_reasons(name, result.get("evidence", {}))
        ],
    }


@lru_cache(maxsize=1 << 14)
def _part(name: str, value: str) -> Markup:
    row = Markup('<tr><td>{}</td><td class="n">{}</td></tr>')
    return row.format(name.replace("_", " "), value)


def _texts(
    texts: Texts, findings: Findings, scores: Mapping[str, Any], marked_by: str | None
) -> list[tuple[str, Markup | None, int]]:
    """Mark both texts with the findings of the metric, or of HARE; use the best reference."""
    mentions = None
    if findings.errors is None and findings.matches is None:
        mentions = mention_spans(scores.get(marked_by or "hare", {}).get("evidence", {}))
    key = label = "reference"
    if (count := sum(name.startswith("reference") for name in texts)) > 1:
        evidence = scores.get(marked_by or "", {}).get("evidence", {})
        best = evidence.get("references", {}).get("best", 1)
        key = "reference" if best == 1 else f"reference_{best}"
        label = f"reference {best} of {count}"
    shown: list[tuple[str, Markup | None, int]] = []
    for side, name, text in zip(
        SIDES, (label, "candidate"), (texts.get(key), texts.get("candidate")), strict=True
    ):
        if text is None:
            shown.append((side, None, 0))
            continue
        spans = spans_of(findings, side, text) if mentions is None else mentions[side]
        part = text[:MAX_CHARACTERS]
        shown.append((name, html(part, spans), len(text) - len(part)))
    return shown


def judge_reasons(name: str, evidence: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the reasons of the rubric or of each judge, with model, repeat and order."""
    answers = evidence.get("answers", ())
    if not answers and isinstance(evidence.get("reasoning"), str) and evidence["reasoning"]:
        yield name, evidence["reasoning"]
    for answer in answers:
        if isinstance(answer, Mapping) and answer.get("reasoning"):
            model = str(answer.get("judge", name)).rpartition("@")[0] or name
            again = f", repeat {answer['repeat'] + 1}" if answer.get("repeat") else ""
            is_swapped = answer.get("order", "usual") != "usual"
            order = ", with the reports swapped" if is_swapped else ""
            yield f"{name} ({model}{again}{order})", str(answer["reasoning"])


PACKED = 40  # fragments in one pack: few enough to be unpacked at once, enough to be small together

# all packs of a page together; what comes later is left out, and the page says so
MAX_BYTES = 21_000_000
_STEERING = "<>&\u2028\u2029"  # what could end an element, or a line of a script
SCRIPTS = ("vendor/tabulator.min.js", "marks.js", "pairs.js")

STYLES = ("vendor/tabulator.min.css", "scores.css")


def embedded_json(content: Any) -> str:
    """JSON for a `<script type="application/json">`."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in _STEERING:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def packed(fragments: Iterable[str]) -> tuple[list[str], int]:
    """Packs of fragments of HTML, and how many fragments there was room for: the first ones."""
    packs: list[str] = []
    shown, room = 0, MAX_BYTES
    rest = iter(fragments)
    while batch := list(islice(rest, PACKED)):
        if room > 0:
            content = json.dumps(batch, ensure_ascii=False).encode("utf-8", "backslashreplace")
            packs.append(b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii"))
            room -= len(packs[-1])
            shown += len(batch)
    return packs, shown


def score_rows(folder: Path) -> Iterator[dict[str, Any]]:
    def read(line: bytes) -> dict[str, Any]:
        row = from_json(line)
        if not isinstance(row, dict) or not {"id", "system", "scores", "errors"} <= row.keys():
            raise ValueError("not a row of scores")
        return row

    return read_finished_lines(scores_file(folder), read)


def read_columns(folder: Path, summary: Mapping[str, Any]) -> ScoredPairs:
    columns = ScoredPairs(list(summary["metrics"]), error_metric(summary))
    for row, texts in beside(score_rows(folder), folder):
        columns.add(row, None if texts is None else texts.get("reference"))
    return columns


def score_page(folder: Path, site: Website | None = None) -> str:
    """Render the page of a finished run for a site, or as a self-contained file."""
    summary = read_json(folder / "summary.json", folder)
    judged_by = error_metric(summary)
    marked_by = judged_by or ("hare" if "hare" in summary["metrics"] else None)
    columns, digits = ScoredPairs(list(summary["metrics"]), judged_by), digits_of(summary)

    def pairs() -> Iterator[str]:
        for row, texts in beside(score_rows(folder), folder):
            columns.add(row, None if texts is None else texts.get("reference"))
            yield pair_html(row, texts, marked_by, digits)

    packs, shown = packed(pairs())
    system_headlines, contest = headlines(columns, summary), compared(columns, summary)
    judging, warning = _judging(folder, summary), ""
    if judging:
        warning = judge_tables.without_difference(summary, judge_name(summary))
    kinds: Counter[str] = Counter()
    for headline in system_headlines:
        kinds.update(headline.kinds)
    metrics, main = metric_overviews(columns, summary), main_metric(columns)
    return render(
        "scores/page.html",
        site=site,
        scripts=SCRIPTS,
        styles=STYLES,
        title=f"Scores: {summary['input']['name']}",
        summary=summary,
        pairs=len(columns),
        systems=[name for name in columns.systems if name],
        headlines=system_headlines,
        longest=max((headline.per_hundred() for headline in system_headlines), default=0.0) or 1.0,
        severities=SEVERITIES,
        kinds=sorted(kinds, key=lambda kind: (-kinds[kind], kind)),
        judged_by=judged_by,
        marked_by=marked_by,
        metrics=metrics,
        main=next((overview for overview in metrics if overview.name == main), None),
        critical={headline.system: headline for headline in system_headlines},
        decimals=decimals,
        bins=BINS,
        draws=RESAMPLES,
        comparison=[*map(html_table, comparison_tables(*contest, ()))] if contest else [],
        judging=judging,
        judging_warning=warning,
        organs=sorted(name for name in columns.organs if name),
        has_texts=has_texts(folder),
        shown=shown,
        data=Markup(embedded_json({**columns.content(digits), "packed": PACKED, "shown": shown})),
        packs=map(Markup, packs),
    )


def judge_name(summary: Mapping[str, Any]) -> str:
    return f"judge_{summary['judge']['prompt']['name']}"


def _judging(folder: Path, summary: Mapping[str, Any]) -> list[str]:
    if summary.get("judge") is None:
        return []
    usage = folder / "usage.json"
    tables = [judge_tables.criteria_table(summary, judge_name(summary))]
    tables += judge_tables.steadiness_tables(summary["judge"])
    tables += [judge_tables.usage_table(read_json(usage, folder))] if usage.is_file() else []
    return [html_table(table._replace(title=table.title.strip())) for table in tables]
