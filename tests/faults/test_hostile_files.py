"""Attacks by files that were tried and did nothing: they must go on doing nothing."""

import io
import json
import time
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fuzz_files import TYPES, WEBANNO, XMI
from histoeval.errors import HistoEvalError, InputError, Problem
from histoeval.io.pairs import open_source
from histoeval.io.settings_files import read_yaml
from histoeval_research.annotation.archives import documents
from histoeval_research.corpus import read_corpus
from tests.support.command import run_in
from tests.support.trust_runs import (
    TRUE,
    judged,
    painted_folder,
    quick_instruments,
    rows_of,
    write,
)

__all__ = ["painted_folder", "quick_instruments"]

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 30))
SECRET = "the secret of this machine"


@pytest.mark.parametrize("where", ["xmi", "types"])
@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE x [<!ENTITY x SYSTEM "file://SECRET">]>',
        '<!DOCTYPE x [<!ENTITY % x SYSTEM "file://SECRET"> %x;]>',
        '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">',
        f'<!DOCTYPE x [<!ENTITY l0 "x">{LAUGHS}<!ENTITY x "&l29;">]>',
    ],
)
def test_entities_of_xml_read_no_file_and_fill_no_memory(
    doctype: str, where: str, tmp_path: Path
) -> None:
    pytest.importorskip("cassis")
    (tmp_path / "secret").write_text(SECRET, "utf-8")
    evil = doctype.replace("SECRET", str(tmp_path / "secret"))
    files = {"xmi": XMI, "types": TYPES}
    head, declared, rest = files[where].partition(b"?>")
    rest = rest.replace(b"No carcinoma", b"&x; carcinoma").replace(b"<description/>", b"&x;")
    files[where] = head + declared + evil.encode() + rest
    (tmp_path / "a.xmi").write_bytes(files["xmi"])
    (tmp_path / "TypeSystem.xml").write_bytes(files["types"])
    problems: list[Problem] = []
    started = time.monotonic()
    found = list(read_corpus(tmp_path / "a.xmi", on_problem=problems.append))
    assert time.monotonic() - started < 5
    assert SECRET not in repr(found) + repr(problems)
    assert all(len(passage.text) < 1000 for passage in found)


def test_names_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "in" / "project.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("../../evil.tsv", "/tmp/evil.tsv", "..\\evil.tsv", "a/../../b.tsv"):
            archive.writestr(name, WEBANNO)
    assert len(list(documents(path, ".tsv"))) == 4
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["project.zip"]


def test_archives_in_archives_without_end_are_refused(tmp_path: Path) -> None:
    content = b"nothing"
    for depth in range(1200):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{depth % 10}.zip", content)
        content = packed.getvalue()
    (tmp_path / "deep.zip").write_bytes(content)
    with pytest.raises(InputError):
        list(documents(tmp_path / "deep.zip", ".tsv"))


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a, *a]\n" for n in range(5)),
        "a: &a [*a]\n",
        "a: " + "[" * 1000,
    ],
)
def test_yaml_that_refers_to_itself_or_is_deep_ends(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text, "utf-8")
    try:
        read_yaml(tmp_path / "x.yaml")
    except HistoEvalError as error:
        assert "x.yaml" in str(error)  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize(
    "name", ["../../evil", "/etc/passwd", "a\0b", "x" * 1_000_000, "NaN", "\u202ex", "{}", "%s"]
)
def test_ids_are_words_and_nothing_else(name: str, tmp_path: Path) -> None:
    row = {"id": name, "reference": "Benign polyp.", "candidate": "Benign polyp."}
    (tmp_path / "in.jsonl").write_text(json.dumps(row), "utf-8")
    words = ("score", "in.jsonl", "--metrics", "rouge_l", "--output", "out")
    assert run_in(tmp_path, *words).code == 0
    (line,) = (tmp_path / "out" / "scores.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["id"] == name
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "in.jsonl", "out"}


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", '"\\ud800"', "[1]", "1e999"])
def test_values_that_are_no_text_cost_their_row(value: str, tmp_path: Path) -> None:
    good = '{"id": "1", "reference": "a", "candidate": "b"}'
    bad = f'{{"id": "2", "reference": "a", "candidate": {value}}}'
    (tmp_path / "in.jsonl").write_text(f"{good}\n{bad}\n", "utf-8")
    first, second = open_source([tmp_path / "in.jsonl"]).rows()
    assert first.pair is not None
    assert second.pair is None
    assert second.problems


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, Any]]] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.usefixtures("quick")
def test_no_id_report_or_name_adds_to_a_page(folder: Path) -> None:
    evil = '"><script>alert(1)</script><img src=x onerror=alert(1)> $x {{7*7}} javascript:'
    rows = [{"id": f"{evil} ../x", "image": "one.png", "report": f"{TRUE} {evil}"}]
    write(folder / "reports.csv", rows)
    judged(folder)
    assert rows_of(folder)[0]["id"] == f"{evil} ../x"
    page = (folder / "out" / "report.html").read_text("utf-8")
    tags = _Tags()
    tags.feed(page)
    assert [tag for tag, _ in tags.found].count("script") == 1, "the page's own"
    assert "<script>alert" not in page
    for tag, attributes in tags.found:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert not str(attributes.get("href", "")).startswith("javascript"), tag
        assert attributes.get("src", "data:").startswith(("data:", "evidence/")), tag
    assert "{{7*7}}" in page
    assert {path.name for path in (folder / "out").iterdir()} == {
        "evidence",
        "report.html",
        "summary.json",
        "texts.jsonl",
        "trust.jsonl",
        "trust.jsonl.meta.json",
    }


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pairs.csv")
    with pytest.raises(InputError, match="pipe or a device"):
        open_source([tmp_path / "pairs.csv"])
    os.mkfifo(tmp_path / "corpus.jsonl")
    with pytest.raises(InputError, match="pipe or a device"):
        list(read_corpus(tmp_path / "corpus.jsonl"))
