"""The example of trust: small, painted by its own script, and what its README says of it."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openslide")

from PIL import Image

from histoeval.io.reports import open_cases
from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval.pathgls.grounding.decisions import decisions_of
from histoeval.report import EntityType
from tests.support.paths import EXAMPLES
from tests.support.trust_runs import quick_instruments, rows_of, run  # noqa: F401

FOLDER = EXAMPLES / "trust"


def test_it_is_small_and_every_image_is_there() -> None:
    files = [path for path in FOLDER.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 200_000
    for case in open_cases(FOLDER / "reports.csv").rows():
        assert case.report is not None
        assert isinstance(case.image, str)
        assert (FOLDER / case.image).is_file()


@pytest.fixture(name="scripts")
def import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts of the folder find each other, as they do when one is run."""
    monkeypatch.syspath_prepend(str(FOLDER))


def test_the_pictures_are_what_the_script_paints() -> None:
    script = runpy.run_path(str(FOLDER / "paint.py"))
    for name, recipe in script["RECIPES"].items():
        painted = script["paint"](recipe)
        with Image.open(FOLDER / f"{name}.jpg") as kept:
            far = np.abs(np.asarray(kept, float) - np.asarray(painted, float)).mean()
        assert far < 6, name


@pytest.mark.usefixtures("scripts")
def test_the_encoder_takes_each_picture_for_its_organ() -> None:
    script = runpy.run_path(str(FOLDER / "search.py"))
    encoder = BuiltinEncoder()
    decisions = decisions_of(encoder)
    assert decisions is not None
    reached = {
        organ: script["quality"](recipe, organ, encoder, decisions)
        for organ, recipe in script["RECIPES"].items()
    }
    assert reached["liver"] > decisions.tile[EntityType.SITE].supported
    colon = script["RECIPES"]["colon"]
    assert reached["colon"] > script["quality"](colon, "liver", encoder, decisions) + 0.1


@pytest.mark.usefixtures("scripts")
def test_a_search_refuses_an_organ_that_the_encoder_cannot_tell() -> None:
    script = runpy.run_path(str(FOLDER / "search.py"))
    with pytest.raises(SystemExit, match="does not decide on prostate"):
        script["search"]("prostate", seed=1, rounds=0)


@pytest.mark.parametrize("policy", ["with_endpoint", "without_endpoint"])
def test_every_verdict_occurs_with_the_shipped_models(tmp_path: Path, policy: str) -> None:
    rows = trusted(tmp_path, policy)
    assert {name: row["route"] for name, row in rows.items()} == {
        "right": "deploy",
        "contradicts_itself": "reject",
        "gives_way": "review",
        "other_organ": "reject",
        "not_learned": "review",
    }
    found = {name: row["evidence"].get("grounding", {}) for name, row in rows.items()}
    assert {name: each["verdict"] for name, each in found.items() if each} == {
        "right": "supported",
        "contradicts_itself": "not_known",
        "gives_way": "not_known",
        "other_organ": "contradicted",
    }
    assert "looks like liver" in found["other_organ"]["why"]
    assert "grounding_unknown" in {each["code"] for each in rows["not_learned"]["errors"]}


def trusted(home: Path, policy: str) -> dict[str, dict[str, Any]]:
    """The rows of the example under a policy, by their names."""
    given = ("--reports", FOLDER / "reports.csv", "--output", home / "out", "--policy", policy)
    run(*given, "--no-pictures")
    return {row["id"]: row for row in rows_of(home)}


@pytest.mark.usefixtures("quick")
def test_each_report_shows_what_it_is_meant_to(tmp_path: Path) -> None:
    found = trusted(tmp_path, "with_endpoint")
    torn = found["contradicts_itself"]
    assert torn["logic"] < 0.5 < min(found[name]["logic"] for name in ("right", "gives_way"))
    assert torn["evidence"]["logic"]["contradictions"]
    wavering = found["gives_way"]["evidence"]["stability"]
    assert wavering["worst"] == "prompt"
    assert found["right"]["stability"] > 0.8 > found["gives_way"]["stability"]
    for name in ("other_organ", "not_learned"):
        assert found[name]["stability"] is None
        assert found[name]["route"] != "deploy"
