"""One file evaluated as a platform does it, in all the forms in which platforms hand it over."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from histoeval.challenge import evaluate_predictions
from histoeval.errors import InputError
from tests.support.challenges import TRUTH, a_challenge, changed, rows, set_rules, write_json


def evaluated(folder: Path, given: Path, output: Path | None = None) -> dict[str, Any]:
    return evaluate_predictions(folder, given, output=output, engine="inline")


def job(pk: str, case: str, *, word: str = "socket", **more: Any) -> dict[str, Any]:
    """A job as grand-challenge lists it; `word` is `interface` in its older form."""
    return {
        "pk": pk,
        "status": "Succeeded",
        "inputs": [{word: {"slug": "slide"}, "image": {"name": case}, "value": None}],
        "outputs": [
            {word: {"slug": "report", "relative_path": "report.json"}, "value": None, "file": None}
        ],
        "exec_duration": "PT22S",
        **more,
    }


def jobs(place: Path, *, word: str = "socket") -> Path:
    listed = [job(f"pk{at}", id_, word=word) for at, id_ in enumerate(TRUTH)]
    for each, text in zip(listed, TRUTH.values(), strict=True):
        write_json(place / each["pk"] / "output" / "report.json", text)
    write_json(place / "predictions.json", listed)
    return place


def test_aggregates_and_results_of_cases_are_written(tmp_path: Path) -> None:
    given = write_json(tmp_path / "input" / "predictions.json", rows(changed(4)))
    found = evaluated(a_challenge(tmp_path), given.parent, tmp_path / "output")
    assert json.loads((tmp_path / "output" / "metrics.json").read_text("utf-8")) == found
    totals = found["aggregates"]
    assert totals["score"]["low"] < totals["score"]["value"] < totals["score"]["high"]
    assert (totals["cases"], totals["scored"], totals["missing"]) == (8, 8, 0)
    assert totals["subgroups"]["breast"]["cases"] == 2
    assert [each["id"] for each in found["results"]] == list(TRUTH)
    assert found["results"][7]["rouge_l"] == 1
    assert not any(text in json.dumps(found) for text in TRUTH.values())


@pytest.mark.parametrize("word", ["socket", "interface"])
def test_jobs_of_a_platform_are_read(tmp_path: Path, word: str) -> None:
    found = evaluated(a_challenge(tmp_path), jobs(tmp_path / "input", word=word))
    assert found["aggregates"]["score"]["value"] == pytest.approx(1)
    assert found["problems"] == []


def test_a_job_that_failed_or_was_too_slow_is_a_missing_case(tmp_path: Path) -> None:
    given = jobs(tmp_path / "input")
    listed = json.loads((given / "predictions.json").read_text("utf-8"))
    listed[0]["status"] = "Failed"
    listed[1]["exec_duration"] = "P0DT00H22M17S"
    (given / "pk2" / "output" / "report.json").unlink()
    write_json(given / "predictions.json", listed)
    folder = a_challenge(tmp_path, limits={"seconds_per_case": 60})
    found = evaluated(folder, given)
    assert found["aggregates"]["missing"] == 3
    reasons = " ".join(each["reason"] for each in found["problems"])
    assert "job pk0 has not succeeded: Failed" in reasons
    assert "'case-2.tiff' took 1337 s, and 60 are allowed" in reasons
    assert "job pk2 has written no report.json" in reasons
    broken = [each for each in found["problems"] if each["code"] == "broken_job"]
    assert [each["id"] for each in broken] == ["case-1.tiff", "case-3.tiff"]
    assert not [each for each in found["problems"] if each["code"] == "missing_report"]
    assert found["results"][0]["reason"] == broken[0]["reason"]


def test_a_job_that_names_no_case_is_told_by_its_number(tmp_path: Path) -> None:
    given = jobs(tmp_path / "input")
    listed = json.loads((given / "predictions.json").read_text("utf-8"))
    listed[0]["status"] = "Failed"
    listed[3]["inputs"] = []
    write_json(given / "pk5" / "output" / "report.json", 5)
    write_json(given / "predictions.json", [*listed, "junk", {"outputs": []}])
    problems = evaluated(a_challenge(tmp_path), given)["problems"]
    nameless, *others = [each for each in problems if each["id"] is None]
    assert (nameless["row"], nameless["code"]) == (4, "broken_job")
    assert "job pk3 does not say which case it is about" in nameless["reason"]
    assert [each["reason"][:15] for each in others] == ["entry 9 of pred", "entry 10 of pre"]
    (number,) = [each for each in problems if each["code"] == "not_text"]
    assert (number["id"], number["row"]) == ("case-6.tiff", 6), "rows count all jobs"
    assert "(job pk5)" in number["reason"]


def test_a_socket_may_be_a_slug_alone(tmp_path: Path) -> None:
    listed = [
        {**job(f"pk{at}", id_), "outputs": [{"socket": "report", "value": text}]}
        for at, (id_, text) in enumerate(TRUTH.items())
    ]
    given = write_json(tmp_path / "input" / "predictions.json", listed)
    folder = a_challenge(tmp_path, platform={"report": "report"})
    assert evaluated(folder, given)["aggregates"]["score"]["value"] == pytest.approx(1)


def test_a_platform_can_read_the_metrics_under_another_user(tmp_path: Path) -> None:
    given = write_json(tmp_path / "input" / "predictions.json", rows(TRUTH))
    evaluated(a_challenge(tmp_path), given, tmp_path / "output")
    umask = os.umask(0)
    os.umask(umask)
    mode = (tmp_path / "output" / "metrics.json").stat().st_mode
    assert mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize(
    "value", ["text", {"report": "text"}, [{"id": "case-1.tiff", "report": "text"}]]
)
def test_an_output_may_be_a_text_an_object_or_a_table(tmp_path: Path, value: Any) -> None:
    one = job("pk", "case-1.tiff")
    one["outputs"][0]["value"] = value
    given = write_json(tmp_path / "input" / "predictions.json", [one])
    assert evaluated(a_challenge(tmp_path), given)["aggregates"]["scored"] == 1


def test_several_outputs_need_a_rule(tmp_path: Path) -> None:
    one = job("pk", "case-1.tiff")
    more = {"socket": {"slug": "heatmap", "relative_path": "heat.json"}, "value": 1}
    one["outputs"] += [more]
    one["outputs"][0]["value"] = "text"
    given = write_json(tmp_path / "input" / "predictions.json", [one])
    folder = a_challenge(tmp_path)
    with pytest.raises(InputError, match=r"2 outputs.*platform\.report"):
        evaluated(folder, given)
    set_rules(folder, platform={"report": "report", "case": "slide"})
    assert evaluated(folder, given)["aggregates"]["scored"] == 1


def test_no_file_outside_of_the_input_is_read(tmp_path: Path) -> None:
    write_json(tmp_path / "secret.json", "text")
    one = job("pk", "case-1.tiff")
    one["outputs"][0]["socket"]["relative_path"] = "../../../secret.json"
    given = write_json(tmp_path / "input" / "predictions.json", [one])
    with pytest.raises(InputError, match="outside of the input"):
        evaluated(a_challenge(tmp_path), given)


def test_the_one_table_of_a_folder_is_found(tmp_path: Path) -> None:
    write_json(tmp_path / "input" / "deep" / "ours.json", rows(TRUTH))
    folder = a_challenge(tmp_path)
    assert evaluated(folder, tmp_path / "input")["aggregates"]["scored"] == 8
    write_json(tmp_path / "input" / "other.json", rows(TRUTH))
    with pytest.raises(InputError, match=r"no predictions\.json, and 2 files"):
        evaluated(folder, tmp_path / "input")


def test_a_file_without_any_usable_report_is_refused(tmp_path: Path) -> None:
    given = write_json(tmp_path / "input" / "predictions.json", rows({"x": "text"}))
    with pytest.raises(InputError, match="no report for any of 8 cases, for example"):
        evaluated(a_challenge(tmp_path), given)


def test_the_entry_script_of_the_container_runs_it(tmp_path: Path) -> None:
    """Without a container: with the folders of the platform by other names."""
    folder = a_challenge(tmp_path)
    write_json(tmp_path / "input" / "predictions.json", rows(TRUTH))
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "histoeval").write_text(f'#!/bin/sh\nexec {sys.executable} -m histoeval "$@"\n')
    (commands / "histoeval").chmod(0o755)
    places = {"INPUT": "input", "OUTPUT": "output", "GROUND_TRUTH": "challenge/ground_truth"}
    environment = os.environ | {name: str(tmp_path / place) for name, place in places.items()}
    environment["PATH"] = f"{commands}:{os.environ['PATH']}"
    command = [str(folder / "evaluate"), "--engine", "inline"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads((tmp_path / "output" / "metrics.json").read_text("utf-8"))
    assert found["aggregates"]["score"]["value"] == pytest.approx(1)
