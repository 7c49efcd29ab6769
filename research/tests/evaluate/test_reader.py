"""What a reader finds, measured against what people annotated."""

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from research.tests.support.annotated_passages import PASSAGE, REPORT, TEXT, entity, passages
from research.tests.support.fake_readers import ListedCompleter, ListedReader, perfect

from histoeval.errors import InputError, ModelError
from histoeval.reader.reader import Completer, Reader
from histoeval.report import Assertion, Entity, EntityType, Relation, Report
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.calibration import calibration
from histoeval_research.evaluate.mistakes import mistakes
from histoeval_research.evaluate.reader import (
    ALL,
    Evaluation,
    Figure,
    PredictedPassage,
    ReaderMeasure,
    evaluate,
    evaluate_by_source,
    evaluate_reader,
    read_passages,
)

M = ReaderMeasure
SITE, DIAGNOSIS, GRADE, ER, PERCENT, POSITIVE, NECROSIS = REPORT.entities
SCORES = st.floats(0, 1)


def report(*entities: Entity, links: Sequence[tuple[int, int]] = ()) -> Report:
    relations = tuple(Relation(head=head, tail=tail) for head, tail in links)
    return Report(text=TEXT, entities=entities, relations=relations)


def changed(given: Entity, **values: object) -> Entity:
    return Entity.model_validate(given.model_dump() | values)


def reading(
    gold: Report, found: Report, completed: Report | None = None, **named: str
) -> PredictedPassage:
    named = {"report_id": "r"} | named
    return PredictedPassage(PASSAGE.model_copy(update={"content": gold, **named}), found, completed)


def numbers(figure: Figure) -> tuple[float, float, float]:
    return figure.precision.value, figure.recall.value, figure.f1.value


def other_reading(one: AnnotatedPassage, other: AnnotatedPassage) -> PredictedPassage:
    """What `other` says, moved onto the text of `one` as far as it fits."""
    text = one.text
    kept = [e for e in other.content.entities if e.end <= len(text)]
    moved = tuple(changed(e, text=text[e.start : e.end]) for e in kept)
    return PredictedPassage(one, Report(text=text, entities=moved))


READINGS = st.lists(st.builds(other_reading, passages(), passages(SCORES)), min_size=1, max_size=4)
FEW = settings(max_examples=30)


def test_entities_are_counted_by_hand() -> None:
    shorter = entity(TEXT, "carcinoma", EntityType.DIAGNOSIS)
    as_descriptor = changed(GRADE, type=EntityType.DESCRIPTOR)
    found = report(shorter, as_descriptor, ER, changed(POSITIVE, score=0.69))
    figures = evaluate([reading(REPORT, found)]).figures
    assert (figures[M.EXACT][ALL].gold, figures[M.EXACT][ALL].found) == (7, 4)
    assert "stage" not in figures[M.EXACT], "nobody has one"
    for measure, kind, expected in (
        (M.EXACT, ALL, (2 / 4, 2 / 7, 4 / 11)),
        (M.EXACT, "marker", (1, 1, 1)),
        (M.EXACT, "result", (1, 1 / 2, 2 / 3)),
        (M.EXACT, "grade", (0, 0, 0)),
        (M.HARE, ALL, (3 / 4, 3 / 6, 6 / 10)),
        (M.HARE, "descriptor", (1, 1, 1)),
        (M.OVERLAP, ALL, (3 / 4, 3 / 7, 6 / 11)),
        (M.OVERLAP, "diagnosis", (1, 1, 1)),
        (M.CONFIDENT, ALL, (1 / 3, 1 / 7, 2 / 10)),
    ):
        assert numbers(figures[measure][kind]) == pytest.approx(expected), (measure, kind)


def test_one_long_span_over_two_short_ones_is_one_right_answer_for_two_things_found() -> None:
    words = [entity(TEXT, word, EntityType.DIAGNOSIS) for word in ("invasive", "carcinoma")]
    figures = evaluate([reading(report(*words), report(DIAGNOSIS))]).figures
    assert numbers(figures[M.OVERLAP][ALL]) == (1, 1, 1)
    assert figures[M.OVERLAP][ALL].gold == 2
    next_to = evaluate([reading(report(words[0]), report(words[1]))]).figures
    assert numbers(next_to[M.OVERLAP][ALL]) == (0, 0, 0), "no character is shared"


def test_relations_are_counted_by_hand() -> None:
    longer = entity(TEXT, "90% positive", EntityType.RESULT)
    found = report(
        DIAGNOSIS, SITE, GRADE, ER, PERCENT, longer, links=[(0, 1), (3, 4), (3, 5)]
    )  # of four: diagnosis-site and one marker-result are right, one entity is too long
    relations = (*REPORT.relations[1:], Relation(head=6, tail=0))
    completed = REPORT.model_copy(update={"relations": relations})
    figures = evaluate([reading(REPORT, found, completed)]).figures
    for measure, kind, expected in (
        (M.RELATIONS, ALL, (2 / 3, 2 / 4, 4 / 7)),
        (M.RELATIONS, "marker-result", (0.5, 0.5, 0.5)),
        (M.RELATIONS, "diagnosis-grade", (0, 0, 0)),
        (M.RELATIONS_ON_FOUND, ALL, (1, 2 / 3, 4 / 5)),
        (M.RELATIONS_ON_GOLD, ALL, (3 / 4, 3 / 4, 3 / 4)),
    ):
        assert numbers(figures[measure][kind]) == pytest.approx(expected), (measure, kind)
    extra = figures[M.RELATIONS_ON_GOLD]["finding-site"]
    assert (extra.gold, extra.found) == (0, 1)


def test_assertion_is_counted_by_hand_on_what_was_found_and_on_all_that_is_there() -> None:
    wrong = changed(NECROSIS, assertion=Assertion.UNCERTAIN)
    gold, completed = report(DIAGNOSIS, NECROSIS, ER), report(DIAGNOSIS, wrong, ER)
    found = report(wrong, changed(ER, assertion=Assertion.ABSENT))
    figures = evaluate([reading(gold, found, completed)]).figures
    on_found, on_gold = figures[M.ASSERTION_ON_FOUND], figures[M.ASSERTION_ON_GOLD]
    assert (on_found[ALL].gold, on_found[ALL].f1.value) == (1, 0), "of a marker nothing is asserted"
    assert numbers(on_gold[ALL]) == (0.5, 0.5, 0.5)
    assert numbers(on_gold["present"]) == (1, 1, 1)
    assert (on_gold["absent"].gold, on_gold["absent"].found) == (1, 0)
    assert (on_gold["uncertain"].gold, on_gold["uncertain"].found) == (0, 1)


@FEW
@given(st.lists(passages(), min_size=1, max_size=5, unique_by=lambda passage: passage.text))
def test_a_perfect_reader_scores_1_everywhere(corpus: list[AnnotatedPassage]) -> None:
    evaluation = evaluate_reader(perfect(corpus), corpus, resamples=20)
    assert set(evaluation.figures) | set(evaluation.missing) == set(M)
    for figure in (figure for rows in evaluation.figures.values() for figure in rows.values()):
        assert numbers(figure) == (1, 1, 1)
        assert figure.gold == figure.found
        assert {figure.f1.low, figure.f1.high} <= {1, None}
    assert all(each.error == each.adaptive_error == 0 for each in evaluation.calibration.values())
    assert Evaluation.model_validate_json(evaluation.model_dump_json()) == evaluation


@FEW
@given(READINGS, st.randoms(use_true_random=False))
def test_swapping_truth_and_findings_swaps_precision_and_recall_and_order_does_not_matter(
    readings: list[PredictedPassage], shuffler: random.Random
) -> None:
    swapped = [
        PredictedPassage(r.passage.model_copy(update={"content": r.found}), r.passage.content)
        for r in readings
    ]
    there, back = (evaluate(rows, resamples=0).figures for rows in (readings, swapped))
    for measure in there.keys() & back.keys() - {M.CONFIDENT}:
        assert there[measure].keys() == back[measure].keys()
        for kind, figure in there[measure].items():
            precision, recall, f1 = numbers(back[measure][kind])
            assert numbers(figure) == pytest.approx((recall, precision, f1))
    shuffled = list(readings)
    shuffler.shuffle(shuffled)
    assert evaluate(shuffled, resamples=30) == evaluate(readings, resamples=30)


Chunk = tuple[str, int, int]


def chunks(tags: Sequence[str]) -> set[Chunk]:
    """The chunks of IOB2 tags: from each B- on, over the I- of its type. As in conlleval."""
    found, start = set(), None
    for place, tag in enumerate([*tags, "O"]):
        if start is not None and tag != f"I-{tags[start][2:]}":
            found.add((tags[start][2:], start, place))
            start = None
        if tag.startswith("B-"):
            start = place
    return found


TAGS = ["O", "B-site", "I-site", "B-grade", "I-grade"]


def strict_iob2(tags: Sequence[str]) -> list[str]:
    """Tags in which every I- goes on with something."""
    fixed: list[str] = []
    for tag in tags:
        begun = bool(fixed) and fixed[-1][2:] == tag[2:]
        fixed.append("B-" + tag[2:] if tag.startswith("I-") and not begun else tag)
    return fixed


def tagged(tags: Sequence[str]) -> Report:
    text = " ".join("abcdefgh")
    entities = tuple(
        Entity(text=text[2 * first : 2 * last - 1], start=2 * first, end=2 * last - 1, type=kind)
        for kind, first, last in ((EntityType(k), f, t) for k, f, t in sorted(chunks(tags)))
    )
    return Report(text=text, entities=entities)


def test_exact_f1_is_that_of_seqeval() -> None:
    """The expected value is what seqeval 1.2.2 gives for these tags (strict mode, IOB2).

    Its package needs a legacy build that fails on some machines, so the tests do not install it.
    """
    draw = random.Random(3)
    pairs = [[strict_iob2(draw.choices(TAGS, k=8)) for _ in range(2)] for _ in range(50)]
    figures = evaluate([reading(tagged(g), tagged(f)) for g, f in pairs], resamples=0).figures
    assert figures[M.EXACT][ALL].f1.value == pytest.approx(0.19047619047619044)


def test_whole_reports_are_resampled() -> None:
    """Four reports of 25 passages: all of two is found, nothing of the others."""
    found = {"right": report(SITE), "as right": report(SITE), "wrong": report(), "as": report()}
    readings = [
        reading(report(SITE), found[name], report_id=name) for name in found for _ in range(25)
    ]
    recall = evaluate(readings).figures[M.EXACT][ALL].recall
    assert (recall.value, recall.low, recall.high) == (0.5, 0, 1)
    apart = [
        PredictedPassage(each.passage.model_copy(update={"report_id": str(n)}), each.found)
        for n, each in enumerate(readings)
    ]
    alone = evaluate(apart).figures[M.EXACT][ALL].recall
    assert alone.low == pytest.approx(0.4, abs=0.05)
    assert alone.high == pytest.approx(0.6, abs=0.05)


def noisy(count: int) -> list[PredictedPassage]:
    draw = random.Random(5)
    kept = [[e for e in REPORT.entities if draw.random() < 0.7] for _ in range(count)]
    return [reading(REPORT, report(*kept[n]), REPORT, report_id=str(n // 2)) for n in range(count)]


def test_intervals_hold_their_estimates_and_follow_from_the_seed() -> None:
    readings = noisy(60)
    evaluation = evaluate(readings, seed=4)
    for figure in (figure for rows in evaluation.figures.values() for figure in rows.values()):
        for estimate in (figure.precision, figure.recall, figure.f1):
            assert estimate.low <= estimate.value <= estimate.high  # type: ignore[operator]
    assert evaluate(readings, seed=4) == evaluation
    assert evaluate(readings, seed=5).figures != evaluation.figures
    one_report = evaluate([reading(REPORT, REPORT)]).figures[M.EXACT][ALL].f1
    no_resamples = evaluate(noisy(4), resamples=0).figures[M.EXACT][ALL].f1
    assert one_report.low is one_report.high is no_resamples.low is no_resamples.high is None


def test_a_rare_kind_is_not_taken_for_missed_where_a_resample_lacks_it() -> None:
    readings = [reading(report(SITE), report(SITE), report_id=str(n)) for n in range(5)]
    readings.append(reading(report(ER), report(ER), report_id="rare"))
    rare = evaluate(readings).figures[M.EXACT]["marker"].f1
    assert (rare.low, rare.high) == (1, 1)


def test_what_a_reader_cannot_do_or_nobody_has_is_missing_with_a_reason() -> None:
    plain = evaluate_reader(ListedReader([REPORT], reads_relations=False), [PASSAGE])
    assert "does not look for relations" in plain.missing[M.RELATIONS]
    assert "does not look for relations" in plain.missing[M.RELATIONS_ON_GOLD]
    assert "cannot go on" in plain.missing[M.ASSERTION_ON_GOLD]
    assert not plain.missing.keys() & plain.figures.keys()
    assert set(plain.calibration) == {M.EXACT}
    linking = evaluate_reader(ListedReader([REPORT]), [PASSAGE])
    assert set(linking.missing) == {M.RELATIONS_ON_GOLD, M.ASSERTION_ON_GOLD}
    assert linking.figures[M.ASSERTION_ON_FOUND][ALL].f1.value == 1
    bare = report(SITE)
    evaluation = evaluate([reading(bare, bare, bare)])
    assert "neither" in evaluation.missing[M.RELATIONS_ON_GOLD]
    assert "neither" in evaluation.missing[M.ASSERTION_ON_FOUND]
    with pytest.raises(InputError, match="no passages"):
        evaluate([])


def test_a_reader_is_given_entities_without_the_answers() -> None:
    reader = perfect([PASSAGE])
    assert isinstance(reader, Reader)
    assert isinstance(reader, Completer)
    unsure = [changed(each, score=0.5) for each in REPORT.entities]
    read_passages(reader, [PASSAGE.model_copy(update={"content": report(*unsure)})])
    (seen,) = reader.given
    assert [e.type for e in seen.entities] == [e.type for e in REPORT.entities]
    assert {(e.assertion, e.score) for e in seen.entities} == {(Assertion.PRESENT, 1.0)}
    assert seen.relations == ()


def test_a_reader_that_answers_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = ListedReader([REPORT])
    for answer, said in (
        ([], "0 reports for 1 texts"),
        ([Report(text="Another text.")], "another text than that of passage p1"),
    ):
        monkeypatch.setattr(reader, "read", lambda _, answer=answer: answer)
        with pytest.raises(ModelError, match=said):
            evaluate_reader(reader, [PASSAGE])
    with pytest.raises(ModelError, match="changed the entities"):
        evaluate_reader(ListedCompleter([REPORT], [report(SITE)]), [PASSAGE])


def test_passages_are_read_in_parts_and_told() -> None:
    reader, told = ListedReader([REPORT]), list[int]()
    corpus = [PASSAGE.model_copy(update={"id": str(n)}) for n in range(150)]
    readings = read_passages(reader, corpus, told.append)
    assert [each.passage.id for each in readings] == [str(n) for n in range(150)]
    assert told[-1] == 150
    assert len(reader.calls) == len(told) > 1


def test_each_source_has_its_own_figures() -> None:
    found = {"b": report(SITE), "a": report()}
    readings = [reading(report(SITE), each, source=source) for source, each in found.items()]
    recalls = {
        source: evaluation.figures[M.EXACT][ALL].recall.value
        for source, evaluation in evaluate_by_source(readings).items()
    }
    assert list(recalls.items()) == [("a", 0), ("b", 1)]


def test_calibration_is_worked_out_by_hand() -> None:
    judged = [(0.9, True), (0.9, True), (0.9, False), (0.95, True), (0.2, False), (1.0, True)]
    found = calibration(judged, bins=5)
    assert [(each.count, each.accuracy) for each in found.bins] == [(1, 0.0), (5, 4 / 5)]
    assert (found.bins[0].low, found.bins[0].high) == pytest.approx((0.2, 0.4))
    confidence = (3 * 0.9 + 0.95 + 1.0) / 5
    assert found.error == pytest.approx((0.2 + 5 * abs(4 / 5 - confidence)) / 6)
    assert (found.count, found.accuracy) == (6, 4 / 6)


def test_adaptive_bins_hold_about_equal_counts() -> None:
    draw = random.Random(1)
    found = calibration([(0.9 + 0.1 * draw.random(), draw.random() < 0.5) for _ in range(1500)])
    assert [each.count for each in found.adaptive_bins] == [100] * 15
    assert len(found.bins) == 2


@given(st.lists(st.tuples(SCORES, st.booleans()), min_size=1), st.randoms(use_true_random=False))
def test_calibration_is_between_its_bounds_whatever_the_order(
    judged: list[tuple[float, bool]], shuffler: random.Random
) -> None:
    found = calibration(judged)
    gap = abs(found.accuracy - found.confidence)
    for error, bins in ((found.error, found.bins), (found.adaptive_error, found.adaptive_bins)):
        assert gap - 1e-9 <= error <= 1 + 1e-9, "bins never hide what is wrong on the whole"
        assert sum(each.count for each in bins) == len(judged)
    shuffled = list(judged)
    shuffler.shuffle(shuffled)
    assert calibration(shuffled) == found


def test_confidence_is_that_of_entities_and_of_relations() -> None:
    found = Report(
        text=TEXT,
        entities=(changed(ER, score=0.8), changed(PERCENT, score=0.6)),
        relations=(Relation(head=0, tail=1, score=0.75),),
    )
    measured = evaluate([reading(report(ER, PERCENT), found)]).calibration
    assert measured[M.EXACT].error == pytest.approx(0.3)
    assert measured[M.RELATIONS].error == pytest.approx(0.75)
    assert measured[M.RELATIONS].accuracy == 0


def test_each_mistake_stands_in_one_place() -> None:
    shorter = entity(TEXT, "carcinoma", EntityType.DIAGNOSIS)
    grade = changed(GRADE, type=EntityType.DESCRIPTOR)
    present = changed(NECROSIS, assertion=Assertion.PRESENT)
    no = entity(TEXT, "no", EntityType.RESULT)
    found = report(shorter, grade, ER, PERCENT, present, no, SITE, links=[(2, 3), (4, 6)])
    (told,) = mistakes([reading(REPORT, REPORT), reading(REPORT, found, id="wrong")])
    assert (told.id, told.report, told.text) == ("wrong", "r", TEXT)
    assert (told.missing, told.invented) == ((POSITIVE,), (no,))
    assert [(pair.gold, pair.found) for pair in told.mistyped] == [(GRADE, grade)]
    assert [(pair.gold, pair.found) for pair in told.misplaced] == [(DIAGNOSIS, shorter)]
    assert [(pair.gold, pair.found) for pair in told.misasserted] == [(NECROSIS, present)]
    assert told.missing_relations == ()
    assert [(pair.head, pair.tail) for pair in told.invented_relations] == [(present, SITE)]


@FEW
@given(READINGS)
def test_no_mistake_is_lost(readings: list[PredictedPassage]) -> None:
    for each in readings:
        gold, found = each.passage.content.entities, each.found.entities
        right = {(e.type, e.start, e.end) for e in gold} & {(e.type, e.start, e.end) for e in found}
        rows = list(mistakes([each]))
        pairs = [pair for row in rows for pair in (*row.mistyped, *row.misplaced)]
        missing = [e for row in rows for e in row.missing] + [pair.gold for pair in pairs]
        invented = [e for row in rows for e in row.invented] + [pair.found for pair in pairs]
        for told, there in ((missing, gold), (invented, found)):
            wrong = [e for e in there if (e.type, e.start, e.end) not in right]
            assert Counter(told) == Counter(wrong)


def test_neither_torch_nor_onnxruntime_is_needed() -> None:
    program = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('torch', 'onnxruntime', 'transformers')))\n"
        "import histoeval_research.evaluate.reader, histoeval_research.cli.evaluate.models\n"
        "import histoeval_research.view.model_tables\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
