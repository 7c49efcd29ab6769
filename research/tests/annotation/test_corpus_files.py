"""Corpus files of any format: which is guessed, what is said of those that are none, archives."""

import gzip
import json
import random
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from research.tests.support.annotated_passages import PASSAGE

from histoeval.errors import InputError, OutputError, SettingError
from histoeval.report import Entity, EntityType, Report
from histoeval_research.annotation import archives
from histoeval_research.annotation.archives import documents
from histoeval_research.annotation.passage import RefusedPassage, Utf16, place_of
from histoeval_research.corpus import (
    WRITTEN,
    AnnotatedPassage,
    guess_format,
    read_corpus,
    write_corpus,
)


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_was_written_is_recognised_and_read(kind: Any, tmp_path: Path) -> None:
    second = PASSAGE.model_copy(update={"id": "p2"})
    file = tmp_path / ("corpus.jsonl" if kind == "ours" else "corpus.json")
    assert write_corpus(file, [PASSAGE, second], kind) == 2
    assert guess_format(file) == kind
    assert list(read_corpus(file)) == [PASSAGE, second]


def test_a_packed_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl.gz"
    file.write_bytes(gzip.compress(PASSAGE.model_dump_json().encode()))
    assert list(read_corpus(file)) == [PASSAGE]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", "", "is empty"),
        ("a.json", "[]", "has no rows"),
        ("a.json", "not json", "neither a list"),
        ("a.json", json.dumps([{"reference": "x"}]), "no corpus that is known.*reference"),
        ("a.jsonl", "{oops\n", "no row of"),
        ("a.docx", "x", "in no format that is known"),
        ("a.tsv", "reference\tcandidate\n", "does not begin with #FORMAT=WebAnno TSV 3"),
        ("a.zip", "PK\x03\x04 broken", "not a whole zip archive"),
        ("a.jsonl", None, "does not exist"),
    ],
)
def test_a_file_that_is_no_corpus_is_said_to_be_none(
    name: str, content: str | None, said: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(InputError, match=said):
        list(read_corpus(tmp_path / name))


def test_a_folder_of_two_formats_and_an_empty_archive_are_refused(tmp_path: Path) -> None:
    (tmp_path / "1.ann").write_text("", "utf-8")
    (tmp_path / "1.tsv").write_text("", "utf-8")
    with pytest.raises(InputError, match="may be webanno or brat: say which"):
        list(read_corpus(tmp_path))
    empty = zipped(tmp_path / "empty.zip", {"readme.md": b""})
    with pytest.raises(InputError, match="is in no format that is known"):
        list(read_corpus(empty))
    with pytest.raises(InputError, match=r"no file that ends in \.tsv"):
        list(read_corpus(empty, "webanno"))


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    write_corpus(file, [PASSAGE])
    with pytest.raises(SettingError, match="no format 'conll'"):
        list(read_corpus(file, cast("Any", "conll")))
    with pytest.raises(SettingError, match="'brat' cannot be written"):
        write_corpus(file, [PASSAGE], cast("Any", "brat"))
    blank = Entity(text=" ", start=1, end=2, type=EntityType.SITE)
    content = Report(text="a b", entities=(blank,))
    passage = AnnotatedPassage(id="p", source="s", report_id="r", content=content)
    with pytest.raises(InputError, match="p has an entity at 1:2 without a word"):
        write_corpus(file, [passage], "hare")
    assert list(read_corpus(file)) == [PASSAGE]
    with pytest.raises(OutputError, match="cannot be written"):
        write_corpus(tmp_path / "none" / "a.jsonl", [PASSAGE])


@given(st.text(st.characters(codec="utf-16")))
def test_places_are_counted_as_java_counts_them(text: str) -> None:
    places = Utf16(text)
    for character in range(len(text) + 1):
        unit = len(text[:character].encode("utf-16-le")) // 2
        assert places.unit(character) == unit
        assert places.character(unit) == character


def test_what_stands_at_a_place_decides_how_it_was_counted() -> None:
    text = "😀 ER ER"
    assert place_of(text, 2, 4, "ER") == (2, 4)
    assert place_of(text, 3, 5, "ER") == (2, 4)
    assert place_of(text, 2, 4, None) == (2, 4)
    with pytest.raises(RefusedPassage, match="in the middle of a character"):
        Utf16("a😀b").character(2)


def zipped(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def _low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "ARCHIVE_LIMIT", 100_000)
    monkeypatch.setattr(archives, "MEMBER_LIMIT", 50)


@pytest.mark.usefixtures("_low_limits")
def test_what_an_archive_and_those_in_it_unpack_to_is_bounded(tmp_path: Path) -> None:
    bomb = zipped(tmp_path / "a.zip", {f"{n}.tsv": b"x" * 30_000 for n in range(4)})
    with pytest.raises(InputError, match=r"unpacks to more than .* split it"):
        list(documents(bomb, ".tsv"))
    inner = zipped(tmp_path / "inner.zip", {"a.tsv": b"x" * 30_000}).read_bytes()
    bomb = zipped(tmp_path / "b.zip", {f"{n}.zip": inner for n in range(4)})
    with pytest.raises(InputError, match="unpacks to more than"):
        list(documents(bomb, ".tsv"))
    many = zipped(tmp_path / "many.zip", {f"{n}.tsv": b"" for n in range(30)})
    assert len(list(documents(many, ".tsv"))) == 30
    inner = many.read_bytes()
    nested = zipped(tmp_path / "nested.zip", {"a.zip": inner, "b.zip": inner})
    with pytest.raises(InputError, match="more than 50 files"):
        list(documents(nested, ".tsv"))


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
@pytest.mark.usefixtures("_low_limits")
def test_damage_anywhere_is_said_in_words(tmp_path: Path, method: int) -> None:
    path = tmp_path / "project.zip"
    good = zipped(path, {"a.tsv": b"text " * 200, "b/c.tsv": b"more " * 200}, method).read_bytes()
    chance = random.Random(0)
    for _ in range(150):
        bad = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        path.write_bytes(bytes(bad))
        with suppress(InputError):
            list(documents(path, ".tsv"))
