"""What is kept of what a reader finds, by how sure it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from histoeval.report import Entity, EntityType, Relation, Report
from histoeval_research.experiments.ablate import CachingReader, Kept, SureReader

TEXT = "carcinoma grade two margin"
REPORT = Report(
    text=TEXT,
    entities=(
        Entity(text="carcinoma", start=0, end=9, type=EntityType.DIAGNOSIS, score=0.9),
        Entity(text="grade two", start=10, end=19, type=EntityType.GRADE, score=0.5),
        Entity(text="margin", start=20, end=26, type=EntityType.SITE, score=0.8),
    ),
    relations=(Relation(head=0, tail=1, score=0.95), Relation(head=0, tail=2, score=0.6)),
)


class Fixed:
    identity = "fixed"
    reads_relations = True

    def __init__(self) -> None:
        self.read_texts: list[str] = []

    def read(self, texts: Sequence[str]) -> list[Report]:
        self.read_texts += texts
        return [REPORT for _ in texts]


@pytest.mark.parametrize(
    ("entities", "relations", "kept", "linked"),
    [
        ("all", "all", ["carcinoma", "grade two", "margin"], ["grade two", "margin"]),
        ("sure", "all", ["carcinoma", "margin"], ["margin"]),
        ("sure", "sure", ["carcinoma", "margin"], []),
        ("all", "sure", ["carcinoma", "grade two", "margin"], ["grade two"]),
        ("all", "unsure", ["carcinoma", "grade two", "margin"], ["margin"]),
        ("unsure", "unsure", ["grade two"], []),
    ],
)
def test_entities_and_relations_are_kept_by_how_sure_they_are(
    entities: Kept, relations: Kept, kept: list[str], linked: list[str]
) -> None:
    (report,) = SureReader(Fixed(), 0.7, entities, relations).read([TEXT])
    assert [entity.text for entity in report.entities] == kept
    assert [report.entities[relation.tail].text for relation in report.relations] == linked
    assert all(report.entities[r.head].text == "carcinoma" for r in report.relations)


def test_of_a_reader_that_is_sure_of_phrases_the_mean_over_words_counts() -> None:
    class OfPhrases(Fixed):
        sure_of_phrases = True

    reader = CachingReader(OfPhrases())
    (report,) = SureReader(reader, 0.7, "sure", "all").read([TEXT])
    assert [entity.text for entity in report.entities] == ["carcinoma", "grade two", "margin"]
    assert not CachingReader(Fixed()).sure_of_phrases


def test_the_signature_says_what_was_kept() -> None:
    reader = SureReader(Fixed(), 0.7, "unsure", "all")
    assert reader.identity == "fixed+entities:unsure+relations:all+threshold:0.7"
    assert reader.reads_relations


def test_a_text_is_read_once() -> None:
    fixed = Fixed()
    reader = CachingReader(fixed)
    assert reader.read(["a", "b", "a"]) == reader.read(["a", "b", "a"])
    assert fixed.read_texts == ["a", "b"]
    assert (reader.identity, reader.reads_relations) == ("fixed", True)
