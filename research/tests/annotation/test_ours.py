"""Our own corpus format, and the files that are annotated in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import InputError, Problem, SettingError
from histoeval.report import Relation
from histoeval_research.annotation.formats import read_row, write_row
from histoeval_research.annotation.passage import RefusedPassage, Vocabulary
from histoeval_research.corpus import AnnotatedPassage, read_corpus, write_corpus
from tests.support.annotated_passages import PASSAGE, passages
from tests.support.paths import SHARED

SHARED = SHARED / "annotation"
ROW = {
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


@given(passages(st.sampled_from([0.25, 0.5, 1.0])))
def test_a_passage_survives_being_written_and_read(passage: AnnotatedPassage) -> None:
    assert read_row(json.loads(write_row(passage)), "other", "other", Vocabulary()) == passage
    assert AnnotatedPassage.model_validate_json(passage.model_dump_json()) == passage


def test_what_people_annotated_is_written_without_confidence() -> None:
    passage = AnnotatedPassage.model_validate(ROW)
    assert json.loads(write_row(passage)) == ROW
    assert "score" not in write_row(PASSAGE)


def test_what_a_reader_wrote_is_read_with_its_confidence() -> None:
    entities = [entity | {"score": 0.5} for entity in ROW["entities"]]  # type: ignore[operator]
    row = {"text": ROW["text"], "entities": entities} | {
        "id": "x",
        "relations": [{"head": 0, "tail": 1, "score": 0.75}],
    }
    passage = read_row(row, "none", "extracted", Vocabulary())
    assert (passage.source, passage.report_id) == ("extracted", "x")
    assert [entity.score for entity in passage.content.entities] == [0.5, 0.5]
    assert passage.content.relations == (Relation(head=0, tail=1, score=0.75),)


def test_a_passage_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        PASSAGE.id = "other"  # type: ignore[misc]


def test_entities_that_mean_nothing_here_go_and_relations_follow() -> None:
    row = json.loads(json.dumps(ROW))
    row["entities"].insert(
        0, {"text": "E", "start": 0, "end": 1, "type": "Comment", "assertion": "present"}
    )
    row["relations"] = [[1, 2]]
    with pytest.raises(InputError, match=r"'Comment' is not known.*--labels"):
        read_row(row, "a", "b", Vocabulary())
    assert read_row(row, "a", "b", Vocabulary({"comment": "O"})) == AnnotatedPassage.model_validate(
        ROW
    )
    row["relations"] = [[1, 9]]
    with pytest.raises(RefusedPassage, match="no relation between two of 3"):
        read_row(row, "a", "b", Vocabulary({"comment": None}))


def test_a_label_cannot_be_said_to_mean_something_unheard_of() -> None:
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
    rows = [ROW | change, ROW | {"id": "b"}]
    file = tmp_path / "corpus.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n", "utf-8")
    problems: list[Problem] = []
    read = list(read_corpus(file, "ours", on_problem=problems.append))
    assert [passage.id for passage in read] == ["b"]
    assert said in problems[0].message
    assert problems[0].message.startswith("row 1, line 1")
    assert problems[1].code == "broken_json"
    with pytest.raises(InputError, match="row 1"):
        list(read_corpus(file))


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([{"code": "empty_text", "message": "text is empty", "column": "text"}], "text is empty"),
        ([], "nothing says why"),
        ("broken", "nothing says why"),
    ],
)
def test_a_text_that_the_reader_could_not_read_is_a_problem(errors: object, said: str) -> None:
    with pytest.raises(RefusedPassage, match=said) as refused:
        read_row({"id": "a", "row": 3, "errors": errors}, "a", "b", Vocabulary())
    assert refused.value.code == "not_read"


def test_an_id_that_comes_twice_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(json.dumps(ROW) + "\n" + json.dumps(ROW) + "\n", "utf-8")
    problems: list[Problem] = []
    assert len(list(read_corpus(file, on_problem=problems.append))) == 1
    assert problems[0].code == "duplicate_id"


@pytest.mark.parametrize("name", ["train", "dev"])
def test_the_annotated_files_are_written_as_they_were_read(name: str, tmp_path: Path) -> None:
    file = SHARED / f"{name}.jsonl"
    if not file.exists():
        pytest.skip("the annotated files are not here")
    written = tmp_path / "out.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]
    assert write_corpus(written, read_corpus(file)) == len(rows)
    assert [json.loads(line) for line in written.read_text("utf-8").split("\n") if line] == rows
