"""Which columns are taken for what."""

from collections.abc import Mapping, Sequence

import pytest

from histoeval.errors import InputError
from histoeval.io.files import open_records
from histoeval.io.tables.columns import Columns, Layout, layout_of, notes_on
from histoeval.io.tables.records import RecordTable


def guess(*found: str, **named: object) -> Layout:
    table = RecordTable(tuple(found), lambda _: iter(()))
    return layout_of(table, Columns.model_validate(named), "pairs.csv")


@pytest.mark.parametrize(
    ("role", "names"),
    [
        ("reference", "reference/ground_truth/GroundTruth/GT/ Ref /Ground Truth/ground-truth"),
        ("candidates", "Candidate/prediction/pred/Generated Report/hyp"),
        ("id", "id/ID/Slide ID/uid"),
    ],
)
def test_a_role_is_known_by_many_names(role: str, names: str) -> None:
    usual = {"reference": "gt", "candidates": "pred", "id": "id"}
    for name in names.split("/"):
        layout = guess(*(usual | {role: name}).values(), "x")
        assert getattr(layout, role) == ((name,) if role == "candidates" else name)


@pytest.mark.parametrize(
    ("found", "named", "expected"),
    [
        ("gt pred", {}, {"id": None}),
        ("uid target id reference pred", {}, {"id": "id", "reference": "reference"}),
        (
            "id reference candidate_gpt4 notes Prediction_2 output",
            {},
            {"candidates": ("candidate_gpt4", "Prediction_2", "output")},
        ),
        # what is said of a candidate is not a system
        ("ref candidate candidate_id prediction_score made_at", {}, {"candidates": ("candidate",)}),
        (
            "reference candidate_a candidate_a_score candidate_b candidate_b_rating",
            {},
            {"candidates": ("candidate_a", "candidate_b")},
        ),
        # an expert sheet has the scores beside its candidates
        ("ground_truth 0 1 Scoring_0 Scoring_1 2", {}, {"candidates": ("0", "1")}),
        ("id reference candidate model", {}, {"system": "model"}),
        ("reference candidate_a candidate_b model", {}, {"system": None}),
        (
            "a b c d reference candidate id",
            {"reference": "a", "candidates": ("c", "b"), "id": "d"},
            {"reference": "a", "candidates": ("c", "b"), "id": "d", "system": None},
        ),
        ("gt candidate pred", {"reference": "candidate"}, {"candidates": ("pred",)}),
    ],
)
def test_columns_are_guessed_beside_those_that_were_named(
    found: str, named: dict[str, object], expected: dict[str, object]
) -> None:
    layout = guess(*found.split(), **named)
    assert {role: getattr(layout, role) for role in expected} == expected


@pytest.mark.parametrize(
    ("found", "named", "told"),
    [
        ("reference candidate_a candidate_b model", {"system": "model"}, "2 candidate columns"),
        ("reference pred", {"reference": "refrence"}, r"'refrence' \(did you mean 'reference'"),
        ("text candidate", {}, "reference='NAME'.*Columns found: 'text', 'candidate'"),
        ("reference text", {}, "candidate='NAME'.*Columns found: 'reference', 'text'"),
        ("reference a", {"candidates": ("a", "a")}, "named twice"),
        ("reference candidate_caf\udce9", {}, r"udce9.*encoding='latin-1'"),
    ],
)
def test_what_cannot_be_settled_is_refused(found: str, named: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        guess(*found.split(), **named)


def test_a_file_without_a_header_does_not_print_whole_reports() -> None:
    with pytest.raises(InputError) as caught:
        guess("Invasive carcinoma. " * 100, *(f"c{n}" for n in range(100)))
    assert len(str(caught.value)) < 500


REFERENCES = ["Left breast: invasive carcinoma, grade 2.", "Colon: tubular adenoma, low grade."]
GOOD = ["Left breast: ductal carcinoma.", "Colon: adenoma, low grade."]
BAD = ["Right breast: fibroadenoma, benign.", "Colon: adenocarcinoma."]


def guess_of(columns: Mapping[str, Sequence[object]], **named: object) -> Layout:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return layout_of(open_records(rows).table, Columns.model_validate(named), "pairs.csv")


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
