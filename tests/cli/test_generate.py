"""`histoeval generate`: what is asked, what is written, and how it goes on after it was stopped."""

from __future__ import annotations

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
import typer
from typer.testing import CliRunner, Result

pytest.importorskip("openslide")

from histoeval.cli.generate import generate
from histoeval.errors import EndpointError, InputError, OutputError, SettingError
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

app = typer.Typer()
app.command()(generate)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with vision() as model:
        yield model


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    (folder / "inner").mkdir(parents=True)
    write_picture(folder / "benign.png", stained(128, 128))
    blue = np.full((64, 64, 3), (60, 80, 190), np.uint8)
    blue[:8] = 200
    write_picture(folder / "inner" / "malignant.png", blue)
    (folder / "notes.md").write_text("no image")
    return folder


def run(server: Loopback, source: Path, output: Path, *more: object) -> Result:
    given = [source, "--endpoint", server.url, "--model", "eye", "--output", output]
    return CliRunner().invoke(app, [str(each) for each in (*given, "--attempts", 2, *more)])


def rows_of(output: Path, name: str = "reports.jsonl") -> list[dict[str, Any]]:
    if name.endswith(".csv"):
        with (output / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    return [json.loads(line) for line in (output / name).read_text("utf-8").splitlines()]


def table(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_every_image_gets_a_report(server: Loopback, pictures: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(server, pictures, out)
    assert result.exit_code == 0, result.output
    assert "2 of 2 reports written" in result.output
    words = f"--reports {out}/reports.csv --images {pictures} --output {out}-trust"
    assert f"Next: histoeval trust {words}" in result.output
    rows = rows_of(out)
    assert [(row["id"], row["image"], row["report"]) for row in rows] == [
        ("benign", "benign.png", BENIGN),
        ("inner/malignant", "inner/malignant.png", MALIGNANT),
    ]
    table = rows_of(out, "reports.csv")
    assert {"id", "image", "report", "system"} <= set(table[0])
    assert [row["report"] for row in table] == [row["report"] for row in rows]


def test_levels_of_specimen_information_make_a_report_each(
    server: Loopback, pictures: Path, tmp_path: Path
) -> None:
    cases = table(
        tmp_path / "cases.csv",
        [
            {"id": "1", "image": "benign.png", "organ": "colon", "Procedure": "biopsy",
             "reference": "Hyperplastic polyp."},
            {"id": "2", "image": "inner/malignant.png", "organ": "rectum", "Procedure": "",
             "reference": "Adenocarcinoma."},
        ],
    )  # fmt: skip
    levels = ("--specimen", "none,organ,organ+procedure", "--images", pictures)
    result = run(server, cases, tmp_path / "out", *levels)
    assert result.exit_code == 1
    rows = rows_of(tmp_path / "out")
    assert [(row["id"], row["level"]) for row in rows] == [
        (name, level) for name in "12" for level in ("none", "organ", "organ+procedure")
    ]
    assert rows[1]["system"] == "eye/organ"
    assert rows[2]["specimen"] == "- organ: colon\n- Procedure: biopsy"
    assert rows[5]["errors"][0]["code"] == "missing_value"
    assert rows[0]["reference"] == "Hyperplastic polyp."
    told = [words_of(call) for call in server.calls]
    assert sum("organ: colon" in text for text in told) == 2
    assert sum("Procedure: biopsy" in text for text in told) == 1
    assert not any("Hyperplastic polyp" in text for text in told)
    assert len(rows_of(tmp_path / "out", "reports_organ.csv")) == 2
    whole = (tmp_path / "out" / "reports.jsonl").read_bytes()
    four = b"".join(whole.splitlines(keepends=True)[:4])
    (tmp_path / "out" / "reports.jsonl").write_bytes(four)
    run(server, cases, tmp_path / "out", *levels)
    assert (tmp_path / "out" / "reports.jsonl").read_bytes() == whole


def test_a_slide_is_described_by_tiles_or_overview(server: Loopback, tmp_path: Path) -> None:
    page = glass(512, 2100)
    put(page, stained(512, 1536), 0, 0)
    slide = write_pyramid(tmp_path / "case.tif", page, 0.5, levels=3)
    assert run(server, slide, tmp_path / "tiles", "--tiles", 3).exit_code == 0
    assert [picture_of(call) is None for call in server.calls] == [False, False, False, True]
    assert run(server, slide, tmp_path / "small", "--look", "overview").exit_code == 0
    assert len(server.calls) == 5


def test_a_dry_run_asks_nothing(server: Loopback, pictures: Path, tmp_path: Path) -> None:
    (pictures / "broken.png").write_bytes(b"half")
    result = run(server, pictures, tmp_path / "out", "--dry-run")
    assert "2 pictures, 0 slides, 1 that cannot be used" in result.output
    assert "at most 2 requests" in result.output
    assert not server.calls
    assert not (tmp_path / "out").exists()


def test_a_stopped_run_goes_on(server: Loopback, pictures: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    run(server, pictures, output)
    whole = (output / "reports.jsonl").read_bytes()
    (output / "reports.jsonl").write_bytes(whole[: len(whole) - 20])
    asked = len(server.calls)
    assert run(server, pictures, output, "--no-cache").exit_code == 0
    assert (output / "reports.jsonl").read_bytes() == whole
    assert len(server.calls) == asked + 1
    other = run(server, pictures, output, "--prompt", "fields")
    assert isinstance(other.exception, OutputError)
    assert run(server, pictures, output, "--prompt", "fields", "--overwrite").exit_code == 0


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
    assert len(rows_of(tmp_path / "out")) == 12


def test_an_endpoint_that_is_not_there_stops_the_run(pictures: Path, tmp_path: Path) -> None:
    with vision() as server:
        pass
    result = run(server, pictures, tmp_path / "out")
    assert isinstance(result.exception, EndpointError)
    assert "resumes there" in str(result.exception)
    assert not rows_of(tmp_path / "out")


def test_a_failed_answer_is_an_error_of_its_row(pictures: Path, tmp_path: Path) -> None:
    def fault(call: Call) -> Wrong | None:
        shown = picture_of(call)
        assert shown is not None
        if shown.shape[0] == 64:
            return Wrong(raw=completion(""))
        return Wrong(status=418)

    with vision(fault=fault) as server:
        result = run(server, pictures, tmp_path / "out")
    assert result.exit_code == 2
    codes = [row["errors"][0]["code"] for row in rows_of(tmp_path / "out")]
    assert codes == ["subject_refused", "empty_report"]


def test_unusable_input_is_refused(server: Loopback, pictures: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    nameless = table(tmp_path / "t.csv", [{"id": "1", "organ": "colon"}])
    cases = table(tmp_path / "u.csv", [{"image": "benign.png", "organ": "colon"}])
    for source, more, error, words in (
        (tmp_path / "none", (), InputError, "does not exist"),
        (tmp_path / "empty", (), InputError, "no images"),
        (nameless, (), InputError, "'image'"),
        (cases, ("--specimen", "site"), SettingError, "columns: organ"),
        (pictures, ("--specimen", "organ"), SettingError, "no column 'organ'"),
        (pictures, ("--images", pictures), SettingError, "table"),
        (pictures, ("--prompt", "nice"), SettingError, "known: fields, neutral"),
    ):
        result = run(server, source, tmp_path / "out", *more)
        assert isinstance(result.exception, error), (source, result.output)
        assert words in str(result.exception)
    assert not server.calls


def test_a_row_without_image_is_an_error(server: Loopback, pictures: Path, tmp_path: Path) -> None:
    cases = table(
        pictures / "cases.csv",
        [{"id": "a", "image": "benign.png"}, {"id": "b", "image": ""}, {"id": "a", "image": "x"}],
    )
    assert run(server, cases, tmp_path / "out").exit_code == 1
    rows = rows_of(tmp_path / "out")
    assert [len(row["errors"]) for row in rows] == [0, 1, 1]
    assert rows[2]["errors"][0]["code"] == "duplicate_id"
