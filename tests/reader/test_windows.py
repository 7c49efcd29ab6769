"""Windows overlap, own the text between them, and never hold more than a model can read."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.reader.sentences import sentences
from histoeval.reader.windowed import Measure, Window, windows

REPORT = " ".join(f"Sentence number {i} names a thing that is quite small." for i in range(60))

SCRAPS = st.sampled_from(
    [
        *("Tumor is seen. ", "Nodes are free of tumor in all levels. ", "No. ", "A. ", "- item\n"),
        *("word ", "x", "  ", "\n", "\n\n", "longwordwithoutend"),
    ]
)
TEXTS = st.one_of(st.text(max_size=120), st.lists(SCRAPS, max_size=60).map("".join))
LIMITS = st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1)))


def words(fragment: str) -> int:
    return len(fragment.split())


def letters(fragment: str) -> int:
    return len(fragment)


def joins(fragment: str) -> int:
    """A measure of which the whole is more than its parts."""
    return len(fragment) + fragment.count("s. ")


MEASURES = st.sampled_from([words, letters, joins])


@given(TEXTS, MEASURES, LIMITS)
def test_windows_fit_and_what_they_own_tiles_the_text_and_lies_inside_them(
    text: str, measure: Measure, sizes: tuple[int, int]
) -> None:
    found = windows(text, measure, *sizes)
    if not text.strip():
        assert found == []
        return
    assert found[0].own_start == 0
    assert found[-1].own_end == len(text)
    assert all(a.own_end == b.own_start for a, b in pairwise(found))
    assert all(w.start <= w.own_start < w.own_end <= w.end for w in found)
    assert all(a.start < b.start <= a.end < b.end for a, b in pairwise(found))
    assert all(measure(w.of(text)) <= sizes[0] for w in found)


@given(TEXTS, MEASURES, LIMITS)
def test_a_sentence_that_fits_is_seen_whole_by_the_window_that_owns_its_start(
    text: str, measure: Measure, sizes: tuple[int, int]
) -> None:
    found = windows(text, measure, *sizes)
    starts = [s.start for s in sentences(text)]
    for start, end in pairwise([*starts, len(text)] if starts else []):
        if measure(text[start:end]) <= sizes[0] and start != starts[0]:
            (owner,) = [w for w in found if w.own_start <= start < w.own_end]
            assert owner.start <= start < end <= owner.end


@given(TEXTS, LIMITS)
def test_windows_begin_and_end_with_sentences_that_fit(text: str, sizes: tuple[int, int]) -> None:
    starts = {s.start for s in sentences(text)} | {0, len(text)}
    ordered = sorted(starts)
    if all(words(text[a:b]) <= sizes[0] for a, b in pairwise(ordered)):
        edges = {edge for w in windows(text, words, *sizes) for edge in (w.start, w.end)}
        assert edges <= starts


@pytest.mark.parametrize("text", ["", " \n\t ", "  No tumour.\nFree margins. "])
def test_a_short_text_is_one_window_and_one_without_a_word_none(text: str) -> None:
    whole = [Window(0, len(text), 0, len(text))]
    assert windows(text, words, 10, 2) == (whole if text.strip() else [])


def test_neighbours_share_whole_sentences_and_part_them_in_the_middle() -> None:
    found = windows(REPORT, words, 90, 36)
    assert len(found) > 5
    for a, b in pairwise(found):
        shared = REPORT[b.start : a.end]
        assert 18 < words(shared) <= 36
        assert REPORT[b.start :].startswith("Sentence number")
        assert REPORT[a.own_end :].startswith("Sentence number")
        halves = words(REPORT[b.start : a.own_end]), words(REPORT[a.own_end : a.end])
        assert abs(halves[0] - halves[1]) <= 10


def test_sentences_that_are_too_long_to_share_are_not_shared() -> None:
    found = windows(REPORT, words, 20, 8)
    assert all(a.end == b.start == a.own_end for a, b in pairwise(found))


def test_a_sentence_that_is_too_long_is_cut_between_words_with_overlap() -> None:
    text = "cell " * 500
    found = windows(text, words, 100, 20)
    assert [words(w.of(text)) for w in found[:-1]] == [100] * (len(found) - 1)
    for a, b in pairwise(found):
        assert words(text[b.start : a.end]) == 20
        assert words(text[b.start : a.own_end]) == 10
        assert text[b.start - 1] == text[a.own_end - 1] == " "


def test_a_word_that_is_too_long_is_cut_between_characters_with_overlap() -> None:
    text = "g" * 5000
    found = windows(text, letters, 100, 40)
    assert all(len(w.of(text)) <= 100 for w in found)
    assert all(a.end - b.start >= 20 and b.start < a.own_end < a.end for a, b in pairwise(found))


def test_a_character_that_is_too_long_is_not_refused() -> None:
    found = windows("ab", lambda fragment: 7 * len(fragment), 3, 0)
    assert [(w.start, w.end) for w in found] == [(0, 1), (1, 2)]


@pytest.mark.parametrize(("limit", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_impossible_sizes_are_refused(limit: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="cannot overlap"):
        windows("Text.", words, limit, overlap)


def test_a_measure_is_asked_about_twice_for_each_sentence_of_normal_text() -> None:
    asked: list[str] = []

    def measure(fragment: str) -> int:
        asked.append(fragment)
        return words(fragment)

    windows(REPORT, measure, 90, 18)
    assert len(asked) <= 2 * len(sentences(REPORT))
    assert windows(REPORT, measure, 90, 18) == windows(REPORT, words, 90, 18)


@pytest.mark.parametrize("scrap", ["a", "a ", "\n\na", "Tumor is seen in the left lobe. "])
def test_time_grows_with_the_length_of_the_text(scrap: str) -> None:
    text = scrap * (500_000 // len(scrap))
    start = time.process_time()
    windows(text, letters, 512, 64)
    assert time.process_time() - start < 4
