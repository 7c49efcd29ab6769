"""`histoeval trust`, as people run it."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytest.importorskip("openslide")

import histoeval.run.trust.reports
from histoeval.errors import MissingDependency, OutputError, SettingError
from tests.support.colour_encoder import ColourEncoder
from tests.support.fake_vlm import BENIGN, alone, gullible, vision  # noqa: F401
from tests.support.painted_slides import glass, put, stained, write_pyramid
from tests.support.tables import from_table
from tests.support.trust_runs import (
    ROWS,
    TRUE,
    dark,
    judged,
    painted_folder,  # noqa: F401
    quick_instruments,  # noqa: F401
    rows_of,
    run,
    write,
    writing_to,
)

pytestmark = pytest.mark.usefixtures("quick")


def errors_of(row: dict[str, Any]) -> dict[str, str]:
    return {error["dimension"] or "": error["code"] for error in row["errors"]}


def test_every_report_gets_its_dimensions_trust_verdict_and_evidence(folder: Path) -> None:
    done = judged(folder)
    assert done.exit_code == 0, done.output
    steady, torn = rows_of(folder)
    assert list(steady) == [
        *("id", "row", "grounding", "logic", "stability", "trust", "route", "cancer_check"),
        *("evidence", "errors"),
    ]
    for row in (steady, torn):
        parts = 0.4 * row["grounding"] + 0.3 * row["logic"] + 0.3 * row["stability"]
        assert row["trust"] == pytest.approx(parts, abs=1e-12)
        assert row["errors"] == []
    assert steady["stability"] == 1.0
    assert torn["logic"] < steady["logic"]
    assert torn["evidence"]["logic"]["contradictions"][0]["source"].startswith("rule:")
    assert torn["evidence"]["stability"]["worst"] == "prompt"
    support = steady["evidence"]["grounding"]["supports"][0]
    assert TRUE[support["claim"]["span"]["start"] :].startswith(support["claim"]["span"]["text"])
    assert "2 reports" in done.output
    assert "torn <b>" in done.output


def test_the_summary_counts_routes_and_names_policy_and_models(folder: Path) -> None:
    judged(folder)
    summary = json.loads((folder / "out" / "summary.json").read_text("utf-8"))
    assert sum(summary["routes"].values()) == summary["rows"] == 2
    assert summary["policy"]["weights"] == {"grounding": 0.4, "logic": 0.3, "stability": 0.3}
    assert len(summary["policy"]["hash"]) == 12
    assert summary["encoder"] == "colours-1"
    rows = rows_of(folder)
    assert summary["means"]["trust"]["mean"] == pytest.approx(sum(r["trust"] for r in rows) / 2)


def test_two_runs_write_the_same_files_wherever_they_are(folder: Path) -> None:
    judged(folder)
    first = writing_to(folder / "out")
    assert judged(folder, "--overwrite").exit_code == 0
    assert writing_to(folder / "out") == first
    assert all(str(folder).encode() not in content for content in first.values())


def test_a_run_that_was_killed_goes_on_where_it_was(folder: Path, quick: ColourEncoder) -> None:
    judged(folder)
    whole, file = writing_to(folder / "out"), folder / "out" / "trust.jsonl"
    first, second = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first + second[:40])
    (folder / "out" / "summary.json").unlink()
    before = len(quick.batches)
    assert judged(folder).exit_code == 0
    assert writing_to(folder / "out") == whole
    assert len(quick.batches) == before + 1


def test_results_of_other_settings_are_not_mixed_in(folder: Path) -> None:
    judged(folder)
    other = judged(folder, "--weights", "0.2,0.4,0.4")
    assert isinstance(other.exception, OutputError)
    assert "policy" in str(other.exception)
    assert judged(folder, "--weights", "0.2,0.4,0.4", "--overwrite").exit_code == 0
    row = rows_of(folder)[0]
    parts = 0.2 * row["grounding"] + 0.4 * row["logic"] + 0.4 * row["stability"]
    assert row["trust"] == pytest.approx(parts)


def test_what_is_missing_has_a_reason_and_no_number(folder: Path) -> None:
    given = {
        "no image": {"image": "", "report": TRUE},
        "gone": {"image": "three.png", "report": TRUE, "report_augmented": TRUE},
        "empty": {"image": "one.png", "report": " "},
        "emoji": {"image": "one.png", "report": "\U0001f600\U0001f52c"},
        "black": {"image": "black.png", "report": TRUE},
    }
    Image.fromarray(dark(240)).save(folder / "black.png")
    write(folder / "reports.csv", [ROWS[0], *[{"id": id_, **row} for id_, row in given.items()]])
    done = judged(folder)
    assert done.exit_code == 1, done.output
    found = {row["id"]: row for row in rows_of(folder)}
    none = {"stability": "no_attacked_reports"}
    assert errors_of(found["no image"]) == {"grounding": "no_image"} | none
    assert errors_of(found["gone"])["grounding"] == "missing_image"
    assert errors_of(found["gone"])["stability"] == "no_attacked_report"
    assert errors_of(found["empty"]) == {"": "empty_text"}
    assert errors_of(found["emoji"])["grounding"] == "no_claims"
    assert errors_of(found["black"])["grounding"] == "no_tissue"
    for name in given:
        assert (found[name]["trust"], found[name]["route"]) == (None, "review")
        bounds = found[name]["evidence"]["trust"]
        assert 0 <= bounds["low"] < bounds["high"] <= 1
    assert found["gone"]["logic"] is not None


@pytest.mark.parametrize(("report", "code"), [(TRUE, 1), ("Thank you.", 2)])
def test_logic_needs_no_images_or_attacks(folder: Path, report: str, code: int) -> None:
    write(folder / "reports.csv", [{"id": "a", "report": report}])
    done = judged(folder)
    assert done.exit_code == code, done.output
    (row,) = rows_of(folder)
    assert (row["logic"] is None) == (code == 2)
    if code == 1:
        assert errors_of(row) == {"grounding": "no_image", "stability": "no_attacked_reports"}


def test_without_the_extra_the_rest_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*_: object, **__: object) -> None:
        raise MissingDependency("pillow not installed: run: pip install 'histoeval[slide]'")

    monkeypatch.setattr(histoeval.run.trust.reports, "embed_image", lacking)
    assert judged(folder).exit_code == 1
    row = rows_of(folder)[0]
    assert errors_of(row) == {"grounding": "missing_extra"}
    assert row["logic"] is not None
    assert row["stability"] is not None


def test_a_slide_has_tiles_for_and_against_and_a_heatmap_of_each_claim(folder: Path) -> None:
    page = glass(1024, 2304)
    put(page, stained(1024, 1536), 0, 0)
    write_pyramid(folder / "case.tif", page, 0.5, levels=3)
    write(folder / "reports.csv", [{**ROWS[0], "image": "case.tif"}])
    done = judged(folder, "--tiles", "4")
    assert done.exit_code == 0, done.output
    evidence = rows_of(folder)[0]["evidence"]
    shows = [picture["shows"] for picture in evidence["pictures"]]
    claims = len(evidence["grounding"]["supports"])
    assert shows == ["image"] + ["spot", "against", "heatmap"] * claims
    for picture in evidence["pictures"]:
        with Image.open(folder / "out" / picture["file"]) as drawn:
            assert drawn.format == "PNG"
    assert any("4 of" in note for note in evidence["grounding"]["notes"])


def test_no_pictures_means_none(folder: Path) -> None:
    assert judged(folder, "--no-pictures").exit_code == 0
    kept = sorted(path.name for path in (folder / "out" / "evidence").iterdir())
    assert kept == ["00001_patches.npz", "00002_patches.npz"]
    assert "pictures" not in rows_of(folder)[0]["evidence"]


def test_images_may_lie_in_another_folder(folder: Path) -> None:
    (folder / "pictures").mkdir()
    (folder / "one.png").rename(folder / "pictures" / "one.png")
    write(folder / "reports.csv", ROWS[:1])
    judged(folder)
    assert errors_of(rows_of(folder)[0]) == {"grounding": "missing_image"}
    assert judged(folder, "--images", folder / "pictures", "--overwrite").exit_code == 0
    away = judged(folder, "--images", folder / "none", "--overwrite")
    assert isinstance(away.exception, SettingError)


@pytest.mark.usefixtures("alone")
def test_a_model_is_asked_for_what_the_table_lacks(folder: Path) -> None:
    write(folder / "reports.csv", [{"id": "a", "image": "one.png", "report": BENIGN}])
    with vision(gullible) as server:
        asked = ("--endpoint", server.url, "--model", "eye", "--attack", "malignant_history")
        done = judged(folder, *asked)
        assert done.exit_code == 0, done.output
        stability = rows_of(folder)[0]["evidence"]["stability"]
        assert stability["worst"] == "malignant_history"
        before = len(server.calls)
        judged(folder, *asked, "--overwrite")
        assert len(server.calls) == before


@pytest.mark.usefixtures("alone")
def test_a_model_that_does_not_answer_leaves_stability_missing(folder: Path) -> None:
    write(folder / "reports.csv", [{"id": "a", "image": "one.png", "report": BENIGN}])
    asked = ("--endpoint", "http://127.0.0.1:9/v1", "--model", "eye", "--attempts", "1")
    done = judged(folder, *asked)
    assert done.exit_code == 1, done.output
    row = rows_of(folder)[0]
    assert errors_of(row) == {"stability": "subject_unreachable"}
    assert row["grounding"] is not None


def test_a_latin_1_table_is_read_when_it_is_said_to_be(folder: Path) -> None:
    report = f"{TRUE} The patient has Sjögren disease."
    write(folder / "reports.csv", [{**ROWS[0], "report": report}], "latin-1")
    assert judged(folder, "--encoding", "latin-1").exit_code == 0
    assert rows_of(folder)[0]["logic"] is not None


@from_table
def test_settings_that_make_no_sense_are_refused(
    folder: Path, wrong: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from histoeval.pathgls.stability.distance import open_distance

    monkeypatch.setattr(histoeval.run.trust.setup, "open_distance", open_distance)
    assert isinstance(judged(folder, *wrong).exception, SettingError)
    assert not (folder / "out").exists()


def test_without_both_file_and_folder_it_says_what_it_needs(folder: Path) -> None:
    assert isinstance(run("--reports", folder / "reports.csv").exception, SettingError)
    assert "--reports" in run().output


@pytest.mark.parametrize("mpp", ["nan", "-1", "0", "inf"])
def test_microns_that_are_none_are_refused_before_any_work(folder: Path, mpp: str) -> None:
    done = judged(folder, "--mpp", mpp)
    assert done.exit_code != 0
    assert not (folder / "out" / "trust.jsonl").exists()
