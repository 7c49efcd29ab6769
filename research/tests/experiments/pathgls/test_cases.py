"""Cases sampled from tables and from folders of tiles."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from histoeval.errors import InputError
from histoeval_research.experiments.pathgls.cases import (
    drawn,
    report_cases,
    splits_of,
    template_report,
    tile_cases,
)


def a_folder_of_tiles(folder: Path, split: str = "test", tiles: int = 4) -> Path:
    image = pytest.importorskip("PIL.Image")
    folder.mkdir()
    rows = []
    with tarfile.open(folder / "shard.tar", "w") as shard:
        for n in range(tiles):
            file = io.BytesIO()
            image.new("RGB", (224, 224), (200, 120 + n, 180)).save(file, "PNG")
            member = tarfile.TarInfo(f"t{n}.png")
            member.size = file.tell()
            file.seek(0)
            shard.addfile(member, file)
            rows.append(
                {
                    "key": f"t{n}",
                    "organ": "colon",
                    "concept": "colon adenocarcinoma",
                    "benign_or_malignant": "malignant",
                    "stain": "PAS" if n == 0 else "H&E",
                    "slide_or_patient": f"s{n}",
                    "case_group": f"p{n}",
                    "split": split,
                }
            )
    (folder / "index.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in rows), "utf-8")
    return folder


def test_a_sample_follows_ids_and_seed_only() -> None:
    names = [f"r{n}" for n in range(30)]
    one = drawn(names, names, 10)
    assert one == sorted(one, key=names.index)
    assert set(drawn(names[::-1], names[::-1], 10)) == set(one)
    assert drawn(names, names, 10, seed=1) != one
    assert drawn(names, names, 99) == names


def test_reports_keep_image_and_patient_and_bad_rows_are_counted(tmp_path: Path) -> None:
    table = tmp_path / "reports.csv"
    table.write_text("id,report,patient\na,Benign naevus.,p1\nb,,p2\nc,Lipoma.,p3\n", "utf-8")
    cases = report_cases(table, tmp_path / "work", None, 5)
    assert (cases.cases, cases.unusable) == (2, 1)
    rows = [json.loads(line) for line in cases.captions.read_text("utf-8").splitlines()]
    assert rows[0] == {"id": "a", "report": "Benign naevus.", "patient": "p1"}


def test_tiles_in_another_stain_are_left_out_and_the_others_get_a_report(tmp_path: Path) -> None:
    tiles = a_folder_of_tiles(tmp_path / "tiles")
    assert splits_of(tiles) == {"test"}
    cases = tile_cases(tiles, "test", tmp_path / "work", 9)
    rows = [json.loads(line) for line in cases.captions.read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["t1", "t2", "t3"]
    assert rows[0]["report"] == template_report("colon", "colon adenocarcinoma", "malignant")
    assert all((tmp_path / "work" / "images" / row["image"]).is_file() for row in rows)


def test_a_split_without_tiles_and_a_folder_without_index_are_named(tmp_path: Path) -> None:
    tiles = a_folder_of_tiles(tmp_path / "tiles")
    with pytest.raises(InputError, match="no labelled H&E tile of the split external"):
        tile_cases(tiles, "external", tmp_path / "work", 9)
    with pytest.raises(InputError, match=r"no index\.jsonl"):
        splits_of(tmp_path)
