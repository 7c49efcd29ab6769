import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from histoeval import Assertion, Entity, EntityType, Pair, Relation, Report
from histoeval.report import HARE_RELATION_TYPES, HARE_TYPES, RELATION_TYPES

TEXT = "Left breast: invasive ductal carcinoma, grade 2. ER positive."


def entity(phrase: str, kind: str, text: str = TEXT, score: float = 1.0) -> Entity:
    start = text.index(phrase)
    return Entity(text=phrase, start=start, end=start + len(phrase), type=kind, score=score)


def report() -> Report:
    return Report(
        text=TEXT,
        entities=(
            entity("Left breast", "site"),
            entity("invasive ductal carcinoma", "diagnosis"),
            entity("grade 2", "grade"),
            entity("ER", "marker"),
            entity("positive", "result"),
        ),
        relations=(Relation(head=1, tail=2, score=0.9), Relation(head=3, tail=4)),
    )


def test_an_entity_must_stand_where_it_says() -> None:
    wrong = Entity(text="carcinoma", start=0, end=9, type="diagnosis")
    with pytest.raises(ValidationError, match="is not what stands there"):
        Report(text=TEXT, entities=(wrong,))


def test_an_entity_is_as_long_as_its_offsets_say() -> None:
    with pytest.raises(ValidationError, match="9 characters"):
        Entity(text="carcinoma", start=0, end=4, type="diagnosis")


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (5, 5), (6, 5)])
def test_an_entity_cannot_be_empty_or_start_before_its_text(start: int, end: int) -> None:
    with pytest.raises(ValidationError):
        Entity(text="abc", start=start, end=end, type="diagnosis")


def test_a_confidence_is_a_share() -> None:
    with pytest.raises(ValidationError):
        entity("ER", "marker", score=1.5)


def test_a_relation_must_point_at_entities() -> None:
    with pytest.raises(ValidationError, match="points past"):
        Report(text=TEXT, entities=(entity("ER", "marker"),), relations=(Relation(head=0, tail=1),))


def test_a_relation_holds_only_between_types_that_can_be_related() -> None:
    two = (entity("ER", "marker"), entity("grade 2", "grade"))
    with pytest.raises(ValidationError, match="no relation can hold between marker and grade"):
        Report(text=TEXT, entities=two, relations=(Relation(head=0, tail=1),))


def test_nouns_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        report().text = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        report().entities[0].start = 3  # type: ignore[misc]


def test_nouns_refuse_fields_they_do_not_know() -> None:
    with pytest.raises(ValidationError):
        Pair.model_validate({"id": "1", "reference": "a", "candidate": "b", "kandidat": "c"})


def test_json_in_json_out_is_the_same_report() -> None:
    assert Report.model_validate_json(report().model_dump_json()) == report()


def test_types_and_assertions_are_spelled_out_in_json() -> None:
    dumped = report().model_dump(mode="json")["entities"][1]
    assert dumped["type"] == "diagnosis"
    assert dumped["assertion"] == "present"


@given(text=st.text(min_size=1), data=st.data())
def test_any_slice_of_any_text_survives_json(text: str, data: st.DataObject) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        return
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    found = Entity(
        text=text[start:end],
        start=start,
        end=end,
        type=data.draw(st.sampled_from(EntityType)),
        assertion=data.draw(st.sampled_from(Assertion)),
    )
    made = Report(text=text, entities=(found,))
    again = Report.model_validate_json(made.model_dump_json())
    assert again == made
    assert all(again.text[e.start : e.end] == e.text for e in again.entities)


def test_the_hare_types_and_relations_are_among_ours() -> None:
    assert set(EntityType) > HARE_TYPES
    assert RELATION_TYPES > HARE_RELATION_TYPES
    assert len(EntityType) == 10
    assert len(RELATION_TYPES) == 8
