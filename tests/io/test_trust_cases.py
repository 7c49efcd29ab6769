"""Tables of cases: which columns are taken for what, and what is said of cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import InputError, Problem
from histoeval.io.reports import open_cases


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
def test_who_has_no_column_of_reports_is_told_every_column_there_is(
    tmp_path: Path, named: dict[str, Any]
) -> None:
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
