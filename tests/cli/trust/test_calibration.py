"""A calibration from one's own tiles: `evaluate grounding` writes it, `trust` goes by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

pytest.importorskip("openslide")

import histoeval.pathgls.grounding.load
import histoeval.run.trust.setup
from histoeval.cli.main import app
from histoeval.errors import InputError, SettingError
from histoeval.pathgls.grounding.decisions import read_calibration
from histoeval.report import EntityType
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
    told = ["evaluate", "grounding", "--tiles", tiles, *splits, "--calibration", file, *more]
    return CliRunner().invoke(app, [*map(str, told)], env={"COLUMNS": "200", "TERM": "dumb"})


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


def test_a_calibration_of_another_encoder_is_refused(folder: Path, encoder: TileEncoder) -> None:
    file = folder / "theirs.json"
    other = decisions_for().model_copy(update={"encoder": "other-weights"})
    file.write_text(other.model_dump_json(), "utf-8")
    done = judged(folder, "--calibration", file)
    assert isinstance(done.exception, SettingError)
    assert "theirs.json was measured for the encoder other-weights" in str(done.exception)
    assert "histoeval evaluate grounding --calibration FILE" in str(done.exception)


def test_the_name_of_a_folder_and_the_library_are_no_part_of_the_weights(
    folder: Path, calibration: Path, encoder: TileEncoder
) -> None:
    encoder.identity = "elsewhere@made-up/2"
    judged(folder, "--calibration", calibration)
    assert groundings(folder)["own"]["verdict"] == "supported"


def test_two_calibrations_of_one_encoder_are_refused(folder: Path, calibration: Path) -> None:
    done = judged(folder, "--calibration", calibration, "--calibration", calibration)
    assert isinstance(done.exception, SettingError)
    assert "one for each encoder" in str(done.exception)


def test_a_calibration_without_images_is_refused_with_the_cure(
    folder: Path, calibration: Path
) -> None:
    write(folder / "reports.csv", [{"id": "text", "report": REPORTS["own"]}])
    done = judged(folder, "--calibration", calibration)
    assert isinstance(done.exception, SettingError)
    assert str(done.exception) == (
        "--calibration is for grounding, and the input names no images: add a column image, or "
        "leave --calibration out"
    )


def test_a_broken_calibration_is_refused(folder: Path, encoder: TileEncoder) -> None:
    file = folder / "torn.json"
    file.write_text('{"organs": [', "utf-8")
    done = judged(folder, "--calibration", file)
    assert isinstance(done.exception, InputError)
    assert "torn.json is no calibration of grounding" in str(done.exception)
    assert "histoeval evaluate grounding --calibration FILE" in str(done.exception)


def test_a_missing_calibration_is_refused(folder: Path, encoder: TileEncoder) -> None:
    done = judged(folder, "--calibration", folder / "none.json")
    assert done.exit_code == 2
    assert "none.json" in done.output
    assert "does not exist" in done.output


def test_a_split_that_is_not_there_is_refused_with_those_that_are(
    calibration: Path, encoder: TileEncoder
) -> None:
    done = calibrated(calibration.parent, calibration, "--split", "val")
    assert isinstance(done.exception, InputError)
    assert "no tile of the split val; it has test, train" in str(done.exception)


def test_too_few_tiles_are_refused_and_nothing_is_written(
    encoder: TileEncoder, tmp_path: Path
) -> None:
    done = calibrated(write_tiles(tmp_path, cases=2), tmp_path / "ours.json")
    assert isinstance(done.exception, InputError)
    assert "too few labelled tiles" in str(done.exception)
    assert not (tmp_path / "ours.json").exists()


def test_a_model_and_an_encoder_are_one_too_many(encoder: TileEncoder, tmp_path: Path) -> None:
    more = ("--model", tmp_path, "--encoder", "plip")
    done = calibrated(write_tiles(tmp_path), tmp_path / "ours.json", *more)
    assert isinstance(done.exception, SettingError)
    assert "not both" in str(done.exception)


def test_an_encoder_goes_with_a_calibration(tmp_path: Path) -> None:
    told = ["evaluate", "grounding", "--tiles", str(write_tiles(tmp_path)), "--encoder", "plip"]
    done = CliRunner().invoke(app, told)
    assert isinstance(done.exception, SettingError)
    assert "--encoder goes with --calibration" in str(done.exception)
