"""Values that the words of two reports state, and how severe it is where they differ."""

from histoeval.concordance.evidence import ErrorKind, Severity
from tests.support.report_builder import mistakes_of, parts_of, value_of
from tests.support.tables import from_table


@from_table
def test_what_could_harm_is_critical_even_where_the_reader_read_nothing(
    reference: str, candidate: str, kind: ErrorKind
) -> None:
    worst = max(mistakes_of(reference, candidate), key=lambda each: each.severity)
    assert (worst.kind, worst.severity) == (kind, Severity.CRITICAL)
    assert worst.reference is not None
    assert worst.reference.text in reference


def test_a_value_that_words_settle_is_not_compared_again_as_it_was_read() -> None:
    reference = "Renal cell carcinoma, {grade:ISUP 3}."
    candidate = "Renal cell carcinoma, {grade:ISUP nuclear grade 3}."
    assert mistakes_of(reference, candidate) == []
    assert value_of("grade", reference, candidate) == 1


def test_a_value_of_history_does_not_count() -> None:
    assert mistakes_of("HER2 3+. Clinical history: HER2 0.", "HER2 3+.") == []


def test_an_error_in_words_costs_by_its_severity() -> None:
    reference = "Duodenum, Marsh 3a."
    near = value_of("grade", reference, "Duodenum, Marsh 3c.")
    far = value_of("grade", reference, "Duodenum, Marsh 0.")
    assert 1 > near > far


def test_each_part_has_its_own_errors() -> None:
    parts = parts_of("pT2, HER2 0, margins clear.", "pT3, HER2 3+, margins involved.")
    listed = {name for name, part in parts.items() if part.mistakes}
    assert {"stage", "markers", "findings"} <= listed


@from_table
def test_a_value_that_is_left_open_or_taken_back_is_no_match(
    stated: str, open_: str, wrong: str
) -> None:
    (hedged,), (plain, *_) = mistakes_of(stated, open_), mistakes_of(stated, wrong)
    assert Severity.MINOR < hedged.severity < plain.severity
    assert hedged.kind == plain.kind


@from_table
def test_two_reports_that_leave_the_same_open_agree(both: str) -> None:
    assert mistakes_of(both, both) == []
