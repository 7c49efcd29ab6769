"""Stages are read from all the ways they are written, and compared axis by axis."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.values.stages import Stage, agreement, read_stage
from tests.support.tables import from_table, rows_of


@from_table
def test_a_stage_is_read_axis_by_axis(
    phrase: str,
    t: str | None,
    n: str | None,
    m: str | None,
    group: str | None,
    prefix: str | None,
) -> None:
    assert read_stage(phrase) == Stage(t, n, m, group, prefix)


@from_table
def test_other_phrases_give_no_stage(phrase: str) -> None:
    assert read_stage(phrase) is None


def close(a: str, b: str) -> float:
    one, other = read_stage(a), read_stage(b)
    assert one is not None
    assert other is not None
    return agreement(one, other)


@from_table
def test_agreement_falls_with_every_step_away(phrases: tuple[str, ...]) -> None:
    falling = [close(phrases[0], other) for other in phrases]
    assert falling == sorted(set(falling), reverse=True)


def test_involved_nodes_agree_however_many() -> None:
    assert close("pN1", "N+") > 0.8


PHRASES = [phrase for phrase, *_ in rows_of(test_a_stage_is_read_axis_by_axis)]
pieces = st.lists(
    st.sampled_from("p T N M 0 1 2b x is O l stage FIGO IV II C ( ) sn Dukes".split())
)


@given(
    st.text()
    | pieces.map("".join)
    | st.from_regex(r"(y?p|c)?T[0-4lIx][a-d]? ?N[0-3OX][a-c]? ?M[01xO]")
)
def test_any_text_can_be_read(text: str) -> None:
    stage = read_stage(text)
    if stage is not None:
        assert agreement(stage, stage) == 1
        assert stage != Stage(prefix=stage.prefix)


@given(st.sampled_from(list(product(PHRASES, repeat=2))))
def test_agreement_is_symmetric_and_within_bounds(pair: tuple[str, str]) -> None:
    a, b = pair
    assert 0 <= close(a, b) <= 1
    assert close(a, b) == close(b, a)


@from_table
def test_how_far_apart_two_stages_are(one: str, other: str, alike: float) -> None:
    assert close(one, other) == close(other, one) == pytest.approx(alike)
