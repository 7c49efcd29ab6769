"""What tests of trust share: cases with painted pictures, and instruments that are quick."""

import csv
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

import histoeval.run.trust.setup
from histoeval.cli.main import app
from histoeval.nli.entailer import Entailment, NliPair
from histoeval.pathgls.stability.distance import ConcordanceDistance
from tests.support.colour_encoder import STRANGE, ColourEncoder
from tests.support.painted_slides import stained
from tests.support.shipped_models import shipped_aligner, shipped_reader

TRUE = "Colon, biopsy: adenocarcinoma. Glands infiltrate the submucosa. No lymphovascular invasion."
TORN = "Colon, biopsy: adenocarcinoma. Necrosis is present. There is no necrosis."
WAVERING = "Colon, biopsy: tubular adenoma. No invasion."

ROWS: list[dict[str, object]] = [
    {
        "id": "steady",
        "image": "one.png",
        "report": TRUE,
        "report_augmented": TRUE,
        "report_attacked": TRUE,
    },
    {
        "id": "torn <b>",
        "image": "two.png",
        "report": TORN,
        "report_augmented": TORN,
        "report_attacked": WAVERING,
    },
]


class Calm:
    """An NLI model that finds no contradiction; rules still do."""

    identity = "calm"

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        return [Entailment(0.1, 0.8, 0.1) for _ in pairs]


@cache
def distance() -> ConcordanceDistance:
    return ConcordanceDistance(shipped_reader(), shipped_aligner())


@pytest.fixture(name="quick")
def quick_instruments(monkeypatch: pytest.MonkeyPatch) -> ColourEncoder:
    """The shipped reader, loaded once, and stand-ins for what else has weights."""
    encoder, home = ColourEncoder(), histoeval.run.trust.setup
    monkeypatch.setattr(home, "load_reader", lambda _: shipped_reader())
    monkeypatch.setattr(home, "load_entailer", lambda named, *_: named or Calm())
    monkeypatch.setattr(home, "open_panel", lambda *_: (encoder,))
    monkeypatch.setattr(home, "builtin_decoys", lambda: STRANGE)
    monkeypatch.setattr(home, "open_distance", lambda *_, **__: distance())
    return encoder


@pytest.fixture(name="folder")
def painted_folder(tmp_path: Path) -> Path:
    for seed, name in enumerate(("one.png", "two.png")):
        Image.fromarray(stained(240, 240, seed=seed)).save(tmp_path / name)
    write(tmp_path / "reports.csv", ROWS)
    return tmp_path


def write(path: Path, rows: Sequence[Mapping[str, object]], encoding: str = "utf-8") -> Path:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path


def run(*arguments: object) -> Result:
    told = ["trust", *map(str, arguments)]
    return CliRunner().invoke(app, told, env={"COLUMNS": "200", "TERM": "dumb"})


def judged(folder: Path, *arguments: object, reports: str = "reports.csv") -> Result:
    """The command on a table of a folder, with its results in `out` beside it."""
    return run("--reports", folder / reports, "--output", folder / "out", *arguments)


def rows_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "out" / "trust.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def writing_to(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def dark(side: int = 64) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.zeros((side, side, 3), np.uint8)
