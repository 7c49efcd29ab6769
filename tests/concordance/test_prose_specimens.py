"""Two reports in prose, which tell of their specimens in sentences."""

from histoeval.concordance.evidence import ErrorKind, Severity
from histoeval.concordance.specimens.compare import compare_reports
from histoeval.concordance.specimens.matching import match_prose
from tests.support.report_builder import alike, facts
from tests.support.tables import from_table

STOMACH = (
    "The {site:antrum} shows {diagnosis:adenocarcinoma} with {finding:necrosis}. "
    "The {site:fundus} shows a {diagnosis:hyperplastic polyp}."
)


def told(reference: str, candidate: str) -> list[tuple[ErrorKind, Severity]]:
    parts = compare_reports(facts(reference), facts(candidate), alike)
    found = parts["specimens"].mistakes if "specimens" in parts else ()
    return [(error.kind, error.severity) for error in found]


def test_diagnoses_that_change_places_in_prose_are_one_critical_error() -> None:
    candidate = (
        "The {site:antrum} shows a {diagnosis:hyperplastic polyp}. "
        "The {site:fundus} shows {diagnosis:adenocarcinoma} with {finding:necrosis}."
    )
    assert told(STOMACH, candidate) == [(ErrorKind.SWAPPED_SPECIMENS, Severity.CRITICAL)]


def test_a_finding_told_of_another_place_is_moved() -> None:
    candidate = (
        "The {site:antrum} shows {diagnosis:adenocarcinoma}. "
        "The {site:fundus} shows a {diagnosis:hyperplastic polyp} with {finding:necrosis}."
    )
    assert told(STOMACH, candidate) == [(ErrorKind.MOVED_FINDING, Severity.MAJOR)]


@from_table
def test_the_same_told_in_another_order_or_form_is_no_error(candidate: str) -> None:
    assert told(STOMACH, candidate) == []


def test_a_margin_that_is_reached_elsewhere_is_moved() -> None:
    reference = (
        "The {site:nose} shows {diagnosis:basal cell carcinoma} reaching the deep margin; "
        "the {site:temple} shows {diagnosis:actinic keratosis}."
    )
    candidate = (
        "The {site:nose} shows {diagnosis:basal cell carcinoma}; "
        "the {site:temple} shows {diagnosis:actinic keratosis}, reaching the deep margin."
    )
    assert told(reference, candidate) == [(ErrorKind.MOVED_FINDING, Severity.MAJOR)]


def test_a_sentence_that_names_no_place_may_stand_anywhere() -> None:
    rest = " {finding:Lymphovascular invasion} is present. {marker:HER2} {result:positive}."
    first, second = STOMACH.split(". ", 1)
    assert told(STOMACH + rest, f"{first}.{rest} {second}") == []


def test_a_place_that_only_one_report_names_is_not_matched() -> None:
    assert match_prose("The antrum shows A. The fundus shows B.", "Gastritis.") is None
    assert match_prose("Gastritis, chronic and active.", "The antrum shows gastritis.") is None
