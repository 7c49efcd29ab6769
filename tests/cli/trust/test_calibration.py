"""A calibration from one's own tiles: `evaluate grounding` writes it, `trust` goes by it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import Result

pytest.importorskip("openslide")

import histoeval.pathgls.grounding.load
import histoeval.run.trust.setup
from histoeval.errors import InputError, SettingError
from histoeval.pathgls.grounding.decisions import read_calibration
from histoeval.report import EntityType
from tests.support.command import invoked
from tests.support.organ_encoder import decisions_for
from tests.support.tile_encoder import TileEncoder
from tests.support.tiny_tiles import KINDS, write_tiles
from tests.support.trust_runs import judged, quick_instruments, rows_of, write  # noqa: F401

LIVER = KINDS["liver", "hepatocellular carcinoma", "malignant"]
REPORTS = {
    "own": "Liver, biopsy: hepatocellular carcinoma.",
    "other organ": "Colon, biopsy: adenocarcinoma.",
    "organ not told": "Prostate, biopsy: adenocarcinoma.",
    "no organ": "Adenocarcinoma is present.",
}


@pytest.fixture(name="encoder")
def seeing(monkeypatch: pytest.MonkeyPatch, quick: object) -> TileEncoder:
    """One that tells the tiles apart, whichever is asked for."""
    encoder = TileEncoder()
    encoder.decisions = decisions_for()
    monkeypatch.setattr(histoeval.pathgls.grounding.load, "open_encoder", lambda *_: encoder)
    monkeypatch.setattr(histoeval.run.trust.setup, "open_panel", lambda *_: (encoder,))
    return encoder


@pytest.fixture(name="folder")
def reports_on_liver(tmp_path: Path) -> Path:
    """Reports on a picture that has the colour of a carcinoma of the liver."""
    noise = np.random.default_rng(5).normal(0, 12, (240, 240, 3)) + np.array(LIVER)
    Image.fromarray(noise.clip(0, 255).astype(np.uint8)).save(tmp_path / "liver.png")
    rows = [{"id": k, "image": "liver.png", "report": text} for k, text in REPORTS.items()]
    write(tmp_path / "reports.csv", rows)
    return tmp_path


def calibrated(tiles: Path, file: Path, *more: object) -> Result:
    splits = ("--split", "train", "--split", "test")
    told = ("evaluate", "grounding", "--tiles", tiles, *splits, "--calibration", file, *more)
    return invoked(*told)


@pytest.fixture(name="calibration")
def written(encoder: TileEncoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tiles = write_tiles(tmp_path_factory.mktemp("tiles"))
    done = calibrated(tiles, tiles / "ours.json", "--output", tiles / "figures.json")
    assert done.exit_code == 0, done.output
    assert "foreign reports supported, n = 64" in done.output
    for images in ("tiles", "pictures"):
        assert f"decided, {images}: true reports supported" in done.output
        assert f"{images}: the commonest organ has 50% of them; another diagnosis" in done.output
    return tiles / "ours.json"


def groundings(folder: Path) -> dict[str, Any]:
    return {row["id"]: row["evidence"].get("grounding") for row in rows_of(folder)}


def test_the_calibration_says_what_it_was_measured_on(calibration: Path) -> None:
    found = read_calibration(calibration)
    assert found.encoder == "made-up"
    assert found.organs == ("colon", "liver")
    assert found.measured_on == "32 tiles of 16 cases (train, test)"
    assert found.tile[EntityType.SITE].supported > 0
    shipped = decisions_for().tile[EntityType.DIAGNOSIS]
    assert found.tile[EntityType.DIAGNOSIS] == shipped, "four diagnoses are too few for new limits"
    figures = json.loads((calibration.parent / "figures.json").read_text("utf-8"))
    assert figures["model"] == "tiles@made-up/1"
    assert figures["decided, tiles"]["foreign, supported"] <= 0.05
    assert figures["decided, tiles"]["true reports"] == 32


def test_the_same_command_writes_the_same_calibration(calibration: Path) -> None:
    again = calibration.parent / "again.json"
    assert calibrated(calibration.parent, again).exit_code == 0
    assert again.read_bytes() == calibration.read_bytes()


def test_trust_goes_by_it(folder: Path, calibration: Path) -> None:
    done = judged(folder, "--calibration", calibration)
    assert done.exit_code == 1, "one report is not known at all"
    found = groundings(folder)
    assert found["own"]["verdict"] == "supported"
    assert found["own"]["value"] > 0.5
    assert found["other organ"]["verdict"] == "contradicted"
    assert found["other organ"]["value"] < 0.5
    assert found["no organ"] is None or found["no organ"]["verdict"] != "supported"
    untold = next(row for row in rows_of(folder) if row["id"] == "organ not told")
    (error,) = (e for e in untold["errors"] if e["dimension"] == "grounding")
    assert error["code"] == "grounding_unknown"
    assert "has not been shown to tell" in error["message"]
    routes = {row["id"]: row["route"] for row in rows_of(folder)}
    assert routes["other organ"] == "reject"
    assert routes["no organ"] != "deploy"
    summary = json.loads((folder / "out" / "summary.json").read_text("utf-8"))
    assert read_calibration(calibration).identity in json.dumps(summary)


def test_an_encoder_without_a_calibration_knows_nothing(folder: Path, encoder: TileEncoder) -> None:
    encoder.decisions = None
    assert judged(folder).exit_code == 0
    for found in groundings(folder).values():
        assert found["verdict"] == "not_known"
        assert "evaluate grounding --calibration FILE" in found["why"]
    assert all(row["route"] != "deploy" for row in rows_of(folder))


def test_a_calibration_that_does_not_fit_is_refused(folder: Path, calibration: Path) -> None:
    theirs = decisions_for().model_copy(update={"encoder": "other-weights"})
    (folder / "theirs.json").write_text(theirs.model_dump_json(), "utf-8")
    twice = ("--calibration", calibration) * 2
    for given, words in (
        (("--calibration", folder / "theirs.json"), "was measured for the encoder other-weights"),
        (("--calibration", folder / "theirs.json"), "evaluate grounding --calibration FILE"),
        (twice, "one for each encoder"),
    ):
        refused = judged(folder, *given).exception
        assert isinstance(refused, SettingError)
        assert words in str(refused)
    write(folder / "reports.csv", [{"id": "text", "report": REPORTS["own"]}])
    refused = judged(folder, "--calibration", calibration).exception
    assert isinstance(refused, SettingError)
    assert "the input names no images" in str(refused)


def test_only_weights_must_fit(folder: Path, calibration: Path, encoder: TileEncoder) -> None:
    encoder.identity = "elsewhere@made-up/2"
    judged(folder, "--calibration", calibration)
    assert groundings(folder)["own"]["verdict"] == "supported"


def test_what_cannot_be_calibrated_is_refused(encoder: TileEncoder, tmp_path: Path) -> None:
    for name in ("tiles", "few"):
        (tmp_path / name).mkdir()
    tiles, few = write_tiles(tmp_path / "tiles"), write_tiles(tmp_path / "few", cases=2)
    ours = tmp_path / "ours.json"
    for folder, more, error, words in (
        (tiles, ("--split", "val"), InputError, "no tile of the split val; it has test, train"),
        (few, (), InputError, "too few labelled tiles"),
        (tiles, ("--model", tmp_path, "--encoder", "plip"), SettingError, "not both"),
    ):
        refused = calibrated(folder, ours, *more).exception
        assert isinstance(refused, error)
        assert words in str(refused)
    refused = invoked("evaluate", "grounding", "--tiles", tiles, "--encoder", "plip").exception
    assert isinstance(refused, SettingError)
    assert "--encoder goes with --calibration" in str(refused)
    assert not ours.exists()
