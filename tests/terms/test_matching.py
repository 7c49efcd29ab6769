"""Names found in phrases."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.matching import NameMatch, NameMatcher, in_capitals
from histoeval.terms.plain import words_of
from tests.support.tables import from_table

NAMES = {
    "carcinoma": "carcinoma",
    "squamous cell carcinoma": "squamous",
    "cell": "cell",
    "carcinoma in situ": "in_situ",
    "ALL": "leukaemia",
    "IDC": "ductal",
    "pCR": "response",
    "CIN 3": "cin",
    "CK7": "keratin",
    "helicobacter pylori": "helicobacter",
    "H. pylori": "helicobacter",
    "B-ALL": "b_leukaemia",
}


@pytest.fixture(scope="module")
def matcher() -> NameMatcher:
    return NameMatcher(NAMES)


def ids(matcher: NameMatcher, phrase: str) -> list[str]:
    return [match.id for match in matcher.find(phrase)]


def test_the_longest_name_wins_and_says_where_it_stands(matcher: NameMatcher) -> None:
    assert matcher.find("a Squamous-cell carcinoma.") == (NameMatch(2, 25, "squamous"),)


def test_where_two_overlap_the_longer_one_wins_though_it_begins_later() -> None:
    assert ids(NameMatcher({"a b": "short", "b c d": "long"}), "a b c d") == ["long"]


def test_names_are_given_from_left_to_right(matcher: NameMatcher) -> None:
    assert ids(matcher, "cells, squamous cell carcinoma and carcinomas") == [
        "cell",
        "squamous",
        "carcinoma",
    ]


@from_table
def test_abbreviations_stand_as_they_are_typed(
    matcher: NameMatcher, phrase: str, expected: list[str]
) -> None:
    assert ids(matcher, phrase) == expected


@from_table
def test_no_name_reaches_over_the_end_of_a_statement(matcher: NameMatcher, phrase: str) -> None:
    assert ids(matcher, phrase) == ["carcinoma"]


def test_the_point_of_an_initial_ends_no_statement(matcher: NameMatcher) -> None:
    assert ids(matcher, "H. pylori") == ["helicobacter"]


def test_exact_wants_the_whole_phrase(matcher: NameMatcher) -> None:
    assert matcher.exact("Carcinomas, squamous") is None
    assert matcher.exact("Squamous-cell carcinomas") == "squamous"
    assert matcher.exact("IDC") == "ductal"
    assert matcher.exact("") is None


def test_a_name_of_two_things_is_refused() -> None:
    with pytest.raises(ValueError, match="names both"):
        NameMatcher({"tumour": "a", "Tumors": "b"})


def test_a_name_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="no word"):
        NameMatcher({"--": "a"})


def test_names_learnt_later_are_found() -> None:
    matcher = NameMatcher({"one": "1"})
    assert ids(matcher, "one two") == ["1"]
    matcher.learn({"two": "2"})
    assert ids(matcher, "one two") == ["1", "2"]


@given(st.text(alphabet="abcIDLA .-;,", max_size=60))
def test_matches_never_overlap_and_lie_in_the_phrase(phrase: str) -> None:
    found = NameMatcher({"a": "a", "a b": "ab", "b c a": "bca", "ID": "id", "AL": "al"}).find(
        phrase
    )
    ends = [0, *(match.end for match in found)]
    assert all(end <= match.start < match.end for end, match in zip(ends, found, strict=False))
    assert ends[-1] <= len(phrase)


def test_a_text_twice_as_long_takes_about_twice_the_time(matcher: NameMatcher) -> None:
    def seconds(words: int) -> float:
        text = "squamous cell in situ carcinoma " * words
        begin = time.process_time()
        matcher.find(text)
        return time.process_time() - begin

    seconds(500)
    assert min(seconds(4_000) for _ in range(3)) < 5 * min(seconds(2_000) for _ in range(3))


@from_table
def test_a_phrase_in_capitals_has_no_small_letter_of_any_alphabet(
    phrase: str, capitals: bool
) -> None:
    assert in_capitals(phrase, words_of(phrase)) == capitals
