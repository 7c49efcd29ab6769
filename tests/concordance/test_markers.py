"""Markers that only one report has."""

from histoeval.concordance.evidence import Severity
from tests.support.report_builder import mistakes_of
from tests.support.tables import from_table

LEUKAEMIA = "{diagnosis:Acute myeloid leukaemia}."


@from_table
def test_to_leave_a_marker_out_is_as_bad_as_what_it_decides(
    marker: str, severity: Severity
) -> None:
    (missed,) = mistakes_of(f"{LEUKAEMIA} {marker}", LEUKAEMIA)
    assert missed.severity == severity


def test_other_words_for_what_a_marker_shows_make_it_less() -> None:
    reference = f"{LEUKAEMIA} {{marker:Congo red}} {{result:positive}}."
    silent = mistakes_of(reference, LEUKAEMIA)
    told = mistakes_of(reference, f"{LEUKAEMIA} Amyloid in the vessels.")
    assert max(each.severity for each in told if each.part == "markers") == Severity.MODERATE
    assert max(each.severity for each in silent) >= Severity.MAJOR
