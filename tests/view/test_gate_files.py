"""A gate as Markdown and as JUnit XML, and the exit codes of the verb."""

from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import histoeval
from histoeval.run.compare.compare import Comparison
from histoeval.run.compare.gate import Gate, NewError, WorseCase
from histoeval.view.html.run_pages import comparison_page
from histoeval.view.terminal.comparison import gate_junit, gate_markdown
from tests.run.compare.test_gate import RIGHT, scored
from tests.support.command import invoked
from tests.support.score_runs import HOSTILE

HARD = f"a|b 😀 \x00\x07\ufffe {HOSTILE} @octocat <img src=x> ]]> & `code`"


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    return scored(tmp_path / "old", {}), scored(tmp_path / "new", {"c2": RIGHT, "c3": ""})


QUICK = ("--metric", "marking", "--resamples", "100", "--permutations", "100")
run = partial(invoked, "compare", *QUICK)


def hostile(found: Comparison) -> Gate:
    """A gate whose texts hold everything that XML and Markdown cannot."""
    assert found.gate is not None
    error = NewError(kind="invention", severity="critical", message=HARD)
    case = WorseCase(id=HARD, system=HARD, before=1.0, after=0.5, new_errors=(error,))
    failed = found.gate.failed[0].model_copy(update={"system": HARD, "cases": (HARD,)})
    return found.gate.model_copy(update={"worse": (case,), "conditions": (failed,)})


@pytest.fixture
def found(runs: tuple[Path, Path]) -> Comparison:
    old, new = runs
    settings: dict[str, Any] = {"metric": "marking", "resamples": 100, "permutations": 100}
    return histoeval.compare(new, baseline=old, fail_if="new critical errors > 0", **settings)


def test_junit_has_a_test_for_each_condition_and_each_worse_case(found: Comparison) -> None:
    assert found.gate is not None
    root = ET.fromstring(gate_junit(found.gate))
    assert (root.get("tests"), root.get("failures")) == ("3", "2")
    conditions, cases = root
    assert conditions[0].get("name") == "new:candidate: fail if new critical errors > 0"
    names = {test.get("name"): test.find("failure") is not None for test in cases}
    assert names == {"c2": True, "c3": False}


def test_junit_is_valid_whatever_texts_hold(found: Comparison) -> None:
    text = gate_junit(hostile(found))
    (test,) = ET.fromstring(text)[1]
    assert "😀" in (test.get("name") or "")
    assert "alert(1)" in (test.findtext("failure") or "")
    assert "\x07" not in text


def test_markdown_cannot_be_steered_by_texts(found: Comparison) -> None:
    text = gate_markdown(found, hostile(found))
    assert text.startswith("## ❌ Gate failed: 1 of 1 conditions met\n")
    assert "@octocat" not in text
    assert "<img" not in text.replace("\\<img", "")
    assert "\x1b" not in text
    rows = [line for line in text.splitlines() if line.startswith("| a\\|b")]
    assert rows, "a cell may not end before its text does"


def test_the_page_begins_with_outcome_and_new_errors(found: Comparison, tmp_path: Path) -> None:
    found.write(tmp_path / "out")
    page = comparison_page(tmp_path / "out")
    assert '<p class="gate route reject" role="status">✕ Gate failed: 1 of 1' in page
    assert '<span class="route reject">✕ failed</span>' in page
    assert '<span class="severity critical">critical</span> wrong laterality' in page


def test_a_gate_that_fails_has_an_exit_code_of_its_own(runs: tuple[Path, Path]) -> None:
    old, new = runs
    assert run("--baseline", old, new).exit_code == 0
    assert run("--baseline", old, new, "--fail-if", "missing > 0").exit_code == 0
    failed = run("--baseline", old, new, "--fail-if", "errors > 0", "--fail-if", "missing > 0")
    assert failed.exit_code == 3
    assert "Gate failed: 1 of 2" in failed.output
    assert "c3" in failed.output
    assert run("--baseline", old, new, "--fail-if", "eror > 0").exit_code not in (0, 3)
    assert run(old, new, "--fail-if", "errors > 0").exit_code not in (0, 3)
    assert run(old, new, "--junit", "x.xml").exit_code not in (0, 3)


def test_markdown_is_all_that_is_printed(runs: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = runs
    files = ("--junit", tmp_path / "gate.xml", "--output", tmp_path / "out")
    result = run("--baseline", old, new, "--markdown", "-", *files)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("## ✅ 2 cases got worse")
    assert "Written" not in result.stdout
    assert ET.parse(tmp_path / "gate.xml").getroot().tag == "testsuites"
    page = histoeval.write_report(tmp_path / "out").read_text("utf-8")
    assert "<h2>Cases that got worse</h2>\n<p>By marking" in page


def test_files_never_replace_scores(runs: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = runs
    missing = run("--baseline", old, new, "--markdown", tmp_path / "no" / "x.md")
    assert "does not exist" in str(missing.exception)
    rows = new / "scores.jsonl"
    before = rows.read_bytes()
    assert run("--baseline", old, rows, "--junit", rows).exit_code
    assert rows.read_bytes() == before
