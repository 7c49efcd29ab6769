"""Probes as they are read from a file."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import InputError
from histoeval.evaluate.probes import Effect, pairs_of, read_probes, shipped
from tests.evaluate.probe_builder import edit, probe

HARMLESS = {"kind": "style", "effect": "harmless", "severity": 0, "text": "A benign naevus."}
HARMFUL = {"kind": "flip", "effect": "harmful", "severity": 4, "text": "Malignant melanoma."}


def row(**changes: Any) -> dict[str, Any]:
    return {"id": "a", "reference": "Benign naevus.", "edits": [HARMLESS, HARMFUL]} | changes


def written(folder: Path, *rows: Any) -> Path:
    file = folder / "mine.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in rows), "utf-8")
    return file


def refusal(file: Path) -> str:
    with pytest.raises(InputError) as refused:
        read_probes(file)
    return str(refused.value)


def test_a_file_of_ones_own_is_read(tmp_path: Path) -> None:
    first, second = read_probes(written(tmp_path, row(), row(id="b", organ="skin")))
    assert (first.id, first.organ, second.id, second.organ) == ("a", "", "b", "skin")
    assert [(e.kind, e.effect, e.severity) for e in first.edits] == [
        ("style", Effect.HARMLESS, 0),
        ("flip", Effect.HARMFUL, 4),
    ]


def test_blank_lines_a_bom_and_gzip_change_nothing(tmp_path: Path) -> None:
    plain = written(tmp_path, row(), row(id="b"))
    packed = tmp_path / "packed.jsonl.gz"
    content = plain.read_bytes().replace(b"\n", b"\n\n \n")
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + content))
    assert read_probes(packed) == read_probes(plain)


def test_the_shipped_probes_are_read_when_no_file_is_named() -> None:
    assert read_probes() == read_probes(shipped())


def test_a_reference_is_paired_with_itself_and_then_with_its_edits() -> None:
    pairs = pairs_of([probe("a", edit(0, "x"), edit(1, "y")), probe("b", edit(2, "z"))])
    found = [(pair.reference, pair.candidate) for pair in pairs]
    assert found == [("a", "a"), ("a", "x"), ("a", "y"), ("b", "b"), ("b", "z")]
    assert len({pair.id for pair in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (row(reference=" "), "reference"),
        (row(edits=[]), "edits"),
        (row(edits=[HARMLESS | {"severity": 1}]), "cannot have the severity 1"),
        (row(edits=[HARMFUL | {"severity": 0}]), "cannot have the severity 0"),
        (row(edits=[HARMFUL | {"severity": -1}]), "edits.0.severity"),
        (row(edits=[HARMFUL | {"effect": "bad"}]), "edits.0.effect"),
        (row(edits=[HARMFUL | {"text": "Benign  naevus.\n"}]), "says the same as the reference"),
        (row(edits=[HARMFUL | {"note": "x"}]), "edits.0.note"),
        ([1], "mine.jsonl, line 2"),
    ],
)
def test_what_is_no_probe_is_told_with_its_line(tmp_path: Path, wrong: Any, said: str) -> None:
    told = refusal(written(tmp_path, row(id="first"), wrong))
    assert "mine.jsonl, line 2" in told
    assert said in told


@pytest.mark.parametrize(
    ("again", "said"),
    [
        (row(), "two probes with the id 'a'"),
        (row(id="b", edits=[HARMFUL | {"kind": "style"}]), "'style'"),
    ],
)
def test_an_id_stands_for_one_probe_and_a_kind_of_edit_for_one_effect(
    tmp_path: Path, again: Any, said: str
) -> None:
    assert said in refusal(written(tmp_path, row(), again))


def test_files_without_probes_are_told(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "none.jsonl")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n \n", "utf-8")
    assert "holds no probes" in refusal(empty)
    empty.write_bytes(b"")
    assert "empty" in refusal(empty)


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    file = written(tmp_path, row())
    file.write_bytes(file.read_bytes().replace(b"benign", b"beni\xffgn"))
    assert "line 1" in refusal(file)
