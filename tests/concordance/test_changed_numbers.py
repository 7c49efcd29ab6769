"""Numbers and degrees that changed though nobody read them."""

from histoeval.concordance.changed_numbers import with_degrees, with_numbers
from histoeval.concordance.evidence import NOT_MENTIONED, ComparedPart, ErrorKind
from tests.support.tables import from_table


@from_table
def test_a_number_in_the_place_of_another_costs(true: str, said: str) -> None:
    part = with_numbers(NOT_MENTIONED, 0, true, said)
    assert part.value is not None
    assert 0 < part.value < 1
    assert [each.kind for each in part.mistakes] == [ErrorKind.MEASUREMENT_MISMATCH]
    assert with_numbers(NOT_MENTIONED, 1, true, said) == NOT_MENTIONED


@from_table
def test_another_way_to_write_a_number_costs_nothing(true: str, said: str) -> None:
    assert with_numbers(ComparedPart(0.7), 0, true, said) == ComparedPart(0.7)


def test_another_degree_costs_and_another_word_for_it_does_not() -> None:
    worse = with_degrees(ComparedPart(1.0), "mild gastritis", "severe gastritis")
    assert worse.value is not None
    assert worse.value < 1
    assert [each.kind for each in worse.mistakes] == [ErrorKind.WRONG_GRADE]
    assert with_degrees(ComparedPart(1.0), "slight gastritis", "mild gastritis").value == 1
    assert with_degrees(ComparedPart(1.0), "mild gastritis", "gastritis").value == 1
    assert with_degrees(worse, "mild gastritis", "severe gastritis") == worse
