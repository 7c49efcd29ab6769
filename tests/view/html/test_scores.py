"""The page of a score run: errors first, everything escaped, texts packed, nothing from outside."""

import gzip
import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import InputError, OutputError
from histoeval.view.html import scores as packs
from histoeval.view.html.scores import organ, pair_html, score_page
from tests.support.html_pages import HtmlPage
from tests.support.score_runs import HOSTILE, make_score_run


class Scores(HtmlPage):
    """The page with what its scripts hold."""

    @property
    def scripts(self) -> list[tuple[dict[str, str], str]]:
        return [(each, text) for tag, each, text in self.texts if tag == "script"]

    def index(self) -> Any:
        return json.loads(next(text for each, text in self.scripts if each.get("id") == "pairs"))

    def fragments(self) -> list[str]:
        packs = [text for each, text in self.scripts if "data-pack" in each]
        return [each for text in packs for each in json.loads(gzip.decompress(b64decode(text)))]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_score_run(tmp_path_factory.mktemp("score"))


@pytest.fixture(scope="module")
def text(run: Path) -> str:
    return score_page(run)


@pytest.fixture(scope="module")
def page(text: str) -> Scores:
    return Scores(text)


def test_systems_with_scores_and_critical_errors_come_first_and_pairs_second(text: str) -> None:
    order = ["pairs-heading", "errors", "means", "systems", "signatures"]
    places = [text.index(f'id="{name}"') for name in order]
    assert places == sorted(places)
    headline = text[text.index("<main") : places[0]]
    assert re.findall(r"<dt>(\w)</dt><dd>(\S+)</dd>", headline) == [("b", "0.950"), ("a", "0.750")]
    assert "critical</span> in 1 of 4 reports" in headline
    assert "no critical error in 5 reports" in headline
    for name in order:
        assert f'<a href="#{name}">' in headline


def test_errors_are_told_by_severity_and_kind_of_each_system(text: str) -> None:
    errors, means = text.index('id="errors"'), text.index('id="means"')
    headline = text[errors:means]
    assert "1 of 4 (25 %)" in headline  # reports of a with a critical error
    assert 'data-system="a" data-severity="critical"' in headline
    assert 'data-kind="wrong_laterality"' in headline
    assert headline.index(">b</th>") < headline.index(">a</th>")


def test_means_have_intervals_and_a_distribution(text: str) -> None:
    assert "95 % interval" in text
    assert text.count('<svg class="histogram"') == 4
    assert 'aria-label="marking of a: half of the scores between' in text
    assert "marking|kept:yes|histoeval:" in text


def test_the_index_has_a_row_for_each_pair_and_what_filters_need(page: Scores) -> None:
    index = page.index()
    assert len(index["ids"]) == len(index["kind"]) == len(index["values"][0]) == 10
    first = index["ids"].index("breast-1")
    assert index["organs"][index["organ"][first]] == "breast"
    assert index["severity"][first] == [1, 1, 0, 0]
    assert {index["kinds"][kind] for kind in index["kind"][first]} == {
        "wrong_laterality",
        "wrong_grade",
    }
    blank = [n for n, name in enumerate(index["ids"]) if name == "blank"]
    assert [index["missing"][n] for n in blank] == ["empty_text", ""]
    assert index["values"][0][blank[0]] is None


def test_both_texts_of_a_pair_are_marked_with_shared_keys(page: Scores) -> None:
    first = page.fragments()[0]
    wrong = '<mark class="contradicted critical" data-mark="e1">'
    assert first.count(wrong) == 2
    label = '<sup class="contradicted critical" data-mark="e1">!!!!1</sup>'
    assert f"{wrong}Left</mark>{label}" in first
    assert '<mark class="matched" data-mark="m1">carcinoma</mark>' in first
    third = page.fragments()[4]
    assert '<mark class="omitted moderate" data-mark="e1">Ulceration</mark>' in third
    assert '<mark class="invented minor" data-mark="e2">Margins</mark>' in third
    assert '<span class="severity moderate">moderate</span>' in third


def test_no_text_of_a_report_becomes_an_element_or_steers(page: Scores, text: str) -> None:
    odd = page.fragments()[6]
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in odd
    assert "{{ 7 * 7 }}" in odd
    assert not {"\x1b", "\u202e"} & set("".join(page.fragments()) + text)
    assert {tag for tag, _ in HtmlPage(odd).tags} <= set(
        "div dl dt dd h4 mark sup table thead tbody tr th td button span details summary p "
        "caption i ul li".split()
    )
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert not {"src", "srcset"} & attributes.keys(), tag
        assert attributes.get("href", "#").startswith("#"), tag


def test_only_the_scripts_of_the_page_may_run(page: Scores) -> None:
    policy = next(each["content"] for tag, each in page.tags if "http-equiv" in each)
    code = [script for attributes, script in page.scripts if "type" not in attributes]
    hashes = {b64encode(sha256(script.encode()).digest()).decode() for script in code}
    assert len(code) == 3
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == hashes
    assert "default-src 'none'" in policy
    kinds = {attributes.get("type", "code") for attributes, _ in page.scripts}
    assert kinds == {"code", "application/json", "application/octet-stream"}


def test_json_in_a_page_cannot_end_its_element() -> None:
    content = ["</script><!--", "\u2028&"]
    text = packs.embedded_json(content)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == content


def test_what_has_no_room_is_left_out_and_said(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "PACKED", 2)
    monkeypatch.setattr(packs, "MAX_BYTES", 1)
    found = Scores(score_page(run))
    assert found.index()["shown"] == len(found.fragments()) == 2
    assert "The first 2 of 10 pairs have their texts" in score_page(run)


def test_a_run_that_kept_no_texts_says_how_to_get_them(run: Path, tmp_path: Path) -> None:
    for name in ("scores.jsonl", "summary.json"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    text = score_page(tmp_path)
    assert "it keeps all scores and adds the texts" in text
    assert "wrong laterality" in Scores(text).fragments()[0]


def test_damaged_rows_and_texts_of_another_run_are_errors(run: Path, tmp_path: Path) -> None:
    for name in ("summary.json", "texts.jsonl"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    lines = (run / "scores.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "scores.jsonl").write_bytes(b"".join(lines[2:]))
    with pytest.raises(OutputError, match="does not fit the results"):
        score_page(tmp_path)
    (tmp_path / "scores.jsonl").write_bytes(b"[]\n")
    with pytest.raises(InputError, match=r"line 1 of .* is not a row of results"):
        score_page(tmp_path)


def test_without_errors_there_is_no_headline(tmp_path: Path) -> None:
    text = score_page(make_score_run(tmp_path, "bleu"))
    assert 'id="errors"' not in text
    assert "Kind of error" not in text
    assert Scores(text).index()["kinds"] == []


def test_the_entities_of_hare_are_marked_where_nothing_else_is() -> None:
    evidence = {
        "reference": [{"text": "carcinoma", "start": 0, "end": 9, "similarity": 1.0}],
        "candidate": [
            {"text": "carcinoma", "start": 0, "end": 9, "similarity": 1.0},
            {"text": "left", "start": 10, "end": 14, "similarity": 0.0, "nearest": "carcinoma"},
        ],
    }
    row = {"scores": {"hare": {"value": 0.5, "evidence": evidence}}, "errors": []}
    shown = pair_html(row, {"reference": "carcinoma", "candidate": "carcinoma left"}, "hare")
    assert shown.count('<mark class="matched" data-mark="m1">carcinoma</mark>') == 2
    assert '<mark class="invented" data-mark="m2">left</mark>' in shown


def test_a_long_text_is_cut() -> None:
    row = {"scores": {}, "errors": [{"message": HOSTILE}]}
    shown = pair_html(row, {"reference": "x" * 1_000_000, "candidate": None}, None)
    assert "960,000 more characters" in shown
    assert len(shown) < 50_000
    assert "<script" not in shown


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("Left breast, core biopsy: carcinoma.", "breast"),
        ("Invasive carcinoma is seen in the stomach.", "stomach"),
        ("No organ.", ""),
        (None, ""),
    ],
)
def test_the_organ_is_that_of_the_heading_or_the_first_named(
    reference: str | None, found: str
) -> None:
    assert organ(reference) == found
