"""Files of single reports and of cases: which column is what, and what is no report at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import InputError, Problem
from histoeval.io.reports import open_cases, open_reports
from histoeval.io.tables.records import Fault, text_of


def write(folder: Path, records: list[dict[str, object]]) -> Path:
    file = folder / "in.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return file


@pytest.mark.parametrize("content", ["", "\n \n", "id,text\n"])
def test_a_file_without_reports_is_said(content: str, tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text(content, "utf-8")
    with pytest.raises(InputError, match=r"empty|blank|no rows"):
        open_reports(file)


def test_a_wrong_encoding_is_the_trouble_of_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    rows = ["id,text", "a,Café carcinoma", "b,naïve sarcoma", "c,breast"]
    file.write_bytes("\n".join([*rows[:2], ""]).encode() + "\n".join(rows[2:]).encode("latin-1"))
    codes = [row.problems[0].code if row.problems else "" for row in open_reports(file).rows()]
    assert codes == ["", "not_utf8", ""]
    file.write_bytes("\n".join(rows).encode("latin-1"))
    for encoding in ("latin-1", None):
        texts = [row.text for row in open_reports(file, encoding=encoding).rows()]
        assert texts == ["Café carcinoma", "naïve sarcoma", "breast"]
    with pytest.raises(InputError, match="there is no encoding 'klingon'"):
        open_reports(file, encoding="klingon")


@pytest.mark.parametrize("name", ["text", "Report", "Pathology Report", "findings", "gt", "pred"])
def test_the_text_is_known_by_many_names(name: str, tmp_path: Path) -> None:
    file = write(tmp_path, [{"id": 1, name: "carcinoma", "age": "60"}])
    assert open_reports(file).layout.text == name


def test_a_column_called_text_wins_over_other_names(tmp_path: Path) -> None:
    file = write(tmp_path, [{"id": 1, "report": "r1", "text": "carcinoma"}])
    assert open_reports(file).layout.text == "text"


def test_where_the_text_cannot_be_guessed_the_columns_are_said(tmp_path: Path) -> None:
    file = write(tmp_path, [{"reference": "a", "candidate_x": "b", "age": 1}])
    with pytest.raises(InputError, match=r"text='NAME'.*'reference', 'candidate_x'$"):
        open_reports(file)
    assert open_reports(file, text="candidate_x").layout.text == "candidate_x"
    write(tmp_path, [{"who": "a", "what": "b"}])
    with pytest.raises(InputError, match=r"no column for the text.*text='NAME'.*'who', 'what'"):
        open_reports(file)
    with pytest.raises(InputError, match=r"no column 'wat' \(did you mean 'what'\?\)"):
        open_reports(file, text="wat")


def test_columns_are_as_they_are_named(tmp_path: Path) -> None:
    file = write(tmp_path, [{"id": 1, "text": "a", "key": "k", "note": "b"}])
    source = open_reports(file, text="note", id_="key")
    assert [(row.id, row.text) for row in source.rows()] == [("k", "b")]
    with pytest.raises(InputError, match="no columns to name"):
        open_reports(tmp_path, text="note")


def test_what_cannot_be_read_is_said_with_what_can(tmp_path: Path) -> None:
    (tmp_path / "in.odt").write_text("x", "utf-8")
    with pytest.raises(InputError, match=r"\.csv.*one report per line, or a folder"):
        open_reports(tmp_path / "in.odt")
    with pytest.raises(InputError, match="does not exist"):
        open_reports(tmp_path / "none.csv")


def test_columns_are_known_by_their_usual_names() -> None:
    source = open_cases(
        [
            {
                "slide_id": "a",
                "Image": "a.svs",
                "report": "text",
                "report_augmented": "one",
                "report_attacked_benign": "two",
                "report_attacked": "three",
                "reference": "other",
                "specimen": "colon",
            }
        ]
    )
    (case,) = source.rows()
    assert (case.id, case.image, case.report, case.specimen) == ("a", "a.svs", "text", "colon")
    assert case.augmented == (("stain", "one"),)
    assert case.attacked == (("benign", "two"), ("prompt", "three"))


def test_cells_of_attacks_may_be_empty_and_broken_ones_are_told() -> None:
    records: list[dict[str, object]] = [
        {"report": "a", "report_augmented": "", "report_attacked": None},
        {"report": "b", "report_augmented": "x\0y", "report_attacked": "fine"},
    ]
    empty, broken = open_cases(records).rows()
    assert (empty.augmented, empty.attacked, empty.troubled) == ((), (), ())
    assert [problem.code for problem in broken.troubled] == ["binary_text"]
    assert broken.attacked == (("prompt", "fine"),)


def test_a_report_that_cannot_be_read_leaves_the_row_its_number_and_reason() -> None:
    records: list[dict[str, object]] = [{"id": "a", "report": 7}, {"id": "a", "report": "fine"}]
    first, second = open_cases(records).rows()
    assert first.report is None
    assert first.problems[0].code == "not_text"
    assert second.report is None
    assert second.problems[0].code == "duplicate_id"


def test_the_name_of_an_image_that_cannot_be_decoded_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"image": "a\\ud83d.png", "report": "text"}\n', "utf-8")
    (case,) = open_cases(path).rows()
    assert isinstance(case.image, Problem)
    assert case.report == "text"


def test_images_lie_beside_the_table_unless_a_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("id,image,report\na,b.png,text\n", "utf-8")
    assert open_cases(path).folder == tmp_path
    assert open_cases(path, images=tmp_path / "other").folder == tmp_path / "other"


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("name,scan,said,image\na,b.png,text,c.png\n", "utf-8")
    (case,) = open_cases(path, text="said", image="scan", id_="name").rows()
    assert (case.id, case.image, case.report) == ("a", "b.png", "text")
    with pytest.raises(InputError, match="no column 'picture'"):
        open_cases(path, text="said", image="picture")


@pytest.mark.parametrize("named", [{}, {"text": "rapport"}, {"image": "picture"}])
def test_a_table_without_a_column_of_reports(tmp_path: Path, named: dict[str, Any]) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("id,image,raport,specimen,report_attacked\na,b.png,x,y,z\n", "utf-8")
    found = "'id', 'image', 'raport', 'specimen', 'report_attacked'"
    with pytest.raises(InputError, match=f"Columns found: {found}$"):
        open_cases(path, **named)


def test_the_columns_that_were_guessed_are_said(tmp_path: Path) -> None:
    file = tmp_path / "reports.csv"
    file.write_text("case,reference,model A\nc1,Colon: adenoma.,Colon: polyp.\n", "utf-8")
    assert open_cases(file).notes == ("columns used: 'case' as id, 'reference' as report",)
    assert open_cases(file, text="model A", id_="case").notes == ()


PLACEHOLDERS = ["N/A", "n/a.", "nan", "NaN", "#N/A", "(none)", "NULL", " Not available "]

REFUSALS = [
    "I'm sorry, I can't help with that.",
    "I\u2019m sorry, but I can\u2019t assist with this request.",
    "Sorry, I am not able to interpret medical images. Please consult a pathologist.",
    "As an AI language model, I cannot provide a diagnosis.",
    "As an AI, I can't view images. You should ask a qualified professional for your diagnosis.",
    "I cannot assist with medical diagnoses.\nPlease consult a doctor.",
    "Unfortunately, I am unable to see the slide.",
]

REPORTS = [
    "Benign",
    "Negative.",
    "-",
    "DCIS",
    "None of the margins is involved.",
    "I cannot identify residual tumour. I see no dysplasia.",
    "I am unable to exclude malignancy; please correlate with imaging.",
    "I'm sorry for the delay. Colon, biopsy: tubular adenoma.",
    "As an AI model, I cannot replace a pathologist.\nProstate, biopsy: acinar adenocarcinoma.",
    "We see a lesion of the antrum. No Helicobacter.",
    "NA: sodium 140",
]


@pytest.mark.parametrize("text", [*PLACEHOLDERS, *REFUSALS])
def test_what_stands_for_no_report_is_none(text: str) -> None:
    found = text_of(text)
    assert isinstance(found, Fault)
    assert found.problem("row 1", "report").code == "no_report"


@pytest.mark.parametrize("text", REPORTS)
def test_a_short_or_personal_report_is_one(text: str) -> None:
    assert text_of(text) == text
