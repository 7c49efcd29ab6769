"""A finished run as csv, xlsx, md and json: the same numbers, and no cell that is a formula."""

import csv
import json
import re
from pathlib import Path
from zipfile import ZipFile

import pytest

import histoeval
from histoeval import HistoEvalError, InputError, OutputError, SettingError, write_report
from tests.support.rating_sheets import rows, write
from tests.support.score_runs import make_score_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_score_run(tmp_path_factory.mktemp("score"))


def records(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


def test_csv_has_a_row_for_each_pair(run: Path, tmp_path: Path) -> None:
    found = records(write_report(run, tmp_path / "pairs.csv", to="csv"))
    assert len(found) == 10
    first = found[0]
    assert (first["id"], first["system"], first["organ"]) == ("breast-1", "a", "breast")
    assert (first["critical"], first["kinds"]) == ("1", "wrong_laterality, wrong_grade")
    assert float(first["marking"]) == 0.5
    assert "empty_text" in next(each for each in found if each["id"] == "blank")["problems"]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
def test_no_cell_of_csv_or_xlsx_is_a_formula(sign: str, tmp_path: Path) -> None:
    name = f"{sign}HYPERLINK(1)"
    pairs = [{"id": name, "reference": "a b", "candidate": "a b", "system": name}]
    histoeval.score(pairs, metrics="bleu", output=tmp_path / "run")
    (row,) = records(write_report(tmp_path / "run", to="csv"))
    assert row["id"] == row["system"] == f"'{name}"
    with ZipFile(write_report(tmp_path / "run", to="xlsx")) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        shared = book.read("xl/sharedStrings.xml").decode()
    assert "<f>" not in sheet
    assert f">{name}<" in shared
    assert 't="s"' in sheet


def test_xlsx_has_sheets_for_pairs_errors_and_signatures(run: Path, tmp_path: Path) -> None:
    with ZipFile(write_report(run, tmp_path / "run.xlsx", to="xlsx")) as book:
        names = re.findall(r'<sheet name="(\w+)"', book.read("xl/workbook.xml").decode())
        assert names == ["pairs", "errors", "signatures"]
        assert book.testzip() is None


def test_markdown_is_the_summary(run: Path, tmp_path: Path) -> None:
    text = write_report(run, tmp_path / "run.md", to="md").read_text("utf-8")
    assert (
        text.index("| b |")
        < text.index("| a | 1 of 4 | 1 | 1 | 1 | 1 |")
        < text.index("Means over pairs")
    )
    assert "| wrong laterality | 0 | 1 |" in text
    assert "breast-1" not in text


def test_json_is_everything(run: Path, tmp_path: Path) -> None:
    content = json.loads(write_report(run, tmp_path / "run.json", to="json").read_bytes())
    assert content["kind"] == "score"
    assert content["summary"]["rows"] == len(content["rows"]) == 10
    assert content["rows"][0]["scores"]["marking"]["value"] == 0.5


def test_studies_and_comparisons_are_exported(run: Path, tmp_path: Path) -> None:
    sheet = write(tmp_path / "sheet.csv", rows(24))
    histoeval.agree(
        sheet, metrics="bleu,chrf", resamples=50, permutations=50, output=tmp_path / "agree"
    )
    found = records(write_report(tmp_path / "agree", to="csv"))
    assert [each["metric"] for each in found] == ["bleu", "chrf"]
    page = write_report(tmp_path / "agree").read_text("utf-8")
    assert page.count("<figure>") == 5
    histoeval.compare(run, metric="marking", resamples=50, permutations=50).write(tmp_path / "two")
    page = write_report(tmp_path / "two").read_text("utf-8")
    assert "Where systems differ most" in page
    assert '<span class="severity critical">critical</span>' in page
    assert "System against system" in write_report(tmp_path / "two", to="md").read_text("utf-8")
    assert json.loads(write_report(tmp_path / "two", to="json").read_bytes())["kind"] == "compare"


def test_extracted_reports_have_a_page_and_a_row_for_each_entity(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    histoeval.extract(["Colon: adenoma. No carcinoma.", ""], output=file)
    page = write_report(file).read_text("utf-8")
    assert '<mark class="denied"' in page
    assert '<sup class="denied" data-mark=' in page
    found = records(write_report(file, to="csv"))
    assert {"adenoma", "carcinoma"} <= {each["text"] for each in found}
    assert found[-1]["problems"]


def test_experiments_have_one_page_of_all_their_tables(tmp_path: Path) -> None:
    (tmp_path / "table1.md").write_text(
        "**Drops \\<b>**\n\n| measure | drop |\n| --- | --- |\n| a \\| b | 0.5 |\n\n- A note.\n"
    )
    (tmp_path / "table1.json").write_text('{"found": [{"measure": "a", "drop": {"value": 0.5}}]}')
    page = write_report(tmp_path).read_text("utf-8")
    assert "<caption>Drops &lt;b&gt;</caption>" in page
    assert '<td>a | b</td><td class="n">0.5</td>' in page
    assert "<li>A note.</li>" in page
    assert records(write_report(tmp_path, to="csv")) == [{"measure": "a", "drop_value": "0.5"}]
    assert "Drops" in write_report(tmp_path, to="md").read_text("utf-8")


def test_no_file_of_a_run_is_replaced_by_its_report(run: Path, tmp_path: Path) -> None:
    before = (run / "scores.jsonl").read_bytes()
    with pytest.raises(OutputError, match="is an input of this run"):
        write_report(run, run / "scores.jsonl", to="csv")
    with pytest.raises(OutputError, match="is a folder; name a file: output='FILE'"):
        write_report(run, tmp_path)
    assert (run / "scores.jsonl").read_bytes() == before
    assert write_report(run) == write_report(run) == run / "report.html"
    assert (run / "report.html").stat().st_mode & 0o777 == 0o600


def test_another_format_and_a_damaged_study_are_named(tmp_path: Path, run: Path) -> None:
    with pytest.raises(SettingError, match="there is no report as 'pdf'; choose one of html, csv"):
        write_report(run, to="pdf")
    (tmp_path / "agreement.json").write_text("{}")
    with pytest.raises(InputError, match=r"agreement.json is damaged"):
        write_report(tmp_path)
    (tmp_path / "agreement.json").write_text("[")
    with pytest.raises(HistoEvalError):
        write_report(tmp_path)
