"""Corpus files of any format: which is guessed, what is said of those that are none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import InputError, OutputError, SettingError
from histoeval_research.annotation.passage import RefusedPassage, Utf16, place_of
from histoeval_research.corpus import WRITTEN, guess_format, read_corpus, write_corpus
from tests.support.annotated_passages import PASSAGE


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
    ],
)
def test_a_file_that_is_no_corpus_is_said_to_be_none(
    name: str, content: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(InputError, match=said):
        list(read_corpus(tmp_path / name))


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        list(read_corpus(tmp_path / "a.jsonl"))


def test_a_format_that_is_not_known_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    write_corpus(file, [PASSAGE])
    with pytest.raises(SettingError, match="no format 'conll'"):
        list(read_corpus(file, cast("Any", "conll")))
    with pytest.raises(SettingError, match="'brat' cannot be written"):
        write_corpus(file, [PASSAGE], cast("Any", "brat"))
    assert list(read_corpus(file)) == [PASSAGE]


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_corpus(tmp_path / "none" / "a.jsonl", [PASSAGE])


@given(st.text(st.characters(codec="utf-16")))
def test_places_are_counted_as_java_counts_them(text: str) -> None:
    places = Utf16(text)
    for character in range(len(text) + 1):
        unit = len(text[:character].encode("utf-16-le")) // 2
        assert places.unit(character) == unit
        assert places.character(unit) == character


def test_half_a_character_is_no_place() -> None:
    with pytest.raises(RefusedPassage, match="in the middle of a character"):
        Utf16("a😀b").character(2)


def test_what_stands_at_a_place_decides_how_it_was_counted() -> None:
    text = "😀 ER ER"
    assert place_of(text, 2, 4, "ER") == (2, 4)
    assert place_of(text, 3, 5, "ER") == (2, 4)
    assert place_of(text, 2, 4, None) == (2, 4)
