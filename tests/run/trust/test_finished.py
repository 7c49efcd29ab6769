"""Runs of trust that are read again: cases by row and id, and their images wherever they are."""

import json
from pathlib import Path

import pytest
from PIL import Image

from histoeval.errors import InputError, OutputError, Problem
from histoeval.run.trust.rows import FinishedTrust, patches_file, write_patch_scores
from tests.support.painted_slides import stained
from tests.support.slide_runs import REPORT, write_slide_run


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "images" / "one.png"
    path.parent.mkdir()
    Image.fromarray(stained(448, 672)).save(path)
    return path


@pytest.fixture
def run(tmp_path: Path, image: Path) -> FinishedTrust:
    return FinishedTrust(write_slide_run(tmp_path / "run", image, (672, 448), ids=("a", "b")))


def test_cases_are_found_by_row_and_by_id(run: FinishedTrust) -> None:
    assert [(case.row, case.id, case.image) for case in run.cases()] == [
        (1, "a", "one.png"),
        (2, "b", "one.png"),
    ]
    assert run.row(2).id == "b"
    assert run.named("b") == 2
    assert 2 in run
    assert 3 not in run
    assert run.report(2) == REPORT
    (run.folder / "texts.jsonl").unlink()
    assert run.report(2) is None
    with pytest.raises(InputError, match="holds 2 cases; name one of them with --case: a, b"):
        run.named(None)
    with pytest.raises(InputError, match="no case 'c'; there are: a, b"):
        run.named("c")


@pytest.mark.parametrize("is_changed", [False, True])
def test_an_image_where_it_was(run: FinishedTrust, image: Path, *, is_changed: bool) -> None:
    if is_changed:
        Image.fromarray(stained(448, 672, seed=5)).save(image)
    found = run.image(run.row(1), run.scores(1))
    assert not isinstance(found, Problem)
    assert found.path.samefile(image)
    assert found.changed is is_changed


def test_a_file_that_has_moved_is_said_for_people(run: FinishedTrust, image: Path) -> None:
    image.rename(image.with_name("other.png"))
    found = run.image(run.row(1), run.scores(1))
    assert isinstance(found, Problem)
    assert "one.png is not where it was" in found.message
    assert str(image.parent) not in found.message


def test_beside_a_run_the_same_file_counts(run: FinishedTrust, image: Path, tmp_path: Path) -> None:
    beside = tmp_path / "one.png"
    Image.fromarray(stained(448, 672, seed=5)).save(beside)
    kept = image.read_bytes()
    image.unlink()
    assert isinstance(run.image(run.row(1), run.scores(1)), Problem)
    beside.write_bytes(kept)
    found = run.image(run.row(1), None)
    assert not isinstance(found, Problem)
    assert found.path == beside


def test_run_and_images_can_be_moved_together(tmp_path: Path, run: FinishedTrust) -> None:
    (tmp_path / "there").mkdir()
    for name in ("run", "images"):
        (tmp_path / name).rename(tmp_path / "there" / name)
    moved = FinishedTrust(tmp_path / "there" / "run")
    assert not isinstance(moved.image(moved.row(1), moved.scores(1)), Problem)


def test_a_moved_run_finds_absolute_images(tmp_path: Path, run: FinishedTrust, image: Path) -> None:
    scores = run.scores(1)
    assert scores is not None
    write_patch_scores(patches_file(run.folder, 1), scores._replace(absolute=image.as_posix()))
    (tmp_path / "far" / "away").mkdir(parents=True)
    run.folder.rename(tmp_path / "far" / "away" / "run")
    moved = FinishedTrust(tmp_path / "far" / "away" / "run")
    found = moved.image(moved.row(1), moved.scores(1))
    assert not isinstance(found, Problem)
    assert found.path == image


def test_an_image_that_was_never_there_is_not_said_to_have_moved(run: FinishedTrust) -> None:
    row = run.row(1)
    unseen = {name: each for name, each in row.evidence.items() if name != "image_hash"}
    found = run.image(row.model_copy(update={"evidence": unseen}), None)
    assert isinstance(found, Problem)
    assert found.code == "missing_image"
    assert "could not be read when this run was made" in found.message


def test_other_folders_and_broken_rows_are_refused(tmp_path: Path, run: FinishedTrust) -> None:
    with pytest.raises(InputError, match="no folder of `histoeval trust`"):
        FinishedTrust(tmp_path)
    rows = run.folder / "trust.jsonl"
    whole = rows.read_text("utf-8")
    rows.write_text(whole + '{"row": 3, "id"', "utf-8")  # which is just being written
    assert len(FinishedTrust(run.folder).cases()) == 2
    rows.write_text(whole + json.dumps({"row": 3}) + "\n", "utf-8")
    with pytest.raises(OutputError, match=r"line 3 of trust\.jsonl"):
        FinishedTrust(run.folder).cases()


@pytest.mark.parametrize(
    "changed",
    [{"route": "elsewhere"}, {"grounding": 7}, {"evidence": {"grounding": {"value": "x"}}}],
)
def test_a_row_that_does_not_fit_is_refused(run: FinishedTrust, changed: dict[str, object]) -> None:
    rows = run.folder / "trust.jsonl"
    (first, second) = rows.read_text("utf-8").splitlines()
    rows.write_text(f"{first}\n{json.dumps(json.loads(second) | changed)}\n", "utf-8")
    broken = FinishedTrust(run.folder)
    assert broken.row(1).id == "a"
    with pytest.raises(OutputError, match=r"the row 2 of trust\.jsonl"):
        broken.row(2)
