"""Left, right or both."""

from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.values.laterality import Side, side_of
from tests.support.tables import from_table


@from_table
def test_a_phrase_names_a_side(phrase: str, side: str | None) -> None:
    assert side_of(phrase) == side


def test_turning_the_side_turns_the_answer() -> None:
    for phrase in ("left breast mass", "the left kidney, upper pole", "mass of left lobe of liver"):
        assert side_of(phrase) is Side.LEFT
        assert side_of(phrase.replace("left", "right")) is Side.RIGHT


@given(st.text(max_size=60))
def test_any_text_has_one_side_or_none(text: str) -> None:
    assert side_of(text) in {None, *Side}
