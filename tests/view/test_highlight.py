"""Spans are cut into pieces once; every renderer shows each character once."""

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from histoeval.view.highlight import HighlightSpan, coloured, html, in_brackets, pieces

spans = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 40)).map(
        lambda ends: HighlightSpan(*ends, label="1", kind="k")
    ),
    max_size=6,
)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30), spans)
def test_every_renderer_shows_each_character_once(text: str, found: list[HighlightSpan]) -> None:
    cut = list(pieces(text, found))
    assert "".join(piece.text for piece in cut) == text
    assert all(sum(span in piece.starting for piece in cut) <= 1 for span in set(found))
    bare = [span._replace(label="") for span in found]
    assert coloured(text, bare).plain == text
    inside = [span for span in found if span.start < span.end <= len(text)]
    assert len(in_brackets(text, inside).plain) == len(text) + len("[](1)") * len(inside)
    assert unescape(re.sub(r"<[^>]*>", "", html(text, bare))) == text


def test_outer_spans_start_first_and_end_last() -> None:
    outer, inner = HighlightSpan(0, 6, "outer"), HighlightSpan(2, 6, "inner")
    assert in_brackets("abcdef", [inner, outer]).plain == "[ab[cdef](inner)](outer)"


def test_html_has_all_kinds_of_a_piece_and_links_its_labels() -> None:
    found = [HighlightSpan(0, 3, "1", kind="denied"), HighlightSpan(1, 3, "2", kind="unknown")]
    assert html("a<b", found, "r1") == (
        '<mark class="denied">a</mark><mark class="denied unknown">&lt;b</mark>'
        '<sup><a href="#r1-1">1</a></sup><sup><a href="#r1-2">2</a></sup>'
    )


def test_of_spans_that_light_up_the_worst_is_shown_whole_with_one_sign_and_labels_behind() -> None:
    whole = HighlightSpan(0, 5, "!!1", kind="invented", mark="e1", rank=2)
    within = HighlightSpan(1, 3, "=1", kind="matched", mark="m1")
    beyond = HighlightSpan(4, 6, "!2", kind="omitted", mark="e2", rank=1)
    shown = str(html("abcdef", [within, whole, beyond]))
    assert re.sub(r' data-mark="[^"]*"', "", shown) == (
        '<mark class="invented">a</mark><mark class="invented more">bc</mark>'
        '<mark class="invented more">d</mark><mark class="invented more">e</mark>'
        '<sup class="matched">=1</sup><sup class="invented">!!1</sup>'
        '<mark class="omitted">f</mark><sup class="omitted">!2</sup>'
    )
    assert 'data-mark="e1 m1">bc<' in shown


def test_deletions_and_insertions_are_elements_of_their_own() -> None:
    found = [HighlightSpan(0, 1, kind="del"), HighlightSpan(1, 2, kind="ins same")]
    assert html("ab", found) == '<del>a</del><ins class="same">b</ins>'


def test_a_span_beyond_the_text_is_cut_and_an_empty_one_ignored() -> None:
    found = [HighlightSpan(1, 9, kind="k"), HighlightSpan(5, 9, kind="k"), HighlightSpan(0, 0)]
    assert html("ab", found) == 'a<mark class="k">b</mark>'
