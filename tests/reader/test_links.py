"""The codes of pairs, against loops that count by hand."""

import re
import time
from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.reader.links import KINDS, LEVELS, Mention, candidates
from histoeval.report import RELATION_TYPES, EntityType

TYPES = list(EntityType)
STEPS = [1, 2, 3, 4, 6, 9, 14, 22, 36, 60, 100]
MARKS = [
    *(r"[.!?](?=\s|$)", ";", ":", ",", r"\(", r"\)", r"\band\b|&", r"\bwith\b", r"\bof\b"),
    *(r"\b(in|at|from|within)\b", r"\bfor\b", r"\b(no|not|negative|without)\b"),
    *(r"\b(is|are|was|were|show|shows|measur\w+)\b", "/", r"\d+\s*[.)]"),
]
PIECES = [
    *("carcinoma", "of", "the", "breast", "and", "&", "with", "in", "within", "for", "no", "not"),
    *("negative", "is", "shows", "measuring", "2.", "13)", "3", "cm", "ER", "a/b", "(x)", "end."),
    *("a;", "b:", "c,", "what?", "OF", "With"),
]


class Naive:
    """The same codes, one pair and one word at a time."""

    def __init__(self, text: str, mentions: list[Mention]) -> None:
        self.text, self.mentions = text, mentions
        self.words = [found.start() for found in re.finditer(r"\S+", text)]

    def words_between(self, one: int, other: int) -> int:
        first, second = (self.mentions[i] for i in sorted((one, other)))
        return sum(first.end <= word < second.start for word in self.words)

    def distance(self, one: int, other: int) -> int:
        """Words from the end of one to the start of the other, and none within one."""
        return 0 if one == other else self.words_between(one, other)

    def step(self, words: int) -> int:
        return bisect_right(STEPS, words)

    def marks(self, low: int, high: int) -> list[int]:
        opened, closed = self.mentions[low].end, self.mentions[high].start
        found = [re.finditer(mark, self.text, re.IGNORECASE) for mark in MARKS]
        return [sum(opened <= mark.start() < closed for mark in each) for each in found]

    def rivals(self, head: int, tail: int) -> list[int]:
        kinds = [mention.type for mention in self.mentions]
        here = self.distance(head, tail)
        bearers = {EntityType.DIAGNOSIS, EntityType.FINDING}
        heads = [i for i, kind in enumerate(kinds) if kind == kinds[head]]
        tails = [i for i, kind in enumerate(kinds) if kind == kinds[tail]]
        return [
            sum(self.distance(i, tail) < here for i in heads),
            sum(self.distance(i, head) < here for i in tails),
            sum(self.distance(i, tail) < here for i, kind in enumerate(kinds) if kind in bearers),
            sum(i < tail for i in heads),
            sum(i > tail for i in heads),
            sum(i < head for i in tails),
            sum(i > head for i in tails),
            len(heads) - 1,
            len(tails) - 1,
        ]

    def neighbour(self, place: int) -> int:
        there = 0 <= place < len(self.mentions)
        return TYPES.index(self.mentions[place].type) + 1 if there else 0

    def gap(self, place: int, other: int) -> int:
        if not 0 <= other < len(self.mentions):
            return LEVELS - 1
        return min(self.step(self.words_between(place, other)), LEVELS - 2)

    def codes(self, head: int, tail: int) -> list[int]:
        low, high = sorted((head, tail))
        after = int(tail > head)
        inside = [mention.type for mention in self.mentions[low + 1 : high]]
        codes = [
            self.step(self.words_between(head, tail)),
            after,
            6 * after + min(len(inside), 5),
            *self.marks(low, high),
            *(inside.count(kind) for kind in TYPES),
            *self.rivals(head, tail),
            *(self.neighbour(place + by) for place in (head, tail) for by in (-2, -1, 1, 2)),
            *(self.gap(place, place + by) for place in (head, tail) for by in (-1, 1)),
        ]
        return [min(code, LEVELS - 1) for code in codes]


def texts_with_mentions(longest: int = 40) -> st.SearchStrategy[tuple[str, list[Mention]]]:
    """Texts of words that count for something, with entities of any type on some of them."""
    kinds = st.one_of(st.none(), st.sampled_from(TYPES))
    spaces = st.sampled_from([" ", " ", "  ", "\n"])
    return st.lists(
        st.tuples(st.sampled_from(PIECES), spaces, kinds), min_size=1, max_size=longest
    ).map(_lay_out)


def _lay_out(
    drawn: list[tuple[str, str, EntityType | None]],
) -> tuple[str, list[Mention]]:
    text, mentions = "", []
    for word, space, kind in drawn:
        if kind is not None:
            mentions.append(Mention(len(text), len(text) + len(word), kind))
        text += word + space
    return text, mentions


@given(texts_with_mentions())
def test_candidates_are_the_pairs_of_types_that_can_be_related_and_no_others(
    drawn: tuple[str, list[Mention]],
) -> None:
    text, mentions = drawn
    found = candidates(text, mentions)
    expected = {
        (head, tail)
        for head, one in enumerate(mentions)
        for tail, other in enumerate(mentions)
        if (one.type, other.type) in RELATION_TYPES
    }
    assert len(found.pairs) == len(expected)
    assert {(int(head), int(tail)) for head, tail in found.pairs} == expected
    for (head, tail), kind in zip(found.pairs, found.kinds, strict=True):
        assert KINDS[kind] == (mentions[head].type, mentions[tail].type)


@given(texts_with_mentions())
def test_codes_are_what_counting_by_hand_gives(drawn: tuple[str, list[Mention]]) -> None:
    text, mentions = drawn
    found, naive = candidates(text, mentions), Naive(text, mentions)
    for (head, tail), codes in zip(found.pairs.tolist(), found.codes.tolist(), strict=True):
        assert codes == naive.codes(head, tail)


@given(texts_with_mentions(), st.integers(1, 400))
def test_codes_stay_within_their_levels_however_far_apart(
    drawn: tuple[str, list[Mention]], far: int
) -> None:
    text, mentions = drawn
    gap = "and, of; 1. " * far
    text += gap + "end"
    mentions = [*mentions, Mention(len(text) - 3, len(text), EntityType.SITE)]
    codes = candidates(text, [Mention(0, 1, EntityType.FINDING), *mentions]).codes
    assert codes.size
    assert 0 <= codes.min() <= codes.max() < LEVELS


def test_a_text_without_entities_has_no_candidates() -> None:
    found = candidates("Nothing to see.", [])
    assert (len(found.pairs), len(found.kinds), len(found.codes)) == (0, 0, 0)


@pytest.mark.parametrize("unit", ["1", "1 ", " ", ".", "measur", "a"])
def test_a_long_run_of_anything_is_coded_in_no_time(unit: str) -> None:
    text = "carcinoma " + unit * (300_000 // len(unit)) + " lung"
    ends = [Mention(0, 9, EntityType.DIAGNOSIS), Mention(len(text) - 4, len(text), EntityType.SITE)]
    started = time.process_time()
    assert len(candidates(text, ends).pairs) == 1
    assert time.process_time() - started < 5
