"""Every verb writes the same bytes on every engine of one machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import histoeval
from histoeval.run.engines.engine import INLINE, Engine
from histoeval.run.engines.local import LocalEngine
from histoeval.run.extract import entail, open_pairs
from histoeval.run.models import load_entailer

METRICS = "concordance,hare,rubric_offline,bleu,rouge_1,rouge_l,chrf"
PAIRS = [
    {"id": "1", "reference": "Colon: adenocarcinoma, pT2.", "candidate": "Colon: tubular adenoma."},
    {
        "id": "2",
        "reference": "Left breast: ductal carcinoma, grade 2.",
        "candidate": "Left breast.",
    },
    {"id": "2", "reference": "Twice.", "candidate": "Twice."},
    {"id": "4", "reference": "Skin: naevus. Margins clear.", "candidate": "Skin: melanoma."},
    {"id": "5", "reference": "Prostate: no tumour.", "candidate": ""},
]


def write_scores(output: Path, engine: Engine, rows: int | None) -> None:
    histoeval.score(PAIRS, metrics=METRICS, output=output, engine=engine, batch_size=rows)


def write_readings(output: Path, engine: Engine, rows: int | None) -> None:
    histoeval.extract(
        PAIRS, text="reference", output=output / "read.jsonl", engine=engine, batch_size=rows
    )


def write_entailments(output: Path, engine: Engine, rows: int | None) -> None:
    output.mkdir()
    table = output / "pairs.jsonl"
    pairs = [{"premise": f"Grade {n}.", "hypothesis": "Grade 2."} for n in range(1, 9)]
    table.write_text("".join(json.dumps(pair) + "\n" for pair in [*pairs, {"premise": ""}]))
    model = load_entailer(None)
    entail(open_pairs(table), model, output / "out.jsonl", engine=engine, batch_size=rows)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("write", [write_scores, write_readings, write_entailments])
def test_files_are_equal(write: Callable[[Path, Engine, int | None], None], tmp_path: Path) -> None:
    write(tmp_path / "inline", INLINE, None)
    expected = contents(tmp_path / "inline")
    assert expected
    for name, workers, rows in (("one", 1, None), ("two", 2, 1)):
        write(tmp_path / name, LocalEngine(workers), rows)
        assert contents(tmp_path / name) == expected
