"""Criteria and reasoning."""

import zlib

from hypothesis import given
from hypothesis import strategies as st

from histoeval.concordance.evidence import (
    ComparedPart,
    EntityMatch,
    ErrorKind,
    ReportError,
    Severity,
)
from histoeval.concordance.rubric import CRITERIA, coverage, judge, overall, reasoning
from histoeval.concordance.weights import COVERED, Combination, MonotoneCurve
from histoeval.report import Assertion, Entity, EntityType
from tests.support.report_builder import parts_of
from tests.support.tables import from_table

scores = st.fixed_dictionaries({name: st.integers(1, top) for name, top in CRITERIA.items()})
BEST = dict(CRITERIA)


def entity(text: str, assertion: Assertion = Assertion.PRESENT) -> Entity:
    kind, start = EntityType.DIAGNOSIS, 100 * (zlib.crc32(text.encode()) % 1000)
    return Entity(text=text, start=start, end=start + len(text), type=kind, assertion=assertion)


def mistake(severity: Severity, text: str, kind: ErrorKind = ErrorKind.OMISSION) -> ReportError:
    one, other = (entity(text), None) if kind == ErrorKind.OMISSION else (None, entity(text))
    return ReportError(kind, "diagnosis", severity, one, other)


@given(st.floats(-50, 50), st.floats(0, 1))
def test_scores_are_whole_numbers_of_their_scale(high: float, site: float) -> None:
    low = min(high, 0.0)
    curve = MonotoneCurve(at=(0.0, 1.0), value=(low, max(high, low)))
    same = dict.fromkeys(CRITERIA, Combination(weights={"site": 1.0}, curve=curve, floor=low))
    for name, score in judge(same, {"site": site}, []).items():
        assert isinstance(score, int)
        assert 1 <= score <= CRITERIA[name]


@given(scores)
def test_the_overall_value_goes_from_0_to_1_and_rises_with_every_criterion(
    given_scores: dict[str, int],
) -> None:
    value = overall(given_scores)
    assert 0 <= value <= 1
    for name, top in CRITERIA.items():
        if given_scores[name] < top:
            assert overall(given_scores | {name: given_scores[name] + 1}) > value


def test_with_a_major_error_two_reports_are_not_equivalent() -> None:
    curve = MonotoneCurve(at=(0.0, 1.0), value=(4.0, 4.0))
    same = dict.fromkeys(CRITERIA, Combination(weights={"site": 1.0}, curve=curve))
    small, large = (
        judge(same, {}, [ComparedPart(0.5, (), (mistake(severity, "melanoma"),))])
        for severity in (Severity.MODERATE, Severity.MAJOR)
    )
    assert small["overall_equivalence"] == 4
    assert large["overall_equivalence"] == 3


def omissions(severities: list[Severity]) -> ComparedPart:
    mistakes = (mistake(severity, f"finding {n}") for n, severity in enumerate(severities))
    return ComparedPart(0.5, (), tuple(mistakes))


@given(st.lists(st.sampled_from(Severity), max_size=8), st.sampled_from(Severity))
def test_each_omission_takes_something_off_the_coverage(
    severities: list[Severity], one_more: Severity
) -> None:
    before, after = (coverage([omissions(s)]) for s in (severities, [*severities, one_more]))
    assert 0 < after < before <= 1


def test_the_graver_an_omission_the_less_is_covered() -> None:
    found = [coverage([omissions([severity])]) for severity in sorted(Severity)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == 0.5
    assert coverage([omissions([Severity.MAJOR] * 2)]) == 0.5
    assert coverage([]) == 1


def test_an_omission_that_two_parts_tell_counts_once() -> None:
    both = [mistake(Severity.MAJOR, "melanoma"), mistake(Severity.MINOR, "melanoma")]
    assert coverage([ComparedPart(0.0, (), tuple(both))]) == coverage([omissions([Severity.MAJOR])])


def test_what_is_invented_or_said_otherwise_is_not_left_out() -> None:
    invented = mistake(Severity.CRITICAL, "melanoma", ErrorKind.INVENTION)
    otherwise = ReportError(
        ErrorKind.WRONG_GRADE, "grade", Severity.MAJOR, entity("grade 1"), entity("grade 3")
    )
    assert coverage([ComparedPart(0.0, (), (invented, otherwise))]) == 1


def test_completeness_falls_with_what_is_left_out() -> None:
    curve = MonotoneCurve(at=(0.0, 1.0), value=(1.0, 3.0))
    same = dict.fromkeys(CRITERIA, Combination(weights={COVERED: 1.0}, curve=curve))
    found = [
        judge(same, {"diagnosis": 1.0}, [omissions([Severity.MAJOR] * n)])["factual_completeness"]
        for n in (0, 2, 8)
    ]
    assert found == [3, 2, 1]
    assert judge(same, {"diagnosis": 0.0}, [])["factual_completeness"] == 1


def test_the_best_is_1_and_the_worst_is_0() -> None:
    assert overall(BEST) == 1
    assert overall(dict.fromkeys(CRITERIA, 1)) == 0


@given(scores)
def test_reasoning_is_one_paragraph(given_scores: dict[str, int]) -> None:
    parts = parts_of("{diagnosis:Ductal\n carcinoma} of breast", "{diagnosis:fibro-\nadenoma}")
    said = reasoning(given_scores, parts.values())
    assert said == " ".join(said.split())
    assert said.endswith(".")


def test_reasoning_cites_the_worst_errors_and_counts_the_rest() -> None:
    many = [mistake(Severity.MINOR, f"trifle {n}") for n in range(6)]
    part = ComparedPart(0.0, (), (*many, mistake(Severity.CRITICAL, "melanoma")))
    said = reasoning(BEST, [part])
    assert "'melanoma' is not in the candidate (critical)" in said
    assert said.index("melanoma") < said.index("trifle")
    assert "3 further points" in said


def test_an_error_that_two_parts_tell_is_cited_once_at_its_worst() -> None:
    both = [mistake(Severity.CRITICAL, "melanoma"), mistake(Severity.MINOR, "melanoma")]
    said = reasoning(BEST, [ComparedPart(0.0, (), tuple(both))])
    assert said.count("melanoma") == 1
    assert "(critical)" in said


def test_reasoning_names_what_answers_to_the_diagnosis() -> None:
    match = EntityMatch("diagnosis", entity("IDC"), entity("ductal carcinoma"), 0.9)
    assert "'ductal carcinoma' answers to 'IDC'." in reasoning(BEST, [ComparedPart(0.9, (match,))])


@from_table
def test_what_was_added_or_left_out_is_not_said_to_be_nothing(kind: ErrorKind, words: str) -> None:
    sentence = f"Nothing of weight is {words}."
    assert sentence in reasoning(BEST, [])
    assert sentence not in reasoning(
        BEST, [ComparedPart(0.0, (), (mistake(Severity.MAJOR, "x", kind),))]
    )
    assert sentence in reasoning(
        BEST, [ComparedPart(0.0, (), (mistake(Severity.MINOR, "x", kind),))]
    )


def test_a_doubt_or_a_denial_is_told_with_the_words() -> None:
    denied = entity("melanoma", Assertion.ABSENT)
    wrong = ReportError(
        ErrorKind.CONTRADICTION, "findings", Severity.MAJOR, denied, entity("melanoma")
    )
    assert wrong.message == "contradiction: 'melanoma' for 'melanoma' (absent)"
