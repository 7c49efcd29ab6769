"""`histoeval extract`: what is shown, what is written, and the exit code."""

import json
from functools import partial
from pathlib import Path

import pytest
from typer.testing import Result

from histoeval.errors import InputError, SettingError
from tests.support.command import invoked
from tests.support.terminal_tables import table_rows
from tests.support.word_reader import WordReader


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The builtin reader knows six words; nobody asks for colours."""
    monkeypatch.setattr("histoeval.run.extract.load_reader", lambda models: WordReader())
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    file = tmp_path / "reports.csv"
    texts = ["carcinoma of the breast", "HER2 negative", "no invasion", "sarcoma"]
    lines = [f"case-{number},{text}" for number, text in enumerate(texts)]
    file.write_text("\n".join(["id,report", *lines]), "utf-8")
    return file


run = partial(invoked, "extract")


def cells(result: Result) -> dict[str, str]:
    """The numbers of the table."""
    return {name: found for name, (found, *_) in table_rows(result.output).items()}


def test_without_output_the_first_reports_are_shown(reports: Path) -> None:
    result = run(reports)
    assert result.exit_code == 0
    assert "[carcinoma](diagnosis) of the [breast](site)" in result.output
    assert "carcinoma → breast 0.97" in result.output
    assert "case-2" in result.output
    assert "case-3" not in result.output
    assert list(reports.parent.iterdir()) == [reports]


def test_as_many_reports_are_shown_as_are_asked_for(reports: Path) -> None:
    shown = run(reports, "--show", 1).output
    assert ("case-0" in shown, "case-1" in shown) == (True, False)
    assert "case-3" in run(reports, "--show", 9).output
    assert isinstance(run(reports, "--show", 0).exception, SettingError)


def test_an_output_has_a_row_per_report(reports: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    result = run(reports, "--output", output)
    assert result.exit_code == 0
    found = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert [row["id"] for row in found] == [f"case-{number}" for number in range(4)]
    told = cells(result)
    assert (told["rows"], told["diagnosis"], told["all entities"]) == ("4", "2", "6")
    assert (told["marker-result"], told["all relations"]) == ("1", "2")
    assert "reports per second" in result.output
    assert "[carcinoma]" not in result.output


def test_reports_can_be_shown_while_all_are_written(reports: Path, tmp_path: Path) -> None:
    for _ in range(2):
        result = run(reports, "--output", tmp_path / "out.jsonl", "--show", 1)
        assert "[carcinoma](diagnosis)" in result.output
        assert "[HER2]" not in result.output
        assert cells(result)["rows"] == "4"
    assert "4 rows were there already" in result.output


@pytest.mark.parametrize(
    ("rows", "code"), [(["a,carcinoma", "b,"], 1), (["a,", "b,"], 2), (["a,x"], 0)]
)
def test_the_exit_code_says_how_many_failed(rows: list[str], code: int, tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text("\n".join(["id,text", *rows]), "utf-8")
    result = run(file, "--output", tmp_path / "out.jsonl")
    assert result.exit_code == run(file).exit_code == code
    assert ("empty_text" in result.output) == (code > 0)


def test_columns_are_named_by_options(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text("key,id,reference,candidate\nk,1,breast,carcinoma\n", "utf-8")
    assert isinstance(run(file).exception, InputError)
    shown = run(file, "--text", "candidate", "--id", "key").output
    assert "\nk\n[carcinoma](diagnosis)" in shown
    assert "'candidat'" in str(run(file, "--text", "candidat").exception)


def test_an_encoding_is_said_by_an_option(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_bytes("id,text\na,Łagodny carcinoma\n".encode("cp1250"))
    assert "Łagodny" in run(file, "--encoding", "cp1250").output
