"""`histoeval generate`: what is asked, what is written, and how it goes on after it was stopped."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

pytest.importorskip("openslide")

from histoeval.errors import EndpointError, InputError, OutputError, SettingError
from tests.support.command import invoked
from tests.support.fake_server import Call, Loopback, Wrong, completion
from tests.support.fake_vlm import (
    BENIGN,
    MALIGNANT,
    alone,  # noqa: F401
    picture_of,
    vision,
    words_of,
    write_picture,
)
from tests.support.painted_slides import glass, put, stained, write_pyramid

pytestmark = pytest.mark.usefixtures("alone")


class Desk:
    """A folder of two pictures, a model that looks at them, and the command."""

    def __init__(self, server: Loopback, folder: Path) -> None:
        self.server, self.folder, self.out = server, folder, folder / "out"
        self.pictures = folder / "pictures"

    def __call__(self, *more: object, source: Path | None = None, out: str = "out") -> Result:
        return run(self.server, source or self.pictures, self.folder / out, *more)

    def table(self, *rows: dict[str, str]) -> Path:
        path = self.folder / "cases.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return path

    def rows(self, name: str = "reports.jsonl") -> list[dict[str, Any]]:
        text = (self.out / name).read_text("utf-8")
        if name.endswith(".csv"):
            return list(csv.DictReader(text.splitlines()))
        return [json.loads(line) for line in text.splitlines()]


def run(server: Loopback, source: Path, output: Path, *more: object) -> Result:
    given = (source, "--endpoint", server.url, "--model", "eye", "--output", output)
    return invoked("generate", *given, "--attempts", 2, *more)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    inner = tmp_path / "pictures" / "inner"
    inner.mkdir(parents=True)
    write_picture(tmp_path / "pictures" / "benign.png", stained(128, 128))
    blue = np.full((64, 64, 3), (60, 80, 190), np.uint8)
    blue[:8] = 200
    write_picture(inner / "malignant.png", blue)
    (tmp_path / "pictures" / "notes.md").write_text("no image")
    with vision() as model:
        yield Desk(model, tmp_path)


def test_every_image_gets_a_report(desk: Desk) -> None:
    result = desk()
    assert result.exit_code == 0, result.output
    assert "2 of 2 reports written" in result.output
    words = f"--reports {desk.out}/reports.csv --images {desk.pictures} --output {desk.out}-trust"
    assert f"Next: histoeval trust {words}" in result.output
    rows, table = desk.rows(), desk.rows("reports.csv")
    assert [(row["id"], row["image"], row["report"]) for row in rows] == [
        ("benign", "benign.png", BENIGN),
        ("inner/malignant", "inner/malignant.png", MALIGNANT),
    ]
    assert {"id", "image", "report", "system"} <= set(table[0])
    assert [row["report"] for row in table] == [row["report"] for row in rows]


def test_each_specimen_level_makes_a_report(desk: Desk) -> None:
    polyp = {"organ": "colon", "Procedure": "biopsy", "reference": "Hyperplastic polyp."}
    tumour = {"organ": "rectum", "Procedure": "", "reference": "Adenocarcinoma."}
    cases = desk.table(
        {"id": "1", "image": "benign.png", **polyp},
        {"id": "2", "image": "inner/malignant.png", **tumour},
    )
    levels = ("--specimen", "none,organ,organ+procedure", "--images", desk.pictures)
    assert desk(*levels, source=cases).exit_code == 1
    rows = desk.rows()
    assert [(row["id"], row["level"]) for row in rows] == [
        (name, level) for name in "12" for level in ("none", "organ", "organ+procedure")
    ]
    assert rows[1]["system"] == "eye/organ"
    assert rows[2]["specimen"] == "- organ: colon\n- Procedure: biopsy"
    assert rows[5]["errors"][0]["code"] == "missing_value"
    assert rows[0]["reference"] == "Hyperplastic polyp."
    told = [words_of(call) for call in desk.server.calls]
    assert sum("organ: colon" in text for text in told) == 2
    assert sum("Procedure: biopsy" in text for text in told) == 1
    assert not any("Hyperplastic polyp" in text for text in told)
    assert len(desk.rows("reports_organ.csv")) == 2
    whole = (desk.out / "reports.jsonl").read_bytes()
    (desk.out / "reports.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    desk(*levels, source=cases)
    assert (desk.out / "reports.jsonl").read_bytes() == whole


def test_a_slide_is_described_by_tiles_or_overview(desk: Desk) -> None:
    page = glass(512, 2100)
    put(page, stained(512, 1536), 0, 0)
    slide = write_pyramid(desk.folder / "case.tif", page, 0.5, levels=3)
    assert desk("--tiles", 3, source=slide).exit_code == 0
    shown = [picture_of(call) is None for call in desk.server.calls]
    assert shown == [False, False, False, True]
    assert desk("--look", "overview", source=slide, out="small").exit_code == 0
    assert len(desk.server.calls) == 5


def test_a_dry_run_asks_nothing(desk: Desk) -> None:
    (desk.pictures / "broken.png").write_bytes(b"half")
    result = desk("--dry-run")
    assert "2 pictures, 0 slides, 1 that cannot be used" in result.output
    assert "at most 2 requests" in result.output
    assert (desk.server.calls, desk.out.exists()) == ([], False)


def test_a_stopped_run_goes_on(desk: Desk) -> None:
    desk()
    whole = (desk.out / "reports.jsonl").read_bytes()
    (desk.out / "reports.jsonl").write_bytes(whole[: len(whole) - 20])
    asked = len(desk.server.calls)
    assert desk("--no-cache").exit_code == 0
    assert (desk.out / "reports.jsonl").read_bytes() == whole
    assert len(desk.server.calls) == asked + 1
    assert isinstance(desk("--prompt", "fields").exception, OutputError)
    assert desk("--prompt", "fields", "--overwrite").exit_code == 0


def test_a_run_that_was_killed_asks_nothing_twice(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(12):
        write_picture(folder / f"{number:02}.png", stained(64, 64, seed=number))
    with vision(delay=0.15) as server:
        script = (
            "import typer; from histoeval.cli.generate import generate; "
            "app = typer.Typer(); app.command()(generate); app()"
        )
        given = [folder, "--endpoint", server.url, "--model", "eye", "--output", tmp_path / "out"]
        command = [sys.executable, "-c", script, *map(str, given), "--concurrency", "1"]
        process = subprocess.Popen(command, env=os.environ, stdout=subprocess.DEVNULL)
        while len(server.answered) < 5 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        answered = len(server.answered)
        assert answered >= 5
        assert run(server, folder, tmp_path / "out").exit_code == 0
        assert len(server.calls) <= 12 + 2  # what was on its way when it was killed
    assert (tmp_path / "out" / "reports.jsonl").read_bytes().count(b"\n") == 12


def test_an_endpoint_that_is_not_there_stops_the_run(desk: Desk) -> None:
    with vision() as desk.server:
        pass
    refused = desk().exception
    assert isinstance(refused, EndpointError)
    assert "resumes there" in str(refused)
    assert not desk.rows()


def test_a_failed_answer_is_an_error_of_its_row(desk: Desk) -> None:
    def fault(call: Call) -> Wrong:
        shown = picture_of(call)
        assert shown is not None
        return Wrong(raw=completion("")) if shown.shape[0] == 64 else Wrong(status=418)

    with vision(fault=fault) as desk.server:
        assert desk().exit_code == 2
    codes = [row["errors"][0]["code"] for row in desk.rows()]
    assert codes == ["subject_refused", "empty_report"]


def test_unusable_input_is_refused(desk: Desk) -> None:
    (desk.folder / "empty").mkdir()
    nameless = desk.table({"id": "1", "organ": "colon"}).rename(desk.folder / "t.csv")
    cases = desk.table({"image": "benign.png", "organ": "colon"})
    for source, more, error, words in (
        (desk.folder / "none", (), InputError, "does not exist"),
        (desk.folder / "empty", (), InputError, "no images"),
        (nameless, (), InputError, "'image'"),
        (cases, ("--specimen", "site"), SettingError, "columns: organ"),
        (None, ("--specimen", "organ"), SettingError, "no column 'organ'"),
        (None, ("--images", desk.pictures), SettingError, "table"),
        (None, ("--prompt", "nice"), SettingError, "known: fields, neutral"),
    ):
        refused = desk(*more, source=source).exception
        assert isinstance(refused, error), (source, refused)
        assert words in str(refused)
    assert not desk.server.calls


def test_a_row_without_image_is_an_error(desk: Desk) -> None:
    given = (
        {"id": "a", "image": "benign.png"},
        {"id": "b", "image": ""},
        {"id": "a", "image": "x"},
    )
    assert desk("--images", desk.pictures, source=desk.table(*given)).exit_code == 1
    errors = [row["errors"] for row in desk.rows()]
    assert list(map(len, errors)) == [0, 1, 1]
    assert errors[2][0]["code"] == "duplicate_id"
