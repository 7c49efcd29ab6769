"""`histoeval slide`: what is told, what is written, and the exit code."""

import json
from pathlib import Path

import pytest

pytest.importorskip("openslide")

from functools import partial

from PIL import Image

from histoeval.errors import InputError, OutputError, SettingError
from tests.support.command import Command, invoked
from tests.support.painted_slides import draw_ink, glass, put, spoil, stained, write_pyramid
from tests.support.slide_runs import write_slide_run


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = glass(1024, 1536)
    put(page, stained(1024, 1024), 0, 0)
    page = draw_ink(page, (35, 60, 180), [1100, 500, 1500, 500], 160)
    return write_pyramid(tmp_path_factory.mktemp("slide") / "case.tif", page, 0.5, levels=4)


run = partial(invoked, "slide")


def test_info_tells_size_resolution_and_tissue(slide: Path) -> None:
    told = run("info", slide).output
    for fact in ("1,536 x 1,024 px", "0.5, by the file", "generic-tiff", "tissue", "pen ink"):
        assert fact in told
    facts = json.loads(run("info", slide, "--json").output)
    assert facts["mpp"] == pytest.approx([0.5, 0.5])
    assert facts["mpp_source"] == "file"
    assert facts["tissue"] == pytest.approx(2 / 3, abs=0.03)
    assert facts["tissue_mm2"] == pytest.approx(1024 * 1024 * 0.25 / 1e6, rel=0.05)
    assert [level["mpp"] for level in facts["levels"]] == pytest.approx([0.5, 1, 2, 4])
    assert facts["ink"] > 0.02


def test_info_says_when_microns_are_missing(tmp_path: Path) -> None:
    Image.fromarray(stained(300, 300)).save(tmp_path / "patch.png")
    told = run("info", tmp_path / "patch.png").output
    assert "missing" in told
    assert "--mpp" in told
    assert "0.25, as given" in run("info", tmp_path / "patch.png", "--mpp", 0.25).output


def test_a_thumbnail_is_written_with_and_without_the_outline(slide: Path, tmp_path: Path) -> None:
    assert run("thumbnail", slide, "--output", tmp_path / "a.png", "--side", 300).exit_code == 0
    run("thumbnail", slide, "--output", tmp_path / "b.png", "--side", 300, "--tissue")
    plain, drawn = (Image.open(tmp_path / name) for name in ("a.png", "b.png"))
    assert plain.size == drawn.size == (300, 200)
    green = (0, 160, 60)
    assert green not in plain.get_flattened_data()
    assert green in drawn.get_flattened_data()
    assert isinstance(
        run("thumbnail", slide, "--output", tmp_path / "a.gif").exception, OutputError
    )
    nowhere = tmp_path / "none" / "a.png"
    assert isinstance(run("thumbnail", slide, "--output", nowhere).exception, OutputError)


def test_tiles_are_written_and_counted(slide: Path, tmp_path: Path) -> None:
    result = run("tiles", slide, "--output", tmp_path / "out")
    assert result.exit_code == 0
    assert "4 tiles written, 0.5 microns per pixel" in result.output
    assert len(list((tmp_path / "out" / "tiles").glob("*.png"))) == 4
    assert json.loads((tmp_path / "out" / "slide.json").read_text())["finished"] is True
    options = ("--at", 1, "--size", 128, "--sample", 5, "--seed", 3)
    assert run("tiles", slide, "--output", tmp_path / "some", *options).exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "some/tiles.jsonl").read_text().splitlines()]
    assert [(row["width"], row["mpp"]) for row in rows] == [(256, 1)] * 5
    Image.fromarray(stained(600, 600)).save(tmp_path / "patch.png")
    assert isinstance(run("tiles", tmp_path / "patch.png", "--output", "no").exception, InputError)
    stored = run("tiles", tmp_path / "patch.png", "--output", tmp_path / "s", "--at", "stored")
    assert (stored.exit_code, "as stored" in stored.output) == (0, True)


def test_damaged_tiles_give_exit_code_1(tmp_path: Path) -> None:
    path = write_pyramid(tmp_path / "case.tif", stained(1024, 1024), levels=4)
    spoil(path, 0, 0)
    result = run("tiles", path, "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "1 tiles have no picture: damaged_tile" in result.output


@pytest.mark.parametrize("at", ["20x", "0", "-1", "nan"])
def test_microns_that_make_no_sense_are_refused(slide: Path, tmp_path: Path, at: str) -> None:
    result = run("tiles", slide, "--output", tmp_path / "out", "--at", at)
    assert isinstance(result.exception, SettingError)


def test_people_get_one_sentence_and_exit_code_2(command: Command, tmp_path: Path) -> None:
    (tmp_path / "case.svs").write_text("not a slide")
    done = command("slide", "info", "case.svs")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("histoeval: ")
    assert "is not an image, although its name says so" in done.err
    assert len(done.err.splitlines()) == 1


def test_evidence_goes_to_qupath(slide: Path, tmp_path: Path) -> None:
    made = write_slide_run(tmp_path / "run", slide, (1536, 1024), ids=("a", "b"))
    out = tmp_path / "b.geojson"
    told = run("geojson", made, "--case", "b", "--output", out)
    assert told.exit_code == 0
    assert "Import objects from file" in told.output
    content = json.loads(out.read_text("utf-8"))
    assert len(content["features"]) == 4 + 24


def test_a_case_without_places_is_refused(slide: Path, tmp_path: Path) -> None:
    made = write_slide_run(tmp_path / "run", slide, (1536, 1024), ids=("a", "b"), scores=False)
    rows = [json.loads(line) for line in (made / "trust.jsonl").read_text("utf-8").splitlines()]
    del rows[0]["evidence"]["grounding"]
    (made / "trust.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    out = tmp_path / "a.geojson"
    for arguments, reason in (
        ((), "holds 2 cases; name one of them with --case: a, b"),
        (("--case", "a"), "has no place on an image: nothing was grounded"),
        (("--case", "c"), "holds no case 'c'"),
    ):
        told = run("geojson", made, *arguments, "--output", out)
        assert isinstance(told.exception, InputError)
        assert reason in str(told.exception)
    assert not out.exists()
