"""What each patch says of each claim is kept with a run, and read again."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("openslide")

from histoeval.api import trust as trust_reports
from histoeval.errors import OutputError
from histoeval.run.trust.rows import (
    UNIT,
    FinishedTrust,
    PatchScores,
    patches_file,
    read_patch_scores,
    write_patch_scores,
)
from tests.support.colour_encoder import ColourEncoder
from tests.support.trust_runs import (
    ROWS,
    painted_folder,  # noqa: F401
    quick_instruments,  # noqa: F401
    write,
)


def scores(**changed: object) -> PatchScores:
    made = PatchScores(
        "../one.png",
        "colours-1",
        np.array([[0, 0, 224, 224], [224, 0, 224, 224]], np.int32),
        np.array([0, 2], np.int32),
        np.array([[1000, 5000], [3000, 3000]], np.int16),
    )
    return made._replace(**changed)  # type: ignore[arg-type]


@pytest.mark.parametrize("pictures", [True, False])
def test_scores_of_claims_in_patches(folder: Path, quick: ColourEncoder, *, pictures: bool) -> None:
    trust_reports(folder / "reports.csv", output=folder / "out", pictures=pictures)
    finished = FinishedTrust(folder / "out")
    row, kept = finished.row(1), finished.scores(1)
    assert kept is not None
    assert (folder / "out" / kept.image).samefile(folder / "one.png")
    assert not Path(kept.image).is_absolute()
    assert Path(kept.absolute).samefile(folder / "one.png")
    supports = row.evidence["grounding"]["supports"]
    for number, cosines in zip(kept.claims.tolist(), kept.cosines, strict=True):
        assert cosines.max() / UNIT == pytest.approx(supports[number]["cosine"], abs=1e-4)
        best = supports[number]["spot"]
        assert [best[name] for name in ("x", "y", "width", "height")] in kept.spots.tolist()
    assert patches_file(folder / "out", 1).stat().st_size < 4000


def test_cases_without_an_image_or_patches(folder: Path, quick: ColourEncoder) -> None:
    (folder / "bad.png").write_bytes(b"no picture")
    rows = [ROWS[0] | {"image": ""}, ROWS[1] | {"image": "bad.png"}]
    write(folder / "reports.csv", rows)
    trust_reports(folder / "reports.csv", output=folder / "out", pictures=False)
    finished = FinishedTrust(folder / "out")
    assert finished.scores(1) is None
    empty = finished.scores(2)
    assert empty is not None
    assert len(empty.spots) == 0
    assert empty.image == "../bad.png"
    assert empty.shares(0) is None


def test_overwriting_a_run_removes_its_scores(folder: Path, quick: ColourEncoder) -> None:
    trust_reports(folder / "reports.csv", output=folder / "out", pictures=False)
    write(folder / "reports.csv", ROWS[:1])
    trust_reports(folder / "reports.csv", output=folder / "out", pictures=False, overwrite=True)
    assert [path.name for path in (folder / "out" / "evidence").iterdir()] == ["00001_patches.npz"]


def test_shares_run_from_the_least_to_the_most(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "00001_patches.npz"
    write_patch_scores(path, scores())
    found = read_patch_scores(path)
    assert found is not None
    assert found.image == "../one.png"
    assert found.shares(0) == pytest.approx([0, 1])
    assert found.shares(2) == pytest.approx([0.5, 0.5])
    assert found.shares(1) is None
    before = path.read_bytes()
    write_patch_scores(path, scores())
    assert path.read_bytes() == before


def test_what_is_not_there_or_not_ours_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "00001_patches.npz"
    assert read_patch_scores(path) is None
    for content in (b"", b"text", b"PK\x03\x04 broken"):
        path.write_bytes(content)
        with pytest.raises(OutputError, match=r"00001_patches\.npz cannot be read"):
            read_patch_scores(path)
    write_patch_scores(path, scores(cosines=np.zeros((1, 5), np.int16)))
    with pytest.raises(OutputError, match="cannot be read"):
        read_patch_scores(path)
    with path.open("wb") as file:
        np.savez(file, format=np.int32(99))
    with pytest.raises(OutputError, match="another version"):
        read_patch_scores(path)
    with path.open("wb") as file:
        np.savez(file, format=np.array([object()], object), allow_pickle=True)
    with pytest.raises(OutputError, match="cannot be read"):
        read_patch_scores(path)
