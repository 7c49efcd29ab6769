"""Tables of corpora, trainings and evaluated models in the terminal."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from histoeval.errors import Problem
from histoeval.report import HARE_RELATION_TYPES, RELATION_TYPES, Assertion, EntityType
from histoeval.resources import load_toml
from histoeval.table import NONE, ResultTable
from histoeval.view.terminal.scores import problem_table
from histoeval_research.evaluate.corpus import HARE_NAMES, AnnotatorAgreement, Counts, Statistics
from histoeval_research.evaluate.matches import PAIRS
from histoeval_research.evaluate.nli import COLUMNS as NLI_COLUMNS
from histoeval_research.evaluate.nli import nli_rows
from histoeval_research.evaluate.reader import ALL, Evaluation, Figure, ReaderMeasure
from histoeval_research.train.cards import (
    OPPOSITE_COLUMNS,
    RETRIEVAL_COLUMNS,
    STEP_COLUMNS,
    opposite_rows,
    remarks_on,
    retrieval_rows,
    score_rows,
    step_rows,
)
from histoeval_research.train.hare_bench.select import COLUMNS, REMARK, failures, selection_rows


def aligner_tables(scores: Mapping[str, Any]) -> Iterator[RenderableType]:
    title = f"Concepts found by unseen names, among {scores['concepts']:,}"
    yield ResultTable(title, RETRIEVAL_COLUMNS, [*retrieval_rows(scores)])
    if scores["opposites"]:
        rows = [*opposite_rows(scores)]
        yield ResultTable("Opposites distinguished", OPPOSITE_COLUMNS, rows)


def nli_tables(scores: Mapping[str, Any]) -> Iterator[RenderableType]:
    for name, found in scores.items():
        yield ResultTable(name, NLI_COLUMNS, nli_rows(found))
        calibration = found["calibration"]
        yield Text(
            f"confidence {calibration['confidence']:.3f}, "
            f"accuracy {calibration['accuracy']:.3f}, "
            f"calibration error {calibration['error']:.3f}\n"
        )


def training_table(results: Mapping[str, Any]) -> RenderableType:
    columns = ["", "gold", "found", "precision", "recall", "F1"]
    table = ResultTable(_trained_on(results), columns, [*score_rows(results)])
    return _with_remarks(table, remarks_on(results))


def selection_table(results: Mapping[str, Any]) -> RenderableType:
    """Table 4 of the HARE paper: the best number of each column in bold."""
    title = "Model selection"
    if len(results["seeds"]) > 1:
        title += f": mean ± standard deviation over {len(results['seeds'])} seeds"
    rows = selection_rows(results, lambda text: Text(text, style="bold"))
    table = ResultTable(title, ["encoder", "parameters", *COLUMNS], rows)
    return _with_remarks(table, [REMARK, *failures(results)])


def reader_table(results: Mapping[str, Any]) -> RenderableType:
    """The scores after each step of a reader's training, and the gain from calibration."""
    title = f"{_trained_on(results)}, F1"
    table = ResultTable(title, ["reader", *STEP_COLUMNS], step_rows(results))
    lines = [
        f"calibration error of {measure.replace('_', ' ')}: "
        f"{error['before']:.3f}, calibrated {error['after']:.3f}"
        for measure, error in results["calibration"].items()
    ]
    return _with_remarks(table, [*lines, *remarks_on(results)])


def _trained_on(results: Mapping[str, Any]) -> str:
    request = results["request"]
    return f"{request['encoder']['name']} on {request['data']['dev']['name']}"


def _with_remarks(table: ResultTable, remarks: Iterable[str]) -> RenderableType:
    return Group(table, *map(Text, remarks))


RATES = ("", "F1", "95 %", "P", "R")


def evaluation_tables(evaluation: Evaluation) -> Iterator[RenderableType]:
    """The headline scores, then types, relations, assertions and calibration."""
    layout = load_toml("histoeval_research/view/data/reader_tables.toml")
    figures, missing = evaluation.figures, evaluation.missing
    headlines = [(name, ReaderMeasure(m), kind) for name, (m, kind) in layout["headlines"].items()]
    rows = [
        [name, *_cells(figures.get(measure, {}).get(kind))] for name, measure, kind in headlines
    ]
    remarks = [
        f"{name}: {NONE}, since {missing[measure]}"
        for name, measure, kind in headlines
        if kind == ALL and measure in missing
    ]
    remarks.append("P: precision, R: recall. F1 of all assertions together is their accuracy.")
    if evaluation.resamples and evaluation.reports > 1:
        drawn = f"{evaluation.resamples:,} resamples of reports, seed {evaluation.seed}"
        remarks.append(f"95 %: over {drawn}.")
    title = f"{evaluation.passages:,} passages of {evaluation.reports:,} reports"
    yield _with_remarks(ResultTable(title, [*RATES, "gold", "found"], rows), remarks)
    for title, kinds in (("Entities", EntityType), ("Relations", PAIRS), ("Assertion", Assertion)):
        names = {ReaderMeasure(measure): name for measure, name in layout[title].items()}
        if known := [measure for measure in names if measure in figures]:
            first, *others = known
            rows = [
                [
                    kind,
                    *_cells(figures[first].get(kind))[:-1],
                    *(_f1(figures[other].get(kind)) for other in others),
                ]
                for kind in (*kinds, ALL)
                if any(kind in figures[measure] for measure in known)
            ]
            columns = [*RATES, "gold", *(names[other] for other in others)]
            yield ResultTable(f"{title}, {names[first]}", columns, rows)
    if evaluation.calibration:
        rows = [
            [layout["calibrated"][measure], f"{c.count:,}"]
            + [f"{x:.3f}" for x in (c.confidence, c.accuracy, c.error, c.adaptive_error)]
            for measure, c in evaluation.calibration.items()
        ]
        columns = ["", "count", "confidence", "accuracy", "ECE", "adaptive ECE"]
        yield ResultTable("Calibration", columns, rows)
    for measure, calibration in evaluation.calibration.items():
        yield ResultTable.of(
            f"Reliability: {layout['calibrated'][measure]}",
            calibration.bins,
            {
                "": lambda step: f"{step.low:.2f}-{step.high:.2f}",
                "count": lambda step: f"{step.count:,}",
                "confidence": lambda step: f"{step.confidence:.3f}",
                "accuracy": lambda step: f"{step.accuracy:.3f}",
                "difference": lambda step: f"{step.accuracy - step.confidence:+.3f}",
            },
        )


def source_table(sources: Mapping[str, Evaluation]) -> RenderableType:
    rows = []
    for source, evaluation in sources.items():
        exact, *others = (
            evaluation.figures.get(measure, {}).get(ALL)
            for measure in (
                ReaderMeasure.EXACT,
                ReaderMeasure.RELATIONS,
                ReaderMeasure.ASSERTION_ON_FOUND,
            )
        )
        rows.append(
            [source, f"{evaluation.passages:,}", *_cells(exact)[:2], *(_f1(f) for f in others)]
        )
    columns = ["", "passages", "exact F1", "95 %", "relations", "assertion"]
    return ResultTable("Sources", columns, rows)


def _cells(figure: Figure | None) -> list[str]:
    if figure is None:
        return [NONE] + [""] * 5
    low, high = figure.f1.low, figure.f1.high
    within = "" if low is None or high is None else f"{low:.3f}-{high:.3f}"
    rates = [f"{rate.value:.3f}" for rate in (figure.precision, figure.recall)]
    return [_f1(figure), within, *rates, *_counts(figure.gold, figure.found)]


def _f1(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure.f1.value:.3f}"


MAX_SOURCE_COLUMNS = 4  # more sources do not fit beside the total


def statistics_tables(statistics: Statistics, unit: str) -> Iterator[RenderableType]:
    """Tables 1 and 3 of the HARE paper for a corpus."""
    whole = statistics.total
    columns = {"all": whole}
    if 1 < len(statistics.sources) <= MAX_SOURCE_COLUMNS:
        columns |= statistics.sources
    rows = [*_annotation_rows(list(columns.values()))]
    yield ResultTable("Annotation", ["", *columns], rows)
    samples = [
        ["NER", *_counts(whole.passages, whole.tokens)],
        ["relations", *_counts(whole.relations.total(), whole.relation_tokens)],
        ["pairs without one", *_counts(whole.candidates, whole.candidate_tokens)],
    ]
    yield ResultTable("Samples", ["", "samples", unit], samples)
    sources = [
        [name, *_counts(c.passages, len(c.reports), c.tokens, c.entities.total())]
        for name, c in (*statistics.sources.items(), ("all", whole))
    ]
    yield ResultTable("Sources", ["", "passages", "reports", unit, "entities"], sources)


def _annotation_rows(columns: Sequence[Counts]) -> Iterator[list[str]]:
    """Table 1: HARE's types, then ours, then assertions and relations."""
    for name in HARE_NAMES:
        yield [name, *_counts(*[counts.hare_entities[name] for counts in columns])]
    paired = [sum(counts.relations[pair] for pair in HARE_RELATION_TYPES) for counts in columns]
    yield ["Relations (of HARE)", *_counts(*paired)]
    for kind in EntityType:
        yield [kind, *_counts(*[counts.entities[kind] for counts in columns])]
        for assertion in (Assertion.ABSENT, Assertion.UNCERTAIN):
            found = [counts.assertions[kind, assertion] for counts in columns]
            if any(found):
                yield [f"  {assertion}", *_counts(*found)]
    yield ["all entities", *_counts(*[counts.entities.total() for counts in columns])]
    for pair in sorted(RELATION_TYPES):
        yield ["-".join(pair), *_counts(*[counts.relations[pair] for counts in columns])]
    yield ["all relations", *_counts(*[counts.relations.total() for counts in columns])]


def _counts(*numbers: int) -> list[str]:
    return [f"{number:,}" for number in numbers]


def agreement_table(agreed: AnnotatorAgreement, names: tuple[str, str]) -> RenderableType:
    counted = {
        **agreed.exact,
        "all types": agreed.all_exact,
        "HARE's five": agreed.hare_exact,
        "all types, overlapping": agreed.overlap,
        "relations of agreed entities": agreed.relations_between_agreed,
        "relations, end to end": agreed.relations,
    }
    rows = [
        [name, *_counts(matches.one, matches.other), f"{matches.f1:.3f}"]
        for name, matches in counted.items()
        if matches.one or matches.other
    ]
    if agreed.assertion is not None:
        rows.append(["same assertion", *_counts(agreed.asserted) * 2, f"{agreed.assertion:.3f}"])
    return ResultTable("Agreement", ["", *names, "F1"], rows)


def left_out(agreed: AnnotatorAgreement, names: tuple[str, str]) -> Iterator[str]:
    reasons = {
        f"only in {names[0]}": agreed.only_one,
        f"only in {names[1]}": agreed.only_other,
        "with another text": agreed.other_text,
    }
    for reason, ids in reasons.items():
        if ids:
            yield f"{len(ids):,} passages {reason} and not compared, for example {ids[0]}"


def refusal_table(problems: Sequence[Problem]) -> RenderableType:
    count = Counter(problem.code for problem in problems)
    examples = {problem.code: problem.message for problem in reversed(problems)}
    errors = {code: {"count": count[code], "example": examples[code]} for code in count}
    return problem_table({"errors": errors}) or Text("")
