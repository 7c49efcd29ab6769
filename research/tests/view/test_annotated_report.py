"""A report as a figure: its words, its entities with their types, and its relations."""

from __future__ import annotations

from histoeval.report import Assertion, Entity, EntityType, Relation, Report
from histoeval_research.view.annotated_report import annotated
from tests.support.svg_labels import labels


def test_a_report_is_shown_with_its_entities_and_relations() -> None:
    report = Report(
        text="No carcinoma.\nGrade 2",
        entities=(
            Entity(
                text="carcinoma",
                start=3,
                end=12,
                type=EntityType.DIAGNOSIS,
                assertion=Assertion.ABSENT,
            ),
            Entity(text="Grade 2", start=14, end=21, type=EntityType.GRADE),
        ),
        relations=(Relation(head=0, tail=1),),
    )
    told = labels(annotated(report, "mine"))
    assert "diagnosis, absent" in told
    assert "grade" in told
    assert "carcinoma → Grade 2" in told
    assert [word for word in told if word in ("No", "carcinoma.", "Grade", "2")] == [
        "No",
        "carcinoma.",
        "Grade",
        "2",
    ]
