"""Markers are found under all their names, and only there."""

import tomllib
from importlib.resources import files

from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.values.markers import (
    find_markers,
    known_markers,
    marker_of,
    named_markers,
)
from tests.support.tables import from_table, rows_of


@from_table
def test_a_marker_is_known_by_any_of_its_names(phrase: str, marker: str) -> None:
    assert find_markers(phrase) == (marker,)
    assert marker_of(phrase) == marker


@from_table
def test_a_phrase_names_its_markers_in_their_order(phrase: str, markers: tuple[str, ...]) -> None:
    assert find_markers(phrase) == markers


def test_every_name_of_the_data_leads_to_its_marker_and_to_no_other() -> None:
    data = tomllib.loads(files("histoeval.terms").joinpath("data/markers.toml").read_text("utf-8"))
    names = [(n, row["name"]) for row in data["marker"] for n in (row["name"], *row["aliases"])]
    assert [(n, marker) for n, marker in names if find_markers(n) != (marker,)] == []
    assert {marker for row in data["group"] for marker in row["markers"]} <= known_markers()


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert set(find_markers(text)) <= known_markers()


NAMES = rows_of(test_a_marker_is_known_by_any_of_its_names)


@given(st.sampled_from(NAMES), st.sampled_from(["", " ", ":", " stain", "."]))
def test_what_stands_around_a_name_does_not_matter(name: list[str], after: str) -> None:
    assert marker_of(f"  {name[0]}{after}" if name[0] != "er" else name[0]) == name[1]


@from_table
def test_markers_stand_where_they_are_named(text: str, names: list[str]) -> None:
    assert [text[each.start : each.end] for each in named_markers(text)] == names
