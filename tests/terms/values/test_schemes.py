"""Classes, grades and scores of named schemes, read from whole texts."""

from histoeval.terms.values.schemes import read_schemes, scheme_severity
from histoeval.terms.values.stated import conflicts
from tests.support.tables import from_table


def worst(reference: str, candidate: str) -> int:
    found = conflicts(read_schemes(reference), read_schemes(candidate), scheme_severity)
    return max((severity for _, _, severity in found), default=0)


@from_table
def test_a_class_is_read_in_figures_numerals_and_words(
    text: str, axis: str, options: set[str]
) -> None:
    assert [each.options for each in read_schemes(text) if each.axis == axis] == [options]


def test_a_class_has_its_place_in_the_text() -> None:
    text = "Heart graft: moderate rejection, ISHLT 2R."
    assert [text[each.start : each.end] for each in read_schemes(text) if each.axis == "ISHLT"] == [
        "2R"
    ]


@from_table
def test_two_ways_to_write_a_class_agree(one: str, other: str) -> None:
    assert worst(one, other) == 0
    assert worst(other, one) == 0


@from_table
def test_what_changes_the_treatment_is_more_severe(one: str, other: str, severity: int) -> None:
    assert worst(one, other) == severity


def test_a_class_that_is_denied_or_left_out_is_no_conflict() -> None:
    assert worst("Kidney graft: borderline changes", "Kidney graft: no borderline changes") == 0
    assert worst("Thyroid: Bethesda II, benign", "Thyroid: benign nodule") == 0


def test_one_of_several_classes_that_changed_is_found() -> None:
    reference = "Prostate, apex: Gleason 3+3=6. Prostate, base: Gleason 3+4=7."
    candidate = "Prostate, apex: Gleason 3+3=6. Prostate, base: Gleason 4+4=8."
    assert worst(reference, candidate) == 3
    assert worst(reference, "Base of prostate: Gleason 3+4=7. Apex: Gleason 3+3=6.") == 0
