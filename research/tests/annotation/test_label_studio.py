"""Label Studio: exports as its versions write them, and tasks with pre-annotations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.report import Assertion, EntityType
from histoeval_research.annotation.label_studio import label_studio_config, read_task, write_task
from histoeval_research.annotation.passage import RefusedPassage, Vocabulary
from histoeval_research.corpus import AnnotatedPassage, read_corpus
from tests.support.annotated_passages import PASSAGE, passages

TEXT = "😀 No carcinoma. ER is weak."


def region(key: str, what: str, label: str, shift: int = 0) -> dict[str, Any]:
    start = TEXT.index(what) + shift
    value = {"start": start, "end": start + len(what), "text": what, "labels": [label]}
    return {"id": key, "from_name": "ent", "to_name": "t", "type": "labels", "value": value} | {
        "origin": "manual"
    }


def choice(key: str, said: str) -> dict[str, Any]:
    value = {"start": 1, "end": 2, "text": "x", "choices": [said]}
    return {"id": key, "from_name": "assertion", "to_name": "t", "type": "choices", "value": value}


def arrow(start: str, end: str, direction: str = "right") -> dict[str, Any]:
    return {
        "from_id": start,
        "to_id": end,
        "type": "relation",
        "direction": direction,
        "labels": [],
    }


def task(*result: dict[str, Any], **more: Any) -> dict[str, Any]:
    annotation = {"id": 9, "completed_by": 1, "result": [*result], "was_cancelled": False}
    return {"id": 3, "data": {"text": TEXT}, "annotations": [annotation], "predictions": []} | more


def read(given_task: dict[str, Any]) -> AnnotatedPassage:
    return read_task(given_task, "file-1", "file", Vocabulary())


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
    found = [(e.text, e.type, e.assertion) for e in passage.content.entities]
    assert found == [
        ("carcinoma", EntityType.DIAGNOSIS, Assertion.ABSENT),
        ("ER", EntityType.MARKER, Assertion.PRESENT),
        ("weak", EntityType.RESULT, Assertion.PRESENT),
    ]
    assert [(r.head, r.tail) for r in passage.content.relations] == [(1, 2)]


def test_old_versions_that_count_an_emoji_twice_are_read_all_the_same() -> None:
    passage = read(task(region("a", "carcinoma", "diagnosis", shift=1)))
    assert passage.content.entities[0].text == "carcinoma"
    with pytest.raises(RefusedPassage, match="'carcinoma' does not stand at"):
        read(task(region("a", "carcinoma", "diagnosis", shift=2)))


@pytest.mark.parametrize("direction", ["left", "bi"])
def test_an_arrow_may_point_back_or_both_ways(direction: str) -> None:
    passage = read(task(*ENTITIES, arrow("c", "b", direction)))
    assert [(r.head, r.tail) for r in passage.content.relations] == [(1, 2)]


def test_a_minimal_export_has_assertions_by_place_and_no_arrows(tmp_path: Path) -> None:
    place = {"start": 5, "end": 14, "text": "carcinoma"}
    row = {
        "id": 8,
        "text": TEXT,
        "ent": [place | {"labels": ["diagnosis"]}],
        "assertion": [place | {"choices": ["absent"]}],
        "annotator": 1,
        "annotation_id": 2,
        "created_at": "2024-01-01T00:00:00Z",
        "lead_time": 3.5,
    }
    file = tmp_path / "min.json"
    file.write_text(json.dumps([row]), "utf-8")
    (passage,) = read_corpus(file)
    (entity,) = passage.content.entities
    assert (entity.text, entity.assertion) == ("carcinoma", Assertion.ABSENT)


def test_a_label_beside_the_type_may_be_the_assertion() -> None:
    both = region("a", "carcinoma", "diagnosis")
    both["value"]["labels"] = ["Negated", "diagnosis"]
    assert read(task(both)).content.entities[0].assertion is Assertion.ABSENT


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
    with pytest.raises(RefusedPassage) as refused:
        read(broken)
    assert refused.value.code == code


def test_of_several_annotations_the_ground_truth_counts_and_cancelled_ones_do_not() -> None:
    annotations = [
        {"result": [], "was_cancelled": True},
        {"result": [], "ground_truth": False},
        {"result": [ENTITIES[0]], "ground_truth": True},
    ]
    assert len(read(task(annotations=annotations)).content.entities) == 1


@given(passages(st.sampled_from([0.25, 1.0])))
def test_a_passage_survives_being_written_and_read(passage: AnnotatedPassage) -> None:
    assert read(json.loads(json.dumps(write_task(passage)))) == passage


def test_pre_annotations_say_how_sure_they_are_only_when_they_are_not() -> None:
    assert "score" not in json.dumps(write_task(PASSAGE))
    unsure = PASSAGE.model_dump()
    for entity in unsure["entities"]:
        entity["score"] = 0.5
    (prediction,) = write_task(AnnotatedPassage.model_validate(unsure))["predictions"]
    assert prediction["score"] == 0.5
    assert prediction["result"][0]["score"] == 0.5


def test_pre_annotations_use_only_what_the_labelling_view_has() -> None:
    view = ElementTree.fromstring(label_studio_config())
    names = {tag.get("name") for tag in view.iter()}
    values = {tag.get("value") for tag in view.iter()}
    for item in write_task(PASSAGE)["predictions"][0]["result"]:
        if item["type"] == "relation":
            assert set(item["labels"]) <= values
        else:
            assert {item["from_name"], item["to_name"]} <= names
            assert {*item["value"].get("labels", []), *item["value"].get("choices", [])} <= values
