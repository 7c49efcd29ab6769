"""Formats of annotations: ours, HARE's JSON, Label Studio and brat."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from research.tests.support.annotated_passages import PASSAGE, passages

from histoeval.errors import InputError, Problem, SettingError
from histoeval.report import Assertion, Relation
from histoeval_research.annotation.formats import (
    read_example,
    read_row,
    read_standoff,
    tokens_of,
    write_example,
)
from histoeval_research.annotation.label_studio import label_studio_config, read_task, write_task
from histoeval_research.annotation.passage import PassageDraft, RefusedPassage, Vocabulary
from histoeval_research.corpus import AnnotatedPassage, read_corpus

SCORES = st.sampled_from([0.25, 0.5, 1.0])


def by(read: Callable[..., None], content: Any, text: str = "") -> AnnotatedPassage:
    draft = PassageDraft("file-1", "file", "file-1", text)
    read(draft, content)
    return draft.finish(Vocabulary())


def code_of(read: Callable[..., None], content: Any, text: str = "") -> str:
    with pytest.raises(RefusedPassage) as refused:
        by(read, content, text)
    return refused.value.code


def found_in(passage: AnnotatedPassage) -> list[tuple[str, str, str]]:
    return [(e.text, str(e.type), str(e.assertion)) for e in passage.content.entities]


def links_in(passage: AnnotatedPassage) -> list[tuple[int, int]]:
    return [(r.head, r.tail) for r in passage.content.relations]


def read_ours(row: dict[str, Any], labels: dict[str, str | None] | None = None) -> AnnotatedPassage:
    return read_row(row, "other", "other", Vocabulary(labels))


@given(passages(SCORES))
def test_a_passage_survives_being_written_and_read(passage: AnnotatedPassage) -> None:
    for write, read in ((write_example, read_example), (write_task, read_task)):
        assert by(read, json.loads(json.dumps(write(passage)))) == passage
    assert read_ours(json.loads(json.dumps(passage.model_dump()))) == passage
    assert AnnotatedPassage.model_validate_json(passage.model_dump_json()) == passage


ROW: dict[str, Any] = {
    "id": "a",
    "source": "tcga",
    "report": "r1",
    "text": "ER positive",
    "entities": [
        {"text": "ER", "start": 0, "end": 2, "type": "marker", "assertion": "present"},
        {"text": "positive", "start": 3, "end": 11, "type": "result", "assertion": "present"},
    ],
    "relations": [[0, 1]],
}


def test_confidence_is_read_where_a_reader_gave_one_and_written_of_nobody_else() -> None:
    assert AnnotatedPassage.model_validate(ROW).model_dump() == ROW
    assert "score" not in PASSAGE.model_dump_json()
    row = {"id": "x", "text": ROW["text"], "relations": [{"head": 0, "tail": 1, "score": 0.75}]}
    passage = read_ours(row | {"entities": [entity | {"score": 0.5} for entity in ROW["entities"]]})
    assert (passage.source, passage.report_id) == ("other", "x")
    assert [entity.score for entity in passage.content.entities] == [0.5, 0.5]
    assert passage.content.relations == (Relation(head=0, tail=1, score=0.75),)


def test_labels_are_ours_or_explained_and_those_that_mean_nothing_are_left_out() -> None:
    comment = {"text": "E", "start": 0, "end": 1, "type": "comment"}
    row = ROW | {"entities": [comment, *ROW["entities"]], "relations": [[1, 2]]}
    with pytest.raises(InputError, match="'comment' is not known"):
        read_ours(row)
    assert read_ours(row, {"comment": "O"}) == AnnotatedPassage.model_validate(ROW)
    with pytest.raises(RefusedPassage, match="no relation between two of 3"):
        read_ours(row | {"relations": [[1, 9]]}, {"comment": None})
    with pytest.raises(SettingError, match="'Tumour' cannot mean 'tumor'"):
        Vocabulary({"Tumour": "tumor"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"relations": [[1, 0]]}, "no relation can hold between result and marker"),
        ({"relations": [[0, 7]]}, "points past"),
        ({"relations": ["0-1"]}, "relations.0"),
        ({"text": "PR positive"}, "is not what stands there"),
        ({"entities": [{"text": "ER"}]}, "entities.0"),
        ({"entities": 3}, "entities"),
        ({"id": 7}, "id"),
        ({"annotator": "x"}, "annotator"),
    ],
)
def test_a_broken_row_is_a_problem_and_the_others_are_still_read(
    change: dict[str, object], said: str, tmp_path: Path
) -> None:
    rows = [ROW | change, ROW | {"id": "b"}, ROW | {"id": "b"}]
    file = tmp_path / "corpus.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n", "utf-8")
    problems: list[Problem] = []
    read = list(read_corpus(file, "ours", on_problem=problems.append))
    assert [passage.id for passage in read] == ["b"]
    assert said in problems[0].message
    assert problems[0].message.startswith("row 1, line 1")
    assert [problem.code for problem in problems[1:]] == ["duplicate_id", "broken_json"]
    with pytest.raises(InputError, match="row 1"):
        list(read_corpus(file))


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([{"code": "empty_text", "message": "text is empty"}], "text is empty"),
        ([], "nothing says why"),
        ("broken", "nothing says why"),
    ],
)
def test_a_text_that_the_reader_could_not_read_is_a_problem(errors: object, said: str) -> None:
    with pytest.raises(RefusedPassage, match=said) as refused:
        read_ours({"id": "a", "row": 3, "errors": errors})
    assert refused.value.code == "not_read"


EXAMPLE: dict[str, Any] = {
    "tokens": ["Strong", "staining", "for", "Ki", "-", "67", ";", "no", "carcinoma"],
    "entities": [
        {"start": 0, "end": 1, "type": "IHC Modifier"},
        {"start": 3, "end": 6, "type": "IHC Markers"},
        {"start": 8, "end": 9, "type": "Pathological Diagnosis"},
    ],
    "relations": [{"head": 1, "tail": 0, "type": "IHC"}],
}


def test_the_text_of_an_example_is_the_tokens_with_blanks_between() -> None:
    passage = by(read_example, EXAMPLE)
    assert passage.id == passage.report_id == "file-1"
    assert passage.text == "Strong staining for Ki - 67 ; no carcinoma"
    found = [(text, kind) for text, kind, _ in found_in(passage)]
    assert found == [("Strong", "result"), ("Ki - 67", "marker"), ("carcinoma", "diagnosis")]
    assert links_in(passage) == [(1, 0)]


@given(passages())
def test_without_its_text_a_passage_keeps_its_entities_word_by_word(
    passage: AnnotatedPassage,
) -> None:
    example = write_example(passage)
    del example["text"]
    read = by(read_example, example)
    for before, after in zip(passage.content.entities, read.content.entities, strict=True):
        assert "".join(after.text.split()) == "".join(before.text.split())
        assert (after.type, after.assertion) == (before.type, before.assertion)
    assert read.content.relations == passage.content.relations


def test_examples_have_the_published_keys_and_tokens_end_where_entities_do() -> None:
    text = "pT2b, ER+ (10%)"
    tokens = [text[start:end] for start, end in tokens_of(text, [0, 3])]
    assert tokens == ["pT2", "b", ",", "ER", "+", "(", "10", "%", ")"]
    example = write_example(PASSAGE)
    first = example["entities"][1]
    assert " ".join(example["tokens"][first["start"] : first["end"]]) == "invasive carcinoma"
    assert example["relations"][0] == {"head": 1, "tail": 0, "type": "diagnosis-site"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"entities": [{"start": 0, "end": 99, "type": "IHC Marker"}]}, "broken_offsets"),
        ({"entities": [{"start": 2, "end": 2, "type": "IHC Marker"}]}, "broken_offsets"),
        ({"relations": [{"head": 0, "tail": 1, "type": "IHC"}]}, "impossible_relation"),
        ({"relations": [{"head": 0, "tail": 5, "type": "IHC"}]}, "broken_relation"),
        ({"tokens": "Strong"}, "broken_annotation"),
        ({"text": "Weak staining"}, "broken_text"),
    ],
)
def test_a_broken_example_is_refused(change: dict[str, Any], code: str) -> None:
    assert code_of(read_example, EXAMPLE | change) == code


TEXT = "😀 No carcinoma. ER is weak."


def region(key: str, what: str, label: str, shift: int = 0) -> dict[str, Any]:
    start = TEXT.index(what) + shift
    value = {"start": start, "end": start + len(what), "text": what, "labels": [label]}
    return {"id": key, "from_name": "ent", "to_name": "t", "type": "labels", "value": value}


def choice(key: str, said: str) -> dict[str, Any]:
    value = {"start": 1, "end": 2, "text": "x", "choices": [said]}
    return {"id": key, "from_name": "assertion", "to_name": "t", "type": "choices", "value": value}


def arrow(start: str, end: str, direction: str = "right") -> dict[str, Any]:
    return {"from_id": start, "to_id": end, "type": "relation", "direction": direction}


def task(*result: dict[str, Any], **more: Any) -> dict[str, Any]:
    annotation = {"id": 9, "completed_by": 1, "result": [*result], "was_cancelled": False}
    return {"id": 3, "data": {"text": TEXT}, "annotations": [annotation], "predictions": []} | more


ENTITIES = (
    region("a", "carcinoma", "Pathological Diagnosis"),
    region("b", "ER", "IHC Marker"),
    region("c", "weak", "IHC Modifier"),
)


def test_an_export_is_read_with_assertions_and_arrows(tmp_path: Path) -> None:
    file = tmp_path / "project-1-at-2024.json"
    file.write_text(json.dumps([task(*ENTITIES, choice("a", "absent"), arrow("b", "c"))]), "utf-8")
    (passage,) = read_corpus(file)
    assert (passage.id, passage.source) == ("3", "project-1-at-2024")
    assert found_in(passage) == [
        ("carcinoma", "diagnosis", "absent"),
        ("ER", "marker", "present"),
        ("weak", "result", "present"),
    ]
    assert links_in(passage) == [(1, 2)]
    for direction in ("left", "bi"):
        assert links_in(by(read_task, task(*ENTITIES, arrow("c", "b", direction)))) == [(1, 2)]


def test_old_versions_that_count_an_emoji_twice_are_read_all_the_same() -> None:
    passage = by(read_task, task(region("a", "carcinoma", "diagnosis", shift=1)))
    assert passage.content.entities[0].text == "carcinoma"
    with pytest.raises(RefusedPassage, match="'carcinoma' does not stand at"):
        by(read_task, task(region("a", "carcinoma", "diagnosis", shift=2)))


def test_a_minimal_export_has_assertions_by_place_and_no_arrows(tmp_path: Path) -> None:
    place = {"start": 5, "end": 14, "text": "carcinoma"}
    row = {"id": 8, "text": TEXT, "annotator": 1, "annotation_id": 2, "lead_time": 3.5}
    row |= {"ent": [place | {"labels": ["diagnosis"]}]}
    row |= {"assertion": [place | {"choices": ["absent"]}]}
    (tmp_path / "min.json").write_text(json.dumps([row]), "utf-8")
    (passage,) = read_corpus(tmp_path / "min.json")
    assert found_in(passage) == [("carcinoma", "diagnosis", "absent")]


def test_a_label_beside_the_type_may_be_the_assertion() -> None:
    both = region("a", "carcinoma", "diagnosis")
    both["value"]["labels"] = ["Negated", "diagnosis"]
    assert by(read_task, task(both)).content.entities[0].assertion is Assertion.ABSENT


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (task(*ENTITIES, arrow("b", "zz")), "broken_relation"),
        (task(*ENTITIES, arrow("a", "b")), "impossible_relation"),
        (task(*ENTITIES, choice("a", "perhaps not")), "unknown_assertion"),
        (task(annotations=[]), "no_annotation"),
        (task(annotations=[], predictions=[{"result": ENTITIES}]), "no_annotation"),
        (task(annotations=[{"result": []}, {"result": []}]), "several_annotations"),
        (task({"type": "labels", "id": "a", "value": {"labels": ["site"]}}), "broken_offsets"),
        (task({"type": "labels", "id": 3, "value": 5}), "broken_annotation"),
        (task(data={"title": "a", "body": "b"}), "broken_annotation"),
        (task(data=7), "broken_annotation"),
    ],
)
def test_a_broken_task_is_refused(broken: dict[str, Any], code: str) -> None:
    assert code_of(read_task, broken) == code


def test_of_several_annotations_the_ground_truth_counts_and_cancelled_ones_do_not() -> None:
    annotations = [
        {"result": [], "was_cancelled": True},
        {"result": [], "ground_truth": False},
        {"result": [ENTITIES[0]], "ground_truth": True},
    ]
    assert len(by(read_task, task(annotations=annotations)).content.entities) == 1


def test_pre_annotations_use_only_what_the_labelling_view_has() -> None:
    assert "score" not in json.dumps(write_task(PASSAGE))
    view = ElementTree.fromstring(label_studio_config())
    names = {tag.get("name") for tag in view.iter()}
    values = {tag.get("value") for tag in view.iter()}
    for item in write_task(PASSAGE)["predictions"][0]["result"]:
        if item["type"] == "relation":
            assert set(item["labels"]) <= values
        else:
            assert {item["from_name"], item["to_name"]} <= names
            assert {*item["value"].get("labels", []), *item["value"].get("choices", [])} <= values


STANDOFF_TEXT = "😀 No invasive\ncarcinoma. Possible DCIS, grade 2.\n"
ANNOTATIONS = """\
T1\tDiagnosis 5 23\tinvasive carcinoma
T2\tDiagnosis 34 38\tDCIS
T3\tGrade 40 47\tgrade 2
A1\tNegation T1
M1\tAssertion T2 Possible
R1\tHas_Grade Arg1:T2 Arg2:T3
A2\tStatus T3 Draft
#1\tAnnotatorNotes T1\tto be discussed
N1\tReference T1 SNOMED:123\tcarcinoma
*\tEquiv T1 T2
"""


def test_entities_attributes_and_relations_of_brat_are_read() -> None:
    passage = by(read_standoff, ANNOTATIONS, STANDOFF_TEXT)
    assert found_in(passage) == [
        ("invasive\ncarcinoma", "diagnosis", "absent"),
        ("DCIS", "diagnosis", "uncertain"),
        ("grade 2", "grade", "present"),
    ]
    assert links_in(passage) == [(1, 2)]
    assert by(read_standoff, ANNOTATIONS.replace("\n", "\r\n"), STANDOFF_TEXT) == passage
    shifted = "T1\tDiagnosis 6 24\tinvasive carcinoma\n"  # by a program that counts an emoji twice
    assert by(read_standoff, shifted, STANDOFF_TEXT).content.entities[0].start == 5


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("T4\tDiagnosis 5 13;15 24\tinvasive carcinoma", "discontinuous_span"),
        ("T4\tDiagnosis 5 13\tcarcinoma", "broken_offsets"),
        ("T4\tDiagnosis 200 209\tcarcinoma", "broken_offsets"),
        ("T4\tDiagnosis five 13\tcarcinoma", "broken_annotation"),
        ("R4\tHas_Grade Arg1:T3 Arg2:T2", "impossible_relation"),
        ("R4\tHas_Grade Arg1:T2 Arg2:T9", "broken_relation"),
        ("R4\tHas_Grade", "broken_annotation"),
        ("E1\tGrading:T1 Theme:T2", "event"),
        ("A4\tAssertion T1 whatever", "unknown_assertion"),
    ],
)
def test_a_broken_document_of_brat_is_refused(line: str, code: str) -> None:
    assert code_of(read_standoff, ANNOTATIONS + line + "\n", STANDOFF_TEXT) == code


def test_a_folder_of_brat_is_read_document_by_document(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.txt").write_bytes(STANDOFF_TEXT.encode())
        (tmp_path / folder / "1.ann").write_text(ANNOTATIONS, "utf-8")
    (tmp_path / "lost.ann").write_text("", "utf-8")
    (tmp_path / "bytes.ann").write_bytes(b"T1\t\xff")
    (tmp_path / "bytes.txt").write_text("x", "utf-8")
    problems: list[Problem] = []
    assert [p.id for p in read_corpus(tmp_path, on_problem=problems.append)] == ["a/1", "b/1"]
    assert {problem.code for problem in problems} == {"missing_text", "not_utf8"}
    (single,) = read_corpus(tmp_path / "a" / "1.ann")
    assert single.content == by(read_standoff, ANNOTATIONS, STANDOFF_TEXT).content


def test_an_arrow_that_points_the_wrong_way_is_said_to() -> None:
    turned = EXAMPLE | {"relations": [{"head": 0, "tail": 1, "type": "IHC"}]}
    with pytest.raises(RefusedPassage, match="it must go from marker to result"):
        by(read_example, turned)
