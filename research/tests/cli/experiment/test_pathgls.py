"""`histoeval experiment pathgls`, as people run it; the models are stand-ins."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from research.tests.experiments.pathgls.test_answers import SharedWords
from research.tests.experiments.pathgls.test_cases import a_folder_of_tiles
from typer.testing import CliRunner, Result

from histoeval.errors import SettingError
from histoeval_research.cli.experiment.run import experiment_app
from histoeval_research.experiments.measures import Found, PerturbedRow
from histoeval_research.experiments.sensitivity import MeasureSet
from tests.support.edited_reports import MALIGNANT, HandReader


class Words:
    """The share of words that a report has of the true one."""

    name, signature = "logic", "shared words"

    def measure(self, rows: Sequence[PerturbedRow]) -> list[Found]:
        return [self._one(row) for row in rows]

    def _one(self, row: PerturbedRow) -> float:
        true, said = set((row.reference or "").split()), set((row.report or "").split())
        return len(true & said) / len(true | said)


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = "histoeval_research.experiments.pathgls.cases"
    monkeypatch.setattr("histoeval_research.cli.experiment.run.load_reader", lambda _: HandReader())
    monkeypatch.setattr(f"{cases}.load_reader", lambda _: HandReader())
    monkeypatch.setattr(f"{cases}.open_distance", lambda *_, **__: SharedWords())
    bench = MeasureSet([Words()], None, {"grounding": "no encoder here"})
    monkeypatch.setattr(f"{cases}.open_bench", lambda *_: bench)


def run(*arguments: object) -> Result:
    told = ["pathgls", *map(str, arguments), "--resamples", "50"]
    return CliRunner().invoke(experiment_app, told, env={"COLUMNS": "200", "TERM": "dumb"})


def reports(tmp_path: Path, rows: int = 6) -> Path:
    path = tmp_path / "reports.jsonl"
    lines = ({"id": f"r{n}", "report": MALIGNANT} for n in range(rows))
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def test_one_command_writes_all_tables_with_the_papers_numbers(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("--output", out, "--reports", reports(tmp_path))
    assert done.exit_code == 0, done.output
    for name in ("table1", "table2", "table3", "figure3a", "figure3b", "hierarchy"):
        assert (out / f"{name}.md").read_text("utf-8")
        assert list(csv.DictReader((out / f"{name}.csv").read_text("utf-8").splitlines()))
    told = (out / "table1.md").read_text("utf-8")
    assert "0.67 (26.4 %)" in told
    assert "no encoder here" in told
    assert "stand-ins" in (out / "table2.md").read_text("utf-8")
    assert "| paper | LLaVA | trust | 0.801 | 0.737 | 0.064 |" in (
        (out / "table3.md").read_text("utf-8")
    )
    assert "0.0000" in (out / "figure3a.md").read_text("utf-8")
    assert "a reference in disguise" in (out / "figure3b.md").read_text("utf-8")


def test_the_same_command_measures_nothing_twice_and_writes_the_same(tmp_path: Path) -> None:
    out, given = tmp_path / "out", reports(tmp_path)
    assert run("--output", out, "--reports", given).exit_code == 0
    before = {file.name: file.read_bytes() for file in out.glob("*.*")}
    again = run("--output", out, "--reports", given)
    assert again.exit_code == 0, again.output
    assert before == {file.name: file.read_bytes() for file in out.glob("*.*")}


def test_tiles_of_one_split_leave_table_three_to_the_paper(tmp_path: Path) -> None:
    tiles = a_folder_of_tiles(tmp_path / "tiles")
    done = run("--output", tmp_path / "out", "--tiles", tiles, "--sample", 2)
    assert done.exit_code == 0, done.output
    assert "the tiles have no split external" in done.stderr
    rows = json.loads((tmp_path / "out" / "table3.json").read_text("utf-8"))["found"]
    assert {row["source"] for row in rows} == {"paper"}


def test_a_split_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    tiles = a_folder_of_tiles(tmp_path / "tiles")
    done = run("--output", tmp_path / "out", "--tiles", tiles, "--public", "val")
    assert isinstance(done.exception, SettingError)
    assert "it has: test" in str(done.exception)


def test_without_reports_and_tiles_there_is_nothing_to_measure(tmp_path: Path) -> None:
    done = run("--output", tmp_path / "out")
    assert isinstance(done.exception, SettingError)


def test_results_on_real_models_are_added(tmp_path: Path) -> None:
    line = {"row": 1, "logic": 0.9, "trust": 0.8, "route": "review"}
    for name in ("public", "private"):
        (tmp_path / name).mkdir()
        rows = "".join(f"{json.dumps({'id': f'r{n}', **line})}\n" for n in range(5))
        (tmp_path / name / "trust.jsonl").write_text(rows, "utf-8")
    public, private = tmp_path / "public", tmp_path / "private"
    real = ["--run", f"set/mine={public}", "--gap", f"mine={public},{private}"]
    done = run("--output", tmp_path / "out", "--reports", reports(tmp_path), *real)
    assert done.exit_code == 0, done.output
    assert "| ours | set | mine |" in (tmp_path / "out" / "table2.md").read_text("utf-8")
    assert "| ours | mine | trust | 0.800 | 0.800" in (
        (tmp_path / "out" / "table3.md").read_text("utf-8")
    )


def test_the_figure_is_drawn_where_matplotlib_is(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = run("--output", tmp_path / "out", "--reports", reports(tmp_path))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "figure3.svg").read_text("utf-8").startswith("<?xml")
    assert (tmp_path / "out" / "figure3.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_tables_are_written_and_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    views = ("histoeval.view.figures", "histoeval_research.view.figures")
    for name in [name for name in sys.modules if name.startswith(views)]:
        monkeypatch.delitem(sys.modules, name)
    done = run("--output", tmp_path / "out", "--reports", reports(tmp_path))
    assert done.exit_code == 0, done.output
    assert "figure 3 is not drawn" in done.stderr
    assert "[figures]" in done.stderr
    assert not (tmp_path / "out" / "figure3.svg").exists()
