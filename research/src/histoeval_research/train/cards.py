"""Cards of models, in Markdown: a template each, the fields that all cards share, and its own."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from string import Template
from typing import Any

from histoeval.concordance.weights import SAFETY, UNENTAILED, Combination, Combinations
from histoeval.nli.builtin import hypothesis_tokens
from histoeval.reader.reader import Reader
from histoeval.resources import resource_text
from histoeval.table import markdown_table
from histoeval.view.terminal.evaluation import COLUMNS as GROUNDING_COLUMNS
from histoeval.view.terminal.evaluation import figure_rows, sets_of
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.nli import COLUMNS as NLI_COLUMNS
from histoeval_research.evaluate.nli import nli_rows
from histoeval_research.evaluate.reader import ALL, Evaluation, ReaderMeasure, evaluate_reader


def card(
    results: Mapping[str, Any], template: str, *, hidden: Collection[str] = (), **own: object
) -> str:
    """The card, from what is in `results.json`; `hidden` settings are no part of the recipe."""
    request, settings = results["request"], results["request"]["settings"]
    notes = settings["notes"].strip()
    recipe = [[n, v] for n, v in flat_settings(settings) if n not in {"notes", "name", *hidden}]
    weights = results.get("weights", {})
    shared = {
        "name": settings.get("name", ""),
        "version": results.get("versions", {}).get("histoeval", ""),
        "parameters": f"{results.get('parameters', 0) / 1e6:.1f} M",
        "encoder": request.get("encoder", {}).get("name", ""),
        "data": _data(results),
        "notes": f"\n{notes}\n" if notes else "",
        "recipe": markdown_table(["setting", "value"], recipe),
        "weights": markdown_table(["file", "sha256"], [[f, f"`{h}`"] for f, h in weights.items()]),
        "remarks": "".join(f"{remark}\n\n" for remark in remarks_on(results)),
        "versions": ", ".join(f"{n} {v}" for n, v in results.get("versions", {}).items()),
    }
    return Template(resource_text(f"histoeval_research/train/{template}/card.md")).substitute(
        shared | own
    )


def _data(results: Mapping[str, Any]) -> str:
    """The files of a request: with the number of samples where they are parts of a corpus."""
    request, samples = results["request"], results.get("samples", {})
    files = request.get("data", {})
    if set(files) <= set(samples):
        return markdown_table(
            ["part", "file", "samples", "sha256"],
            [
                [part, f["name"], f"{samples[part]:,}", f"`{f['sha256']}`"]
                for part, f in files.items()
            ],
        )
    rows = [[file["name"], f"`{file['sha256']}`"] for file in files.values()]
    return markdown_table(["file", "sha256"], [*rows, ["our own lists", f"`{request['lists']}`"]])


def score_rows(results: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """The rows of the table of scores: types first, all of them last."""
    scores = results["scores"]
    yield from scores["types"].items()
    if results["request"]["task"] == "ner":
        yield "all types", scores["entities"]
        yield "all types, overlapping", scores["overlapping"]
    else:
        yield "all pairs", scores["all"]
        yield "sampled pairs", scores["sampled"]


def numbers_of(scores: Mapping[str, float]) -> list[str]:
    """A row of scores, human-readable."""
    return [f"{scores[name]:,}" for name in ("gold", "found")] + [
        f"{scores[name]:.3f}" for name in ("precision", "recall", "f1")
    ]


def interval(estimate: Mapping[str, float | None]) -> str:
    """A score with the interval that it has."""
    if estimate["low"] is None or estimate["high"] is None:
        return f"{estimate['value']:.3f}"
    return f"{estimate['value']:.3f} ({estimate['low']:.3f} to {estimate['high']:.3f})"


def remarks_on(results: Mapping[str, Any]) -> Iterator[str]:
    """What must be known to read the scores."""
    if results["request"].get("task") == "relations":
        ratio = results["request"]["settings"]["test_negatives"]
        yield (
            "Entities are given. Sampled pairs are all related ones and "
            f"{ratio:g} unrelated ones for each; counted over both labels, as the HARE paper "
            f"counts, their F1 is {results['scores']['sampled_micro']:.3f}."
        )
    if shared := results.get("shared_reports"):
        yield (
            f"{shared:,} reports have passages in both parts of the data: "
            "the scores are better than the model is."
        )


def flat_settings(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Nested settings, each by its whole name."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat_settings(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", str(value)


STEP_COLUMNS: Mapping[str, tuple[ReaderMeasure, str]] = {
    "exact": (ReaderMeasure.EXACT, ALL),
    "HARE five": (ReaderMeasure.HARE, ALL),
    "overlap": (ReaderMeasure.OVERLAP, ALL),
    "relations on gold": (ReaderMeasure.RELATIONS_ON_GOLD, ALL),
    "relations end to end": (ReaderMeasure.RELATIONS, ALL),
    "assertion": (ReaderMeasure.ASSERTION_ON_FOUND, ALL),
    "absent": (ReaderMeasure.ASSERTION_ON_FOUND, "absent"),
}
"""The scores of the table by their headings: F1, and of assertion the accuracy."""

NONE = "none"

Scores = dict[str, dict[str, float | None] | None]
"""F1 with its interval by heading; None where there is nothing to count."""


def scores_of_reader(reader: Reader, passages: Sequence[AnnotatedPassage]) -> Scores:
    """The scores of a reader."""
    return scores_of_evaluation(evaluate_reader(reader, passages))


def scores_of_evaluation(evaluation: Evaluation) -> Scores:
    """The scores of the table, from all that there are."""
    found: Scores = {}
    for heading, (measure, kind) in STEP_COLUMNS.items():
        figure = evaluation.figures.get(measure, {}).get(kind)
        found[heading] = None if figure is None else figure.f1.model_dump()
    return found


def step_rows(results: Mapping[str, Any]) -> list[list[str]]:
    """The rows of the table: each reader, in the order they were made."""
    return [
        [name, *(_number(scores[heading]) for heading in STEP_COLUMNS)]
        for name, scores in results["steps"].items()
    ]


def _number(estimate: Mapping[str, float | None] | None) -> str:
    return NONE if estimate is None else f"{estimate['value']:.3f}"


def reader_card(results: Mapping[str, Any]) -> str:
    """The card, from what is in `results.json`."""
    request, scores = results["request"], results["scores"]
    return card(
        results,
        "reader",
        hidden=("labels",),
        teacher=_reader_teacher(request),
        data=_reader_data(results),
        unlabelled=_unlabelled(results["unlabelled"]),
        dev=request["data"]["dev"]["name"],
        steps=markdown_table(["reader", *STEP_COLUMNS], step_rows(results)),
        reports=f"{scores['reports']:,}",
        passages=f"{scores['passages']:,}",
        scores=_reader_scores(scores),
        calibration=_calibration(results["calibration"]),
    )


def _reader_teacher(request: Mapping[str, Any]) -> str:
    return f", taught by readers on `{request['teacher']['name']}`" if "teacher" in request else ""


def _reader_data(results: Mapping[str, Any]) -> str:
    request = results["request"]
    rows = [
        [part, file["name"], f"{results['samples'][part]:,}", f"`{file['sha256']}`"]
        for part, file in request["data"].items()
    ]
    rows += [
        ["unlabelled", source["name"], "", f"`{source['sha256']}`"]
        for source in request["unlabelled"]
    ]
    return markdown_table(["part", "file", "passages", "sha256"], rows)


def _unlabelled(facts: Mapping[str, int]) -> str:
    """How many unlabelled texts were used, and for what reason others were not."""
    if not facts:
        return ""
    read = (
        f"{facts['texts']:,} unlabelled texts were read; {facts['kept_out']:,} are kept out "
        "because they are dev reports or share twelve words in a row with one, and "
        f"{facts['unread']:,} could not be read."
    )
    if "windows" not in facts:
        return f"{read}\n"
    return (
        f"{read} Teachers labelled {facts['windows']:,} windows; "
        f"{facts['different_tokens']:,} were skipped because student and teacher cut them into "
        f"other tokens, {facts['too_long']:,} because they are too long.\n"
    )


def _reader_scores(scores: Mapping[str, Any]) -> str:
    rows = [
        [
            measure.replace("_", " "),
            kind,
            f"{figure['gold']:,}",
            f"{figure['found']:,}",
            f"{figure['precision']['value']:.3f}",
            f"{figure['recall']['value']:.3f}",
            interval(figure["f1"]),
        ]
        for measure, figures in scores["figures"].items()
        for kind, figure in figures.items()
    ]
    return markdown_table(["measure", "of", "gold", "found", "precision", "recall", "F1"], rows)


def _calibration(calibrated: Mapping[str, Any]) -> str:
    rows = [
        [
            measure.replace("_", " "),
            f"{worth['answers']:,}",
            f"{worth['before']:.3f}",
            f"{worth['after']:.3f}",
        ]
        for measure, worth in calibrated.items()
    ]
    if not rows:
        return "There were too few answers to fit confidence on: it is the model's own."
    return markdown_table(["of", "answers", "before", "after"], rows)


_POOLING = {"mean": "mean over tokens", "cls": "first token"}

RETRIEVAL_COLUMNS = (
    "index",
    "names",
    "queries",
    "accuracy@1",
    "accuracy@5",
    "@1 where words differ",
    "equal words alone",
)
OPPOSITE_COLUMNS = ("axis", "rows", "less alike than the synonym", "than the synonym of either")


def aligner_card(results: Mapping[str, Any]) -> str:
    """The card, from what is in `results.json`."""
    settings, scores = results["request"]["settings"], results["scores"]
    return card(
        results,
        "aligner",
        hidden=("ontologies",),
        size=results["size"]["whole"],
        beside=_beside(results),
        tokens=settings["shape"]["tokens"],
        pooling=_POOLING[settings["shape"]["pooling"]],
        concepts=f"{results['samples']['concepts']:,}",
        names=f"{results['samples']['names']:,}",
        held_out=f"{settings['naming']['held_out']:.0%}",
        all_concepts=f"{scores['concepts']:,}",
        retrieval=markdown_table(RETRIEVAL_COLUMNS, [*retrieval_rows(scores)]),
        opposites=_opposites(scores),
    )


def retrieval_rows(scores: Mapping[str, Any]) -> Iterator[list[str]]:
    """A row for each index that concepts were looked for in."""
    for index, found in scores["retrieval"].items():
        differ = found["first_where_words_differ"]
        yield [
            index,
            f"{found['names']:,}",
            f"{found['queries']:,}",
            interval(found["first"]),
            interval(found["among_five"]),
            interval(differ) if differ else "",
            f"{found['equal']:.3f}",
        ]


def opposite_rows(scores: Mapping[str, Any]) -> Iterator[list[str]]:
    """A row for all opposites, for each axis, and for those that our lists hold or do not."""
    for part, found in scores["opposites"].items():
        yield [part, f"{found['rows']:,}", f"{found['of_phrase']:.3f}", f"{found['of_either']:.3f}"]


def _beside(results: Mapping[str, Any]) -> str:
    """What stands beside the vector of the encoder, if anything does."""
    size, weight = results["size"], results["channel"]
    if not weight:
        return ""
    return (
        f"The first {size['encoder']} numbers are what the encoder gives. The other "
        f"{size['whole'] - size['encoder']}, with a weight of {weight:g}, are what fixed rules and "
        f"word lists read in the phrase (`histoeval.align.opposites.vector`, "
        f"{results['request']['channel']}): side, polarity, grade, stage, numbers, markers and "
        "other words whose opposites point the other way.\n\n"
    )


def _opposites(scores: Mapping[str, Any]) -> str:
    if not scores["opposites"]:
        return ""
    table = markdown_table(OPPOSITE_COLUMNS, [*opposite_rows(scores)])
    return (
        "## Telling opposites apart\n\n"
        "Share of rows in which the opposite of a phrase is less like it than its synonym is. Rows "
        "in our lists are those in which a list that was learned from holds a pair of synonyms.\n\n"
        f"{table}\n\n"
    )


_REST = (
    "Of these, {:,} are in the wordings and of the concepts that the development set is made of: "
    "figures on made pairs below are of what was learned."
)


_COMPANIONS = (
    "{:,} pairs of sentences of one true report besides, which are learned as no contradiction."
)
_STATEMENTS = (
    "Among the others are pairs from statements that language models wrote with wordings of known "
    "effect (up to {:,} drawn)."
)
_CHANGED = "{:,} are statements of reports of which one thing was changed."
_STRANGERS = "{:,} pairs of statements of two reports besides, which are learned as not entailed."
_TEACHER = (
    ", and the answers of a teacher built on `{}`, which learned from the same pairs first and "
    "weighs {:g} of the loss ({:,} pairs of a premise and the hypothesis of another have no other "
    "answer than its own)"
)


def nli_card(results: Mapping[str, Any]) -> str:
    """The card, from what is in `results.json`."""
    settings = results["request"]["settings"]
    made = settings["pairs"]
    return card(
        results,
        "nli",
        tokens=settings["tokens"],
        hypothesis=hypothesis_tokens(settings["tokens"]),
        pairs=f"{results['samples']['pairs']:,}",
        made=f"{made['count'] + made['rest'] + made['organs']:,}",
        rest="\n".join(_besides(made)),
        teacher=_nli_teacher(results["request"]),
        figures="".join(_nli_figures(name, found) for name, found in results["scores"].items()),
    )


def _besides(made: Mapping[str, int]) -> Iterator[str]:
    if made["rest"]:
        yield _REST.format(made["rest"])
    sentences = {
        "statements": _STATEMENTS,
        "changed": _CHANGED,
        "companions": _COMPANIONS,
        "strangers": _STRANGERS,
    }
    for kind, sentence in sentences.items():
        if count := made.get(kind, 0):
            yield sentence.format(count)


def _nli_teacher(request: Mapping[str, Any]) -> str:
    if (settings := request["settings"].get("teacher")) is None:
        return ""
    return _TEACHER.format(request["teacher"]["name"], settings["share"], settings["mixed"])


def _nli_figures(name: str, found: Mapping[str, Any]) -> str:
    rows = nli_rows(found)
    shown = rows if len(rows) > 2 else rows[:1]
    error = found["calibration"]["error"]
    return (
        f"### {name}\n\n{markdown_table(NLI_COLUMNS, shown)}\n\nCalibration error {error:.3f}.\n\n"
    )


def grounding_card(results: Mapping[str, Any]) -> str:
    """The card, from what is in `results.json`."""
    samples = results["samples"]
    return card(
        results,
        "grounding",
        tiles=f"{samples['tiles']:,}",
        slides=f"{samples['slides']:,}",
        cases=f"{samples['cases']:,}",
        organs=_counts(samples["organ"]),
        concepts=_counts(samples["concept"]),
        stains=_counts(samples["stain"]),
        teacher=results["request"]["teacher"],
        figures="\n\n".join(_section(n, f) for n, f in sets_of(results["scores"])),
    )


def _section(name: str, found: Mapping[str, Any]) -> str:
    return f"### {name}\n\n{markdown_table(GROUNDING_COLUMNS, figure_rows(found))}"


def _counts(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{name} ({count})" for name, count in counts.items())


def concordance_card(combinations: Combinations, results: Mapping[str, Any]) -> str:
    """The card as markdown."""
    return card(
        {"request": results, **results},
        "concordance",
        pairs=results["pairs"],
        groups=results["groups"],
        sheets=", ".join(f"`{s['name']}` ({s['sha256'][:12]})" for s in results["sheets"]),
        models=", ".join(f"{name} {model}" for name, model in results["models"].items()),
        weights=_weights(combinations.expert),
        curve=_curve(combinations.expert),
        floor=combinations.expert.floor,
        safety=", ".join(f"{s.name.lower()} {v:g}" for s, v in SAFETY.items() if s),
        unentailed=f"{UNENTAILED:g}",
        expert=_expert_table(results["expert"]),
        criteria=_criteria_table(results["criteria"]),
        notes=results["settings"]["notes"],
    )


def _weights(combination: Combination) -> str:
    total = sum(combination.weights.values())
    rows = sorted(combination.weights.items(), key=lambda item: -item[1])
    return markdown_table(
        ["term", "weight"],
        [[term.replace("*", " \N{MULTIPLICATION SIGN} "), f"{w / total:.3f}"] for term, w in rows],
    )


def _curve(combination: Combination) -> str:
    return ", ".join(
        f"{at:g} → {value:g}"
        for at, value in zip(combination.curve.at, combination.curve.value, strict=True)
    )


def _expert_table(figures: Mapping[str, Any]) -> str:
    rows = []
    for name, found in figures["sets"].items():
        for which, label in (("above", "above the lowest score"), ("all", "all")):
            if which in found:
                numbers = found[which]
                count = found["above_lowest"] if which == "above" else found["pairs"]
                rows.append([name, label, str(count), *(f"{v:.3f}" for v in numbers.values())])
    head = ["set", "pairs", "n", "Spearman", "Kendall", "Kendall, half points", "Pearson"]
    return markdown_table(head, rows)


def _criteria_table(criteria: Mapping[str, Any]) -> str:
    rows = [
        [
            name,
            *(f"{found['quadratic_kappa']:.3f}" for found in figures["sets"].values()),
            f"{figures['all']['quadratic_kappa']:.3f}",
        ]
        for name, figures in criteria.items()
    ]
    sets = list(next(iter(criteria.values()))["sets"])
    return markdown_table(["criterion", *sets, "all"], rows)
