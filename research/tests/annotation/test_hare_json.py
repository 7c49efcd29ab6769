"""The JSON of the HARE authors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import InputError
from histoeval.report import Entity, EntityType, Report
from histoeval_research.annotation.formats import read_example, tokens_of, write_example
from histoeval_research.annotation.passage import RefusedPassage, Vocabulary
from histoeval_research.corpus import AnnotatedPassage, read_corpus, write_corpus
from tests.support.annotated_passages import PASSAGE, passages

EXAMPLE: dict[str, Any] = {
    "tokens": ["Strong", "staining", "for", "Ki", "-", "67", ";", "no", "carcinoma"],
    "entities": [
        {"start": 0, "end": 1, "type": "IHC Modifier"},
        {"start": 3, "end": 6, "type": "IHC Markers"},
        {"start": 8, "end": 9, "type": "Pathological Diagnosis"},
    ],
    "relations": [{"head": 1, "tail": 0, "type": "IHC"}],
}


def test_the_text_is_the_tokens_with_blanks_between(tmp_path: Path) -> None:
    file = tmp_path / "train_new.json"
    file.write_text(json.dumps([EXAMPLE]), "utf-8")
    (passage,) = read_corpus(file)
    assert passage.id == passage.report_id == "train_new-1"
    assert passage.source == "train_new"
    assert passage.text == "Strong staining for Ki - 67 ; no carcinoma"
    found = [(e.text, str(e.type)) for e in passage.content.entities]
    assert found == [("Strong", "result"), ("Ki - 67", "marker"), ("carcinoma", "diagnosis")]
    assert [(r.head, r.tail) for r in passage.content.relations] == [(1, 0)]


@given(passages(st.sampled_from([0.25, 1.0])))
def test_a_passage_survives_being_written_and_read(passage: AnnotatedPassage) -> None:
    example = json.loads(json.dumps(write_example(passage)))
    assert read_example(example, "other", "other", Vocabulary()) == passage


@given(passages())
def test_without_its_text_a_passage_keeps_its_entities_word_by_word(
    passage: AnnotatedPassage,
) -> None:
    example = write_example(passage)
    del example["text"]
    read = read_example(example, "other", "other", Vocabulary())
    for before, after in zip(passage.content.entities, read.content.entities, strict=True):
        assert "".join(after.text.split()) == "".join(before.text.split())
        assert (after.type, after.assertion) == (before.type, before.assertion)
    assert read.content.relations == passage.content.relations


def test_tokens_are_words_and_single_signs_and_end_where_entities_do() -> None:
    text = "pT2b, ER+ (10%)"
    tokens = [text[start:end] for start, end in tokens_of(text, [0, 3])]
    assert tokens == ["pT2", "b", ",", "ER", "+", "(", "10", "%", ")"]


def test_the_published_keys_are_written() -> None:
    example = write_example(PASSAGE)
    assert {"tokens", "entities", "relations"} <= example.keys()
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
    with pytest.raises(RefusedPassage) as refused:
        read_example(EXAMPLE | change, "a", "b", Vocabulary())
    assert refused.value.code == code


def test_an_arrow_that_points_the_wrong_way_is_said_to(tmp_path: Path) -> None:
    turned = EXAMPLE | {"relations": [{"head": 0, "tail": 1, "type": "IHC"}]}
    with pytest.raises(RefusedPassage, match="it must go from marker to result"):
        read_example(turned, "a", "b", Vocabulary())


def test_an_entity_without_a_word_cannot_be_written(tmp_path: Path) -> None:
    blank = Entity(text=" ", start=1, end=2, type=EntityType.SITE)
    content = Report(text="a b", entities=(blank,))
    passage = AnnotatedPassage(id="p", source="s", report_id="r", content=content)
    target = tmp_path / "out.json"
    with pytest.raises(InputError, match="p has an entity at 1:2 without a word"):
        write_corpus(target, [passage], "hare")
    assert list(tmp_path.iterdir()) == []
