"""The bundled example file is whole, readable, and does what its README says."""

import csv
from collections import Counter
from importlib.resources import files

import pytest
import sacrebleu

EXAMPLES = files("histoeval") / "examples"
COLUMNS = ["id", "organ", "reference", "candidate_good", "candidate_bad", "note"]
TEXTS = ["reference", "candidate_good", "candidate_bad"]
KINDS = {
    "benign to malignant",
    "malignant to benign",
    "wrong histologic type",
    "wrong diagnosis",
    "wrong organ",
    "wrong laterality",
    "wrong grade",
    "wrong stage",
    "marker flip",
    "negation flip",
    "wrong measurement",
    "hallucinated finding",
    "missed key finding",
    "hedged",
    "fluent but empty",
}


def read() -> list[list[str]]:
    text = (EXAMPLES / "pairs.csv").read_bytes().decode("utf-8")
    return list(csv.reader(text.splitlines(keepends=True), strict=True))


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    header, *records = read()
    return [dict(zip(header, record, strict=True)) for record in records]


def test_the_file_parses_and_every_record_has_every_column() -> None:
    header, *records = read()
    assert header == COLUMNS
    assert {len(record) for record in records} == {len(COLUMNS)}


def test_rows_are_many_and_whole(rows: list[dict[str, str]]) -> None:
    assert len(rows) >= 24
    assert len({row["organ"] for row in rows}) >= 8
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        for column, cell in row.items():
            assert cell, (row["id"], column)
            assert cell == cell.strip(), (row["id"], column)
            assert cell.replace("\n", "").isprintable(), (row["id"], column)
        plain = {" ".join(row[column].lower().split()) for column in TEXTS}
        assert len(plain) == 3, row["id"]


def test_every_note_names_a_known_kind_of_error_and_all_kinds_occur(
    rows: list[dict[str, str]],
) -> None:
    assert {row["note"].partition(": ")[0] for row in rows} == KINDS
    assert all(row["note"].partition(": ")[2] for row in rows)


def test_the_readme_counts_are_those_of_the_file(rows: list[dict[str, str]]) -> None:
    def bleu(row: dict[str, str], column: str) -> float:
        return sacrebleu.sentence_bleu(row[column], [row["reference"]]).score

    fooled = sum(bleu(row, "candidate_bad") > bleu(row, "candidate_good") for row in rows)
    organs = Counter(row["organ"] for row in rows)
    readme = " ".join((EXAMPLES / "README.md").read_text(encoding="utf-8").split())
    assert f"{len(rows)} fictional cases over {len(organs)} organs" in readme
    assert f"In {fooled} of the {len(rows)} rows" in readme
