"""What is listed as evidence: each fact once, in the reports' own words, with what it costs."""

import pytest
from hypothesis import given, settings

from histoeval import Explanation, Pair, Score
from histoeval.align.aligner import LexicalAligner
from histoeval.concordance.compare import compare
from histoeval.concordance.evidence import (
    ComparedPart,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
    closed,
    evidence_of,
    listed,
)
from histoeval.metrics.concordance import Concordance, RubricOffline, weights
from histoeval.report import Entity, EntityType
from tests.concordance.test_compare import texts
from tests.support.report_builder import MarkedReader, alike, facts, parts_of, report
from tests.support.tables import from_table

BREAST = "{site:Left breast}: {diagnosis:invasive ductal carcinoma}, {grade:grade 2}. "
TOPICS = {"findings": "diagnosis", "no_inventions": "site"}


def messages(reference: str, candidate: str) -> list[str]:
    return [e["message"] for e in evidence_of(parts_of(reference, candidate).values())["errors"]]


def explained(reference: str, candidate: str, rubric: bool = False) -> Explanation:
    metric = (RubricOffline if rubric else Concordance)(
        name="concordance",
        reader=MarkedReader([reference, candidate]),
        aligner=LexicalAligner(),
        verify=False,
    )
    pair = Pair(id="1", reference=report(reference).text, candidate=report(candidate).text)
    answer = metric.explain(pair)
    assert isinstance(answer, Explanation), answer
    (score,) = metric.score([pair])
    assert isinstance(score, Score)
    assert (answer.value, answer.parts) == (score.value, score.parts)
    return answer


# --- each fact once ------------------------------------------------------------------------------


def test_a_finding_that_several_parts_count_is_listed_once() -> None:
    reference = (
        "{site:Colon}: {diagnosis:chronic active colitis}, {diagnosis:ulcerative colitis}. "
        "No {diagnosis:-amyloidosis}."
    )
    candidate = (
        "{site:Colon}: {diagnosis:chronic active colitis} with {diagnosis:amyloidosis}, "
        "{diagnosis:Crohn disease}."
    )
    counted = [m for part in parts_of(reference, candidate).values() for m in part.mistakes]
    assert sum("amyloidosis" in mistake.message for mistake in counted) > 1
    assert messages(reference, candidate) == [
        "contradiction: 'amyloidosis' for 'amyloidosis' (absent)",
        "wrong diagnosis: 'Crohn disease' for 'ulcerative colitis'",
    ]


def test_an_omission_in_two_parts_is_as_severe_as_the_worse_of_them() -> None:
    reference = f"{BREAST}{{diagnosis:Paget disease}}."
    _, errors = listed(parts_of(reference, BREAST).values())
    (error,) = errors
    assert error.counted
    assert error.shown.severity == max(each.severity for each in error.counted)


@pytest.mark.parametrize("missed", [Severity.MINOR, Severity.CRITICAL])
def test_errors_about_the_same_words_are_as_severe_as_the_worst_of_them(missed: Severity) -> None:
    carcinoma = Entity(text="carcinoma", start=0, end=9, type=EntityType.DIAGNOSIS)
    atypia = Entity(text="atypia", start=0, end=6, type=EntityType.DIAGNOSIS)
    told = ReportError(ErrorKind.UNDERCALL, "diagnosis", Severity.MODERATE, carcinoma, atypia)
    omitted = ReportError.one_sided(ErrorKind.OMISSION, "findings", missed, carcinoma)
    for order in ((told, omitted), (omitted, told)):
        _, (error,) = listed(ComparedPart(0.0, (), (each,)) for each in order)
        assert error.shown.message == "undercall: 'atypia' for 'carcinoma'"
        assert error.shown.severity == max(Severity.MODERATE, missed)


@given(texts, texts)
def test_nothing_is_both_matched_and_omitted_or_invented(reference: str, candidate: str) -> None:
    evidence = evidence_of(parts_of(reference, candidate).values())
    matched = {
        (TOPICS.get(match["part"], match["part"]), side, match[side]["start"], match[side]["end"])
        for match in evidence["matches"]
        for side in ("reference", "candidate")
    }
    for error in evidence["errors"]:
        sides = [side for side in ("reference", "candidate") if error[side]]
        if len(sides) == 1:
            place = error[sides[0]]
            topic = TOPICS.get(error["part"], error["part"])
            assert (topic, sides[0], place["start"], place["end"]) not in matched


@from_table
def test_a_name_of_several_markers_is_of_the_one_that_is_singled_out(marked: str) -> None:
    pair = BREAST + marked, f"{BREAST}{{marker:ER}} {{result:positive}}."
    for reference, candidate in (pair, pair[::-1]):
        assert parts_of(reference, candidate)["markers"].value == 1.0
        assert messages(reference, candidate) == []


def test_a_name_of_several_markers_is_of_all_where_none_is_singled_out() -> None:
    reference = f"{BREAST}{{marker:Hormone receptors}} {{result:positive}}."
    assert set(facts(reference).markers) == {"estrogen receptor", "progesterone receptor"}
    assert messages(reference, f"{BREAST}{{marker:ER}} {{result:positive}}.") == [
        "omission: 'ER positive' for 'Hormone receptors positive'"
    ]


def test_a_finding_that_one_report_has_as_a_diagnosis_is_no_invention() -> None:
    reference = "{diagnosis:Acute appendicitis}. A {finding:faecolith} is seen."
    candidate = "{diagnosis:Acute appendicitis}. A {finding:fecalith} is seen."
    assert messages(reference, candidate) == []
    assert parts_of(reference, candidate)["no_inventions"].value == 1.0


# --- in the reports' own words -------------------------------------------------------------------


@from_table
def test_a_bracket_that_was_cut_is_shown_whole(text: str, cut: str, whole: str) -> None:
    entity = Entity(text=cut, start=0, end=len(cut), type=EntityType.MARKER)
    shown = closed(entity, text)
    assert shown.text == text[shown.start : shown.end] == whole


def test_a_marker_with_its_result_ends_with_its_bracket() -> None:
    reference = f"{BREAST}{{marker:HER2}} {{result:negative (1+}}). Intact ({{marker:MLH1}}, x)."
    assert "omission: 'HER2 negative (1+)' is not in the candidate" in messages(reference, BREAST)
    assert not any(m.count("(") != m.count(")") for m in messages(reference, BREAST))


def test_an_omitted_invasion_says_of_what() -> None:
    tumour = "{diagnosis:Clear cell carcinoma}"
    invaded = "{site:renal vein} {finding:invasion}, {site:sinus fat} {finding:invasion}"
    assert messages(f"{tumour}, {invaded}.", f"{tumour}.")[:2] == [
        "omission: 'renal vein invasion' is not in the candidate",
        "omission: 'sinus fat invasion' is not in the candidate",
    ]


# --- what an error costs -------------------------------------------------------------------------


@from_table
@pytest.mark.parametrize("rubric", [False, True])
def test_without_its_only_error_a_score_is_that_of_the_report_put_right(
    wrong: str, right: str, rubric: bool
) -> None:
    whole = (
        f"{BREAST}{{marker:ER}} {{result:positive}}. {{stage:pT2}}. {{measurement:2.1 cm}}. "
        "No {finding:-necrosis}. {finding:Perineural invasion}. "
        "{marker:HER2} {result:negative}. "
    )
    assert not right or right in whole
    candidate = whole.replace(right, wrong) if right else whole + wrong
    score = explained(whole, candidate, rubric)
    (error,) = score.evidence["errors"]
    assert score.value < 1 or rubric
    assert error["without"] == pytest.approx(explained(whole, whole, rubric).value) == 1


def test_without_one_of_two_errors_a_score_is_that_of_the_report_with_the_other() -> None:
    whole = f"{BREAST}{{marker:ER}} {{result:positive}}."
    side, marker = whole.replace("Left", "Right"), whole.replace("positive", "negative")
    score = explained(whole, side.replace("positive", "negative"))
    without = {error["kind"]: error["without"] for error in score.evidence["errors"]}
    assert without == {
        "wrong_laterality": pytest.approx(explained(whole, marker).value),
        "marker_flip": pytest.approx(explained(whole, side).value),
    }
    assert score.value < min(without.values())


@given(texts, texts)
@settings(max_examples=40)
def test_the_costs_of_the_parts_add_up_to_what_is_missing(reference: str, candidate: str) -> None:
    if not any(part.value is not None for part in parts_of(reference, candidate).values()):
        return
    for rubric in (False, True):
        score = explained(reference, candidate, rubric)
        assert 1 - sum(each.cost for each in score.breakdown) == pytest.approx(score.value)
        for error in score.evidence["errors"]:
            assert 0 <= error["without"] <= 1


@given(texts, texts)
@settings(max_examples=40)
def test_ignoring_every_error_never_lowers_a_score(reference: str, candidate: str) -> None:
    parts = parts_of(reference, candidate)
    ignored = IgnoredErrors(frozenset(m for part in parts.values() for m in part.mistakes))
    again = compare(facts(reference), facts(candidate), alike, ignored)
    before = weights().expert({name: part.value for name, part in parts.items()})
    after = weights().expert({name: part.value for name, part in again.items()})
    assert after >= before - 1e-9


def test_an_explanation_prints_what_parts_and_errors_cost() -> None:
    score = explained(BREAST, BREAST.replace("Left", "Right"))
    assert str(score) == (
        "concordance = 0.487 (0 to 1)\n"
        "  laterality  0.00  costs 0.170\n"
        "  safety      0.75  costs 0.343\n"
        "  wrong laterality: 'Right breast' for 'Left breast'; without this error: 1.000 (+0.513)"
    )


def test_ignored_errors_are_looked_up_by_topic_and_entities() -> None:
    one, other = (
        Entity(text=text, start=0, end=len(text), type=EntityType.DIAGNOSIS)
        for text in ("adenoma", "carcinoma")
    )
    kind, severity = ErrorKind.WRONG_DIAGNOSIS, Severity.MAJOR
    ignored = IgnoredErrors(frozenset({ReportError(kind, "findings", severity, one, other)}))
    assert ignored.between("diagnosis", one, other)
    assert ignored.between("findings", None, other.model_copy())
    assert ignored.between("findings", one, None)
    assert not ignored.between("findings", other, one)
    assert not ignored.between("site", one, other)
    omitted = IgnoredErrors(
        frozenset({ReportError.one_sided(ErrorKind.OMISSION, "site", severity, one)})
    )
    assert omitted.between("no_inventions", one, None)
    assert not omitted.between("site", one, other)
    assert not IgnoredErrors().between("site", None, None)
