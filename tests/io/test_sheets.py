"""Expert sheets: who scored what, what belongs together, and what is no score."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval import InputError
from histoeval.io.sheets import Sheet, rating_of, read_sheet
from histoeval.io.tables.records import Fault

HEADER = ["ground_truth", "0", "1", "Scoring 0", "Scoring 1"]
LONG = {"id": "a", "reference": "Lung, adenocarcinoma.", "candidate": "Adenocarcinoma."}


def delimited(file: Path, rows: list[list[str]], delimiter: str = "\t") -> Path:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    file.write_text(text.getvalue(), "utf-8")
    return file


def hare(folder: Path, *rows: list[str]) -> Path:
    return delimited(folder / "sheet.tsv", [HEADER, *rows])


def long(folder: Path, *records: dict[str, object]) -> Path:
    file = folder / "sheet.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return file


def found(sheet: Sheet) -> list[tuple[str, str, dict[str, float]]]:
    return [(each.pair.id, each.pair.system, dict(each.scores)) for each in sheet.rated]


def trouble(sheet: Sheet) -> list[tuple[str, str | None]]:
    return [(problem.code, problem.column) for problem in sheet.problems]


def test_hares_layout_gives_a_pair_for_every_score(tmp_path: Path) -> None:
    many_lines = '**Diagnosis:**\n- "Benign" naevus\n\n- no atypia'
    sheet = read_sheet(
        hare(
            tmp_path,
            ["Naevus.", many_lines, "Melanoma.", "4.5", "0"],
            ["Lipoma.", "Fat.", "Liposarcoma.", "3.0", "1"],
        )
    )
    assert found(sheet) == [
        ("0.0", "0", {"expert": 4.5}),
        ("0.1", "1", {"expert": 0.0}),
        ("1.0", "0", {"expert": 3.0}),
        ("1.1", "1", {"expert": 1.0}),
    ]
    assert sheet.rated[0].pair.candidate == many_lines
    assert sheet.rated[0].pair.reference == "Naevus."
    assert sheet.problems == ()


def test_an_empty_score_is_a_missing_rating_and_no_zero(tmp_path: Path) -> None:
    sheet = read_sheet(hare(tmp_path, ["Naevus.", "Naevus.", "Mole.", "", " "]))
    assert [each.scores for each in sheet.rated] == [{}, {}]
    assert sheet.problems == ()


def test_references_that_differ_in_white_space_only_are_one_group(tmp_path: Path) -> None:
    texts = ["Colon, tubular adenoma.", " Colon,\ntubular  adenoma.", "Colon, tubulous adenoma."]
    sheet = read_sheet(hare(tmp_path, *([text, "a", "b", "1", "2"] for text in texts)))
    groups = [each.group for each in sheet.rated]
    assert groups == [texts[0]] * 4 + [texts[2]] * 2


def test_a_file_of_cases_says_which_rows_belong_together(tmp_path: Path) -> None:
    file = hare(tmp_path, *([text, "a", "b", "1", "2"] for text in ("x one", "y two", "z three")))
    for name, delimiter in (("cases.tsv", "\t"), ("cases.csv", ";")):
        rows = [["row", "case"], ["2", "c7"], ["0", "c7"], ["1", "c9"]]
        cases = delimited(tmp_path / name, rows, delimiter)
        sheet = read_sheet(file, cases=cases)
        assert [each.group for each in sheet.rated] == ["c7", "c7", "c9", "c9", "c7", "c7"]


def test_a_row_without_a_case_is_refused_once_and_the_others_stay(tmp_path: Path) -> None:
    file = hare(tmp_path, ["x one", "a", "b", "1", "2"], ["y two", "a", "b", "1", "2"])
    cases = delimited(tmp_path / "cases.tsv", [["row", "case"], ["1", "c9"]])
    sheet = read_sheet(file, cases=cases)
    assert [each.pair.id for each in sheet.rated] == ["1.0", "1.1"]
    assert [problem.code for problem in sheet.problems] == ["missing_case"]
    assert sheet.problems[0].message.startswith("cases.tsv has no case for row 0 (row 1, line 2)")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["row", "case"], ["1", "c1"]], r"case for row 1, .* rows 0 to 0.*another sheet\?"),
        ([["row", "case"], ["0", "c1"], ["0", "c2"]], r"row 0 more than once \(row 2, line 3\)"),
        ([["row", "case"], ["first", "c1"]], r"not the number of a row \(row 1, line 2\)"),
        ([["row", "case"], ["0.5", "c1"]], "not the number of a row"),
        ([["row", "case"], ["-1", "c1"]], "not the number of a row"),
        ([["row", "case"], ["0", ""]], r"case is missing \(row 1, line 2\)"),
        ([["row", "case"], ["0", "c1", "c2"]], "3 columns where the header has 2"),
        ([["row", "patient"], ["0", "c1"]], "no column 'case'. Columns found: 'row', 'patient'"),
        ([["row", "case"]], "no rows"),
    ],
)
def test_files_of_cases_that_do_not_fit(rows: list[list[str]], said: str, tmp_path: Path) -> None:
    file = hare(tmp_path, ["x one", "a", "b", "1", "2"])
    with pytest.raises(InputError, match=said):
        read_sheet(file, cases=delimited(tmp_path / "cases.tsv", rows))


def test_cases_are_not_matched_with_rows_that_cannot_be_counted(tmp_path: Path) -> None:
    file = hare(tmp_path, ["x one", "a", "b", "1", "2"], ["y two", "a", "b", "1", "2"])
    lines = file.read_text("utf-8").splitlines()
    lines[1:1] = ['"never closed\ta', "and\tgoing on\tb\t1\t2"]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    assert "x one" in {each.group for each in read_sheet(file).rated}
    cases = delimited(tmp_path / "cases.tsv", [["row", "case"], ["0", "c1"], ["1", "c2"]])
    with pytest.raises(InputError, match=r"cannot be counted.*cases\.tsv.*quotes do not match"):
        read_sheet(file, cases=cases)


def test_a_bad_score_costs_its_own_pair_only(tmp_path: Path) -> None:
    file = hare(tmp_path, ["x", "a", "b", "four", "2"], ["y", "a", "b", "9", "5"])
    sheet = read_sheet(file, within=(0, 5))
    assert [each.pair.id for each in sheet.rated] == ["0.1", "1.1"]
    assert trouble(sheet) == [("not_a_number", "Scoring 0"), ("out_of_range", "Scoring 0")]
    first, second = (problem.message for problem in sheet.problems)
    assert first.startswith("Scoring 0 is 'four' and not a number (row 1, line 2)")
    assert second.startswith("Scoring 0 is 9, and scores go from 0 to 5 (row 2, line 3)")


def test_what_is_wrong_with_a_reference_is_said_once_for_all_its_candidates(tmp_path: Path) -> None:
    sheet = read_sheet(hare(tmp_path, ["", "a", "b", "1", "x"], ["y", "a", "b", "1", "2"]))
    assert trouble(sheet) == [("empty_text", "ground_truth"), ("not_a_number", "Scoring 1")]
    assert len(sheet.rated) == 2


def test_the_long_layout_takes_every_free_column_of_numbers(tmp_path: Path) -> None:
    numbers = {"rater 1": 3, "rater 2": 4.5, "slide_id": 12, "row": 1}
    record = {**LONG, **numbers, "system": "m", "set": "reg", "case": 7, "note": "fine"}
    sheet = read_sheet(long(tmp_path, record))
    assert found(sheet) == [("a", "m", {"rater 1": 3.0, "rater 2": 4.5})]
    assert (sheet.rated[0].set, sheet.rated[0].group) == ("reg", "7")


RATINGS = {"rater_1": [0, 3, 5, 1, 3, 0, 2], "rater_2": [1, 3, 4, 1, 2, 0, 2]}
PLAIN = {"anna": RATINGS["rater_1"], "ben": RATINGS["rater_2"]}


def sheet_of(folder: Path, columns: dict[str, list[Any]]) -> Path:
    lists = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return long(folder, *({**LONG, "id": f"p{n}", **each} for n, each in enumerate(lists)))


@pytest.mark.parametrize("raters", [RATINGS, PLAIN])
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("pair", [0, 1, 2, 3, 4, 5, 6]),
        ("nr", [1, 2, 3, 4, 5, 6, 7]),
        ("k", [7, 6, 5, 4, 3, 2, 1]),
        ("what", [3, 0, 6, 2, 5, 1, 4]),
        ("patient_age", [4, 5, 3, 4, 5, 3, 4]),
        ("Accession No.", [1, 1, 2, 2, 3, 3, 4]),
        ("year", [2019, 2020, 2020, 2021, 2019, 2020, 2021]),
        ("slide 1", [5, 5, 4, 4, 3, 3, 2]),
        ("bleu", [0.1, 3.4, 4.4, 0.9, 2.2, 0.3, 1.8]),
        ("grade", [1, 2, 3, 1, 2, 3, 1]),
        ("reader_id", [1, 2, 1, 2, 1, 2, 1]),
    ],
)
def test_a_column_of_other_numbers_is_no_rater(
    name: str, numbers: list[float], raters: dict[str, list[int]], tmp_path: Path
) -> None:
    sheet = read_sheet(sheet_of(tmp_path, {name: numbers, **raters}))
    assert {rater for each in sheet.rated for rater in each.scores} == set(raters)
    assert sheet.not_raters == (name,)
    named = read_sheet(sheet_of(tmp_path, {name: numbers, **raters}), scores=[name])
    assert named.rated[0].scores == {name: numbers[0]}


@pytest.mark.parametrize(
    "columns",
    [
        {"anna": PLAIN["anna"]},
        {**PLAIN, "mitoses": [0, 12, 30, 3, 12, 0, 7]},
        {"first": [2019, 2020, 2020, 2021, 2019, 2020, 2021], "last": [2021] * 7},
        {"at": [44, 51, 67, 44, 80, 59, 60], "till": [49, 55, 70, 49, 81, 60, 70]},
        {"one": [0, 1, 0, 0, 1, 1, 0], "two": PLAIN["anna"]},
    ],
)
def test_raters_that_are_not_clear(columns: dict[str, list[int]], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not clear; name each: raters=") as refused:
        read_sheet(sheet_of(tmp_path, columns))
    assert all(f"'{name}' (" in str(refused.value) for name in columns)


@pytest.mark.parametrize(
    "name", ["Reader 2", "expert_scale", "pathologist-B", "RaterA", "score", "r2", "Overall rating"]
)
def test_a_name_that_says_so_is_a_rater(name: str, tmp_path: Path) -> None:
    sheet = read_sheet(sheet_of(tmp_path, {name: [0, 1, 2, 3, 4, 5, 6], "nodes": [9] * 7}))
    assert set(sheet.rated[0].scores) == {name}


def test_columns_are_as_they_are_named(tmp_path: Path) -> None:
    file = long(tmp_path, {**LONG, "r1": 1, "age": 60, "organ": "lung", "patient": "p 1"})
    sheet = read_sheet(file, scores=["r1"], group="patient", set="organ")
    assert found(sheet) == [("a", "candidate", {"r1": 1.0})]
    assert (sheet.rated[0].set, sheet.rated[0].group) == ("lung", "p 1")
    with pytest.raises(InputError, match=r"no column 'pateint' \(did you mean 'patient'\?\)"):
        read_sheet(file, group="pateint")
    with pytest.raises(InputError, match=r"no column 'r2'.*Columns found: 'id', 'reference'"):
        read_sheet(file, scores=["r1", "r2"])


def test_one_typo_does_not_make_a_column_of_scores_a_column_of_text(tmp_path: Path) -> None:
    records = [{**LONG, "id": str(n), "r1": n, "note": "see 3"} for n in range(4)]
    sheet = read_sheet(long(tmp_path, *records, {**LONG, "id": "x", "r1": "3?", "note": 5}))
    assert [each.scores for each in sheet.rated] == [{"r1": float(n)} for n in range(4)]
    assert trouble(sheet) == [("not_a_number", "r1")]
    assert "row 5, line 5" in sheet.problems[0].message


def test_a_rater_who_comes_late_is_not_overlooked(tmp_path: Path) -> None:
    records = [{**LONG, "id": str(n), "r1": 1} for n in range(150)]
    sheet = read_sheet(long(tmp_path, *records, {**LONG, "id": "last", "r1": 1, "r2": 2}))
    assert sheet.rated[0].scores == {"r1": 1.0}
    assert sheet.rated[-1].scores == {"r1": 1.0, "r2": 2.0}


def test_everything_wrong_with_a_row_is_said_and_the_others_stay(tmp_path: Path) -> None:
    good = {**LONG, "r1": 1, "r2": 2, "case": "c", "set": ""}
    bad = {**good, "id": "b", "candidate": " ", "r1": True, "r2": [1], "case": None, "set": {}}
    file = long(tmp_path, good, bad, good)
    file.write_text(f"{file.read_text('utf-8')}{{oops\n", "utf-8")
    sheet = read_sheet(file, scores=["r1", "r2"])
    assert [(each.pair.id, each.set) for each in sheet.rated] == [("a", "")]
    assert trouble(sheet) == [
        ("empty_text", "candidate"),
        ("missing_value", "case"),
        ("not_text", "set"),
        ("not_a_number", "r1"),
        ("not_a_number", "r2"),
        ("duplicate_id", "id"),
        ("broken_json", None),
    ]
    assert "r1 is a yes/no value and not a number" in sheet.problems[3].message


def test_a_sheet_in_which_nobody_scored_is_no_sheet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no column of scores; name those to use.*'candidate'"):
        read_sheet(long(tmp_path, {**LONG, "slide_id": 4, "r1": None}))
    with pytest.raises(InputError, match="no column of scores"):
        read_sheet(long(tmp_path, {**LONG, "r1": 1}), scores=[])


def test_scores_that_may_be_of_either_candidate_are_not_guessed_at(tmp_path: Path) -> None:
    file = long(tmp_path, {"reference": "x", "candidate_a": "y", "candidate_b": "z", "r1": 1})
    with pytest.raises(InputError, match=r"2 candidate columns.*which of them was scored"):
        read_sheet(file)


def test_options_that_do_not_fit_the_layout_are_said(tmp_path: Path) -> None:
    cases = delimited(tmp_path / "cases.tsv", [["row", "case"], ["0", "c1"]])
    with pytest.raises(InputError, match="long layout; name a group column"):
        read_sheet(long(tmp_path, {**LONG, "r1": 1}), cases=cases)
    file = hare(tmp_path, ["x", "a", "b", "1", "2"])
    with pytest.raises(InputError, match="its only score is called 'expert'"):
        read_sheet(file, scores=["r1"])
    with pytest.raises(InputError, match="both say the case"):
        read_sheet(file, cases=cases, group="0")
    assert len(read_sheet(file, scores=["expert"]).rated) == 2


def test_what_is_no_table_is_said_with_what_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "sheet.txt").write_text("Naevus.\n", "utf-8")
    for path in (tmp_path, tmp_path / "sheet.txt"):
        with pytest.raises(InputError, match=r"is not a table.*\.csv"):
            read_sheet(path)
    with pytest.raises(InputError, match="does not exist"):
        read_sheet(tmp_path / "none.tsv")


@given(st.floats(allow_nan=False, min_value=-1e12, max_value=1e12))
def test_a_number_is_read_as_it_was_written(number: float) -> None:
    for written in (number, repr(number), f" {number!r}\n", f"{number:+.3f}"):
        rating = rating_of(written)
        assert isinstance(rating, float)
        assert math.isclose(rating, number, rel_tol=1e-12, abs_tol=6e-4)


@pytest.mark.parametrize("nothing", [None, "", " \n", math.nan])
def test_nothing_is_no_rating(nothing: object) -> None:
    assert rating_of(nothing) is None


@pytest.mark.parametrize(
    "cell", ["nan", "NA", "inf", "1_0", "3,5", "٣", "4/5", "1e999", 10**400, math.inf, True, [1]]
)
def test_what_is_no_plain_number_is_no_rating_either(cell: object) -> None:
    rating = rating_of(cell)
    assert isinstance(rating, Fault)
    assert rating.kind == "not_a_number"


@given(st.integers(-20, 20))
def test_a_score_is_refused_outside_of_its_range_only(number: int) -> None:
    rating = rating_of(str(number), within=(0, 5))
    assert isinstance(rating, float) == (number in {0, 1, 2, 3, 4, 5})


def test_other_columns_can_be_kept_and_may_be_empty(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("id,reference,candidate,organ,score\na,x,y,lung,1\nb,x,z,,2\n", "utf-8")
    found = read_sheet(sheet, labels=["organ"])
    assert [rated.labels for rated in found.rated] == [{"organ": "lung"}, {"organ": ""}]
    assert [rated.scores for rated in found.rated] == [{"score": 1.0}, {"score": 2.0}]
    assert not found.wide
