"""The page on trust: whole in itself, everything marked, nothing of the input taken for HTML."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("openslide")

import histoeval.run.trust.reports
from histoeval.api import trust as trust_reports
from histoeval.view.figures.evidence import COLOURS
from histoeval.view.html.trust import MAX_CHARS, TextFinding, findings_of, shown_text
from tests.support.colour_encoder import ColourEncoder
from tests.support.groundings import judged_grounding
from tests.support.html_pages import HtmlPage
from tests.support.painted_slides import stained, write_pyramid
from tests.support.trust_runs import (
    ROWS,
    TORN,
    TRUE,
    judged,
    painted_folder,  # noqa: F401
    quick_instruments,  # noqa: F401
    write,
)


@pytest.fixture
def page(folder: Path, quick: object) -> HtmlPage:
    odd = {**ROWS[0], "id": "<script>alert(1)</script>", "report": f"{TRUE} <img src=x> & more"}
    bare = [{"id": "bare", "report": TORN}, {"id": "calm", "report": TRUE}]
    write(folder / "reports.csv", [*ROWS, odd, *bare])
    judged(folder)
    return HtmlPage((folder / "out" / "report.html").read_text("utf-8"))


def test_the_page_needs_no_other_file_and_no_network(page: HtmlPage) -> None:
    sources, links = page.values("src"), page.values("href")
    assert sources
    assert all(source.startswith("data:image/jpeg;base64,") for source in sources)
    assert all(link.startswith(("#", "evidence/")) for link in links)
    assert {link[1:] for link in links if link.startswith("#")} <= {*page.values("id")}


def test_texts_verdicts_and_reasons_are_shown_as_they_are(page: HtmlPage) -> None:
    shown = re.sub(r"\s+", " ", "".join(text for *_, text in page.texts))
    for said in (
        "<script>alert(1)</script>",
        "<img src=x> & more",
        "review",
        "reject",
        "cannot both be true",
        "No image belongs to this report.",
        "With a misleading request: ",
    ):
        assert said in shown


def test_reports_speak_to_clinicians_first(folder: Path, quick: object) -> None:
    write(folder / "reports.csv", [*ROWS, {"id": "calm", "report": TRUE}])
    judged(folder)
    page = (folder / "out" / "report.html").read_text("utf-8")
    shown, technical = page[page.index("<main") :].split('<details class="technical">')
    for internal in (r"--\w", r"[a-z]_[a-z]", "@[0-9a-f]{12}", "cosine", r"\d\.\d\d", "decoy"):
        assert re.search(internal, re.sub(r"<[^>]*>", "", shown)) is None, internal
    for engineers in ("no_attacked_reports", "with_endpoint@", "trust lies between", "distance"):
        assert engineers in technical
    for check in ("Grounding compares", "Logic reads", "Stability asks"):
        assert check in shown
    assert "Do not use it: the report contradicts itself" in shown


def test_the_worst_come_first_with_counts_and_what_to_do(folder: Path, quick: object) -> None:
    write(folder / "reports.csv", [*ROWS, {"id": "calm", "report": TRUE}])
    judged(folder)
    page = (folder / "out" / "report.html").read_text("utf-8")
    assert re.findall(r'<section id="(\w+)" data-verdict="(\w+)"', page) == [
        ("r2", "reject"),
        ("r1", "review"),
        ("r3", "review"),
    ]
    counts = re.findall(r'<button type="button" value="(\w+)"[^>]*>\w+ (\d+)<', page)
    assert counts == [("all", "3"), ("reject", "1"), ("review", "2"), ("deploy", "0")]
    assert re.search(r"<li>cancer was not checked <b>2</b>", page)
    assert "Do not use the rejected reports (1)." in page
    assert "Name the image of each report" in page


def test_what_was_found_is_marked_in_the_text(page: HtmlPage) -> None:
    marks = [(each["class"], text) for tag, each, text in page.texts if tag == "mark"]
    kinds = {word for classes, _ in marks for word in classes.split()}
    assert "contradicted" in kinds
    assert "unknown" in kinds, "the encoder was never validated"
    assert any("adenocarcinoma" in text for _, text in marks)
    assert any("denied" in classes and "invasion" in text for classes, text in marks)


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
    late = TextFinding(MAX_CHARS + 5, MAX_CHARS + 9, "refuted", "late")
    over = TextFinding(MAX_CHARS - 2, MAX_CHARS + 2, "refuted", "over the edge")
    page = shown_text(text, [over, late], "r1")
    assert f"{len(text) - MAX_CHARS:,} more characters" in page
    assert len(page) < MAX_CHARS + 500


def test_claims_are_told_apart_by_what_the_image_says_of_them() -> None:
    marks = findings_of({"grounding": judged_grounding().model_dump(mode="json")})
    assert [mark.kind for mark in marks] == ["supported", "refuted", "unknown", "unknown"]
    assert marks[0].line.endswith("supported by the image; the tissue looks like prostate")
    assert "never seen" in marks[2].line
    assert "no verdict" in marks[3].line


def test_a_report_shows_what_the_image_says_and_the_tiles_of_each_claim(
    folder: Path, monkeypatch: pytest.MonkeyPatch, quick: object
) -> None:
    grounding = judged_grounding()
    monkeypatch.setattr(histoeval.run.trust.reports, "ground", lambda *_: grounding)
    write(folder / "reports.csv", ROWS[:1])
    judged(folder)
    text = (folder / "out" / "report.html").read_text("utf-8")
    page = HtmlPage(text)
    shown = re.sub(r"\s+", " ", " ".join(text for *_, text in page.texts))
    for said in (
        "image: contradicted",
        "the tissue looks like prostate & not like colon",
        "crypts of the <colon>: contradicted by the image; the image shows <b>renal tubules</b>",
        "120 of 337 patches of the image speak for it",
        "organ seen: prostate (84% of patches); organs that fit the report: colon",
        "calibrated value: 0.90",
    ):
        assert said in shown
    assert "<b>renal" not in text
    assert "0.314" not in text
    item = text[text.index('<li id="r1-1"') : text.index('<li id="r1-2"')]
    assert item.count("<figure>") == 2
    assert "evidence/00001_01_spot.png" in item
    assert "evidence/00001_01_against.png" in item


def test_a_heatmap_has_a_scale_and_an_encoder(folder: Path, quick: object) -> None:
    class Hasty(ColourEncoder):
        identity = "hasty-1"

    pixels = np.tile(stained(448, 448), (1, 3, 1))
    write_pyramid(folder / "case.tif", pixels, 0.5)
    rows = [{"id": "one", "image": "case.tif", "report": TRUE}]
    out = folder / "out"
    trust_reports(rows, images=folder, output=out, encoder=[ColourEncoder(), Hasty()])
    page = (out / "report.html").read_text("utf-8")
    shown, technical = page[page.index("<main") :].split('<details class="technical">')
    scale = '<span class="scale"><span>least</span><i></i><span>most</span></span>'
    assert shown.count(scale) == shown.count("<figcaption>where the image speaks for it") > 0
    assert "Of 2 image models: not known, not known." in shown
    assert "colours-1" not in shown
    assert "heatmaps by colours-1" in technical
    assert "hasty-1: not known" in technical
    for _, (red, green, blue) in COLOURS:
        assert f"rgb({red} {green} {blue})" in page
