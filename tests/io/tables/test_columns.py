"""Which columns are taken for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from histoeval.errors import InputError
from histoeval.io.tables.columns import Columns, Layout, layout_of, notes_on
from histoeval.io.tables.formats import RecordTable, table_of_records


def guess(*found: str, **named: object) -> Layout:
    table = RecordTable(tuple(found), lambda _: iter(()))
    return layout_of(table, Columns.model_validate(named), "pairs.csv")


@pytest.mark.parametrize(
    "name",
    ["reference", "ground_truth", "GroundTruth", "GT", " Ref ", "Ground Truth", "ground-truth"],
)
def test_the_reference_is_known_by_many_names(name: str) -> None:
    assert guess("x", name, "candidate").reference == name


@pytest.mark.parametrize("name", ["Candidate", "prediction", "pred", "Generated Report", "hyp"])
def test_the_candidate_is_known_by_many_names_and_names_its_system(name: str) -> None:
    assert guess("gt", name).candidates == (name,)


@pytest.mark.parametrize("name", ["id", "ID", "Slide ID", "uid"])
def test_the_id_is_known_by_many_names(name: str) -> None:
    assert guess(name, "gt", "pred").id == name


def test_without_an_id_column_there_is_none() -> None:
    assert guess("gt", "pred").id is None


def test_plain_names_win_over_longer_ones() -> None:
    layout = guess("uid", "target", "id", "reference", "pred")
    assert (layout.id, layout.reference) == ("id", "reference")


def test_every_candidate_column_is_a_system() -> None:
    found = ("id", "reference", "candidate_gpt4", "notes", "Prediction 2", "output")
    assert guess(*found).candidates == ("candidate_gpt4", "Prediction 2", "output")


def test_numbers_about_candidates_are_no_systems() -> None:
    found = ("reference", "candidate", "candidate_id", "prediction_score", "generated_at")
    assert guess(*found).candidates == ("candidate",)


def test_the_columns_of_an_expert_sheet_are_known_by_their_scores() -> None:
    found = ("ground_truth", "0", "1", "Scoring 0", "Scoring 1", "2")
    assert guess(*found).candidates == ("0", "1")


def test_a_system_column_goes_with_one_candidate_column() -> None:
    assert guess("id", "reference", "candidate", "model").system == "model"


def test_a_guessed_system_column_is_left_alone_when_columns_are_systems() -> None:
    assert guess("reference", "candidate_a", "candidate_b", "model").system is None


def test_a_named_system_column_with_several_candidates_is_refused() -> None:
    with pytest.raises(InputError, match="2 candidate columns"):
        guess("reference", "candidate_a", "candidate_b", "model", system="model")


def test_named_columns_are_taken_as_named_and_in_that_order() -> None:
    found = ("a", "b", "c", "d", "reference", "candidate", "id")
    layout = guess(*found, reference="a", candidates=("c", "b"), id="d")
    assert layout == Layout(reference="a", candidates=("c", "b"), id="d")


def test_a_column_that_is_taken_is_not_guessed_again() -> None:
    layout = guess("reference", "candidate", "prediction", reference="candidate")
    assert layout.candidates == ("prediction",)


def test_a_named_column_that_is_not_there_is_said_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"no column 'refrence' \(did you mean 'reference'\?\)"):
        guess("reference", "candidate", reference="refrence")


@pytest.mark.parametrize(
    ("found", "option"),
    [(("text", "candidate"), "reference='NAME'"), (("reference", "text"), "candidate='NAME'")],
)
def test_what_cannot_be_guessed_is_asked_for_with_the_columns_found(
    found: tuple[str, ...], option: str
) -> None:
    with pytest.raises(InputError, match=option) as caught:
        guess(*found)
    assert all(f"'{name}'" in str(caught.value) for name in found)


def test_a_file_without_a_header_does_not_print_whole_reports() -> None:
    with pytest.raises(InputError) as caught:
        guess("Invasive carcinoma. " * 100, *(f"c{n}" for n in range(100)))
    assert len(str(caught.value)) < 500


def test_a_candidate_named_twice_is_refused() -> None:
    with pytest.raises(InputError, match="named twice"):
        guess("reference", "a", candidates=("a", "a"))


def test_a_column_name_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError, match=r"udce9.*encoding='latin-1'"):
        guess("reference", "candidate_caf\udce9")


def test_what_is_said_of_a_candidate_is_not_a_system() -> None:
    layout = guess(
        "reference", "candidate_a", "candidate_a_score", "candidate_b", "candidate_b_rating"
    )
    assert layout.candidates == ("candidate_a", "candidate_b")


REFERENCES = ["Left breast: invasive carcinoma, grade 2.", "Colon: tubular adenoma, low grade."]
GOOD = ["Left breast: ductal carcinoma.", "Colon: adenoma, low grade."]
BAD = ["Right breast: fibroadenoma, benign.", "Colon: adenocarcinoma."]


def guess_of(columns: Mapping[str, Sequence[object]], **named: object) -> Layout:
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    return layout_of(table_of_records(rows)[0], Columns.model_validate(named), "pairs.csv")


def texts(**more: Sequence[object]) -> dict[str, Sequence[object]]:
    return {"reference": [*REFERENCES], "candidate": [*GOOD], **more}


@pytest.mark.parametrize(
    "name", ["case", "Case ID", "accession", "Specimen", "slide", "study id", "file name", "lab_id"]
)
def test_a_column_that_names_each_row_is_the_id(name: str) -> None:
    assert guess_of(texts(**{name: ["a", "b"]})).id == name


def test_a_name_that_several_rows_share_is_not_the_id_unless_of_several_systems() -> None:
    assert guess_of(texts(case=["a", "a"])).id is None
    assert guess_of(texts(case=["a", None])).id is None
    assert guess_of(texts(case=["a", "a"], system=["one", "two"])).id == "case"
    assert guess_of(texts(case=["a", "b"], id=["1", "2"])).id == "id"


def test_the_other_columns_of_reports_are_candidates() -> None:
    columns: dict[str, Sequence[object]] = {
        "case": ["a", "b"],
        "reference": REFERENCES,
        "model A": GOOD,
        "model B": BAD,
    }
    layout = guess_of({**columns, "organ": ["left breast", "the colon"], "age": [54, 61]})
    assert (layout.id, layout.candidates) == ("case", ("model A", "model B"))


@pytest.mark.parametrize("name", ["note", "clinical history", "comment_2", "Tissue type"])
def test_what_is_written_about_a_case_is_not_a_candidate(name: str) -> None:
    layout = guess_of({"reference": [*REFERENCES], "gpt": [*GOOD], name: [*GOOD]})
    assert layout.candidates == ("gpt",)


@pytest.mark.parametrize("texts", [["very nice work"] * 2, ["the breast"] * 2])
def test_where_another_column_could_be_meant_the_user_must_say(texts: list[str]) -> None:
    long = [f"{text} {'Margins are free of tumour. ' * 5}" for text in REFERENCES]
    with pytest.raises(InputError, match=r"perhaps 'gpt' or 'aspect'\); name it: candidate='NAME'"):
        guess_of({"reference": [*long], "gpt": [*long], "aspect": texts})


def test_what_was_guessed_is_said_and_what_was_named_is_not() -> None:
    layout = guess_of(texts(case=["a", "b"]))
    (note,) = notes_on(layout, Columns(), keyed=False)
    taken = "'case' as id, 'reference' as reference, 'candidate' as candidate"
    assert note == f"columns used: {taken}"
    named = Columns(reference="reference", candidates=("candidate",))
    (note,) = notes_on(Layout(reference="reference", candidates=("candidate",)), named, keyed=False)
    assert note == "no column of ids: rows are numbered from 0; name one: id='NAME'"
