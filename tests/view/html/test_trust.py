"""The page on trust: whole in itself, everything marked, nothing of the input taken for HTML."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("openslide")

from histoeval.view.html.trust import MAX_CHARS, TextFinding, findings_of, shown_text
from tests.support.trust_runs import (
    ROWS,
    TORN,
    TRUE,
    judged,
    painted_folder,  # noqa: F401
    quick_instruments,  # noqa: F401
    write,
)

OPEN = {"meta", "img", "br"}
"""Elements that are never closed."""


class Balanced(HTMLParser):
    """Fails where elements are not closed in order; keeps what is shown and linked."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.links: list[str] = []
        self.shown: list[str] = []
        self.ids: list[str] = []
        self.marks: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        self.links += [told["href"]] if "href" in told else []
        self.shown += [told["src"]] if "src" in told else []
        self.ids += [told["id"]] if "id" in told else []
        if tag not in OPEN:
            self.open.append(tag)
        if tag == "mark":
            self.marks.append((told["class"], ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self.open and self.open[-1] == "mark":
            self.marks[-1] = (self.marks[-1][0], data)


def parsed(page: str) -> Balanced:
    found = Balanced()
    found.feed(page)
    found.close()
    assert not found.open
    return found


@pytest.fixture
def page(folder: Path, quick: object) -> Balanced:
    odd = {**ROWS[0], "id": "<script>alert(1)</script>", "report": f"{TRUE} <img src=x> & more"}
    bare = [{"id": "bare", "report": TORN}, {"id": "calm", "report": TRUE}]
    write(folder / "reports.csv", [*ROWS, odd, *bare])
    judged(folder)
    return parsed((folder / "out" / "report.html").read_text("utf-8"))


def test_the_page_needs_no_other_file_and_no_network(page: Balanced) -> None:
    assert page.shown
    assert all(source.startswith("data:image/jpeg;base64,") for source in page.shown)
    assert all(link.startswith(("#", "evidence/")) for link in page.links)
    assert {link[1:] for link in page.links if link.startswith("#")} <= {*page.ids}
    assert "script" not in page.open


def test_texts_verdicts_and_reasons_are_shown_as_they_are(page: Balanced) -> None:
    shown = re.sub(r"\s+", " ", "".join(page.text))
    for said in (
        "<script>alert(1)</script>",
        "<img src=x> & more",
        "review",
        "reject",
        "cannot both be true",
        "trust lies between",
        "names no image",
        "Under attack; moved most by: prompt",
    ):
        assert said in shown


def test_what_was_found_is_marked_in_the_text(page: Balanced) -> None:
    kinds = {word for classes, _ in page.marks for word in classes.split()}
    assert "contradicted" in kinds
    assert kinds & {"supported", "unsupported"}
    assert any("adenocarcinoma" in text for _, text in page.marks)
    assert any("denied" in classes and "invasion" in text for classes, text in page.marks)


spans = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.sampled_from(["supported", "unknown"])),
    max_size=5,
)


@given(st.text(min_size=1, max_size=30), spans)
def test_marking_loses_and_adds_no_character(text: str, found: list[tuple[int, int, str]]) -> None:
    marks = [
        TextFinding(start, min(len(text), start + length), kind, "line")
        for start, length, kind in found
        if start < len(text)
    ]
    page = shown_text(text, marks, "r1")
    bare = re.sub(r"<sup>.*?</sup>", "", page)
    assert unescape(re.sub(r"</?mark[^>]*>", "", bare)) == text
    assert page.count("<sup>") == len(marks)


def test_of_a_very_long_report_only_the_beginning_is_shown() -> None:
    text = "word " * MAX_CHARS
    late = TextFinding(MAX_CHARS + 5, MAX_CHARS + 9, "unsupported", "late")
    over = TextFinding(MAX_CHARS - 2, MAX_CHARS + 2, "unsupported", "over the edge")
    page = shown_text(text, [over, late], "r1")
    assert f"{len(text) - MAX_CHARS:,} more characters" in page
    assert len(page) < MAX_CHARS + 500


def test_claims_are_told_apart_by_what_the_image_says_of_them() -> None:
    def support(value: float | None, unknown: str | None = None) -> dict[str, object]:
        span = {"text": "x", "start": 0, "end": 1}
        return {
            "claim": {"span": span, "phrase": "gland"},
            "cosine": None if value is None else 0.3,
            "value": value,
            "spot": {"x": 1, "y": 2, "width": 3, "height": 4},
            "unknown": unknown,
        }

    told = [support(0.7), support(0.2), support(None, "never seen")]
    marks = findings_of({"grounding": {"supports": told, "denied": []}})
    assert [mark.kind for mark in marks] == ["supported", "unsupported", "unknown"]
    assert "never seen" in marks[2].line
