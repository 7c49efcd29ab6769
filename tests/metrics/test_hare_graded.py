"""HARE as it scores by default: hierarchy, assertion, context and contradictions."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from histoeval import Assertion, Entity, EntityType, Relation, Report, Score
from histoeval.align.builtin import BuiltinAligner
from histoeval.metrics.registry import create

Scored = Callable[[str, str], Score]

D, S, M, R, F, G = (
    EntityType.DIAGNOSIS,
    EntityType.SITE,
    EntityType.MARKER,
    EntityType.RESULT,
    EntityType.FINDING,
    EntityType.GRADE,
)


class ListReader:
    """Reads what a test says that it reads; a result belongs to the marker before it."""

    identity = "list"
    reads_relations = True

    def __init__(self, phrases: Mapping[str, EntityType]) -> None:
        self.phrases = phrases

    def read(self, texts: Sequence[str]) -> list[Report]:
        return [self.report(text) for text in texts]

    def report(self, text: str) -> Report:
        entities = []
        for phrase, kind in self.phrases.items():
            start = text.find(phrase)
            while start >= 0:
                before = text[max(0, start - 3) : start]
                stance = Assertion.ABSENT if before == "no " else Assertion.PRESENT
                end = start + len(phrase)
                entities.append(
                    Entity(text=phrase, start=start, end=end, type=kind, assertion=stance)
                )
                start = text.find(phrase, end)
        entities.sort(key=lambda entity: entity.start)
        links = [
            Relation(head=i, tail=i + 1)
            for i in range(len(entities) - 1)
            if (entities[i].type, entities[i + 1].type) in {(M, R), (D, G)}
        ]
        return Report(text=text, entities=tuple(entities), relations=tuple(links))


PHRASES = {
    "invasive ductal carcinoma": D,
    "invasive carcinoma of no special type": D,
    "invasive lobular carcinoma": D,
    "breast carcinoma": D,
    "chronic gastritis": D,
    "left breast": S,
    "right breast": S,
    "lymphovascular invasion": F,
    "necrosis": F,
    "estrogen receptor": M,
    "HER2": M,
    "positive": R,
    "negative": R,
    "grade 1": G,
    "grade 3": G,
}


@pytest.fixture(scope="module")
def scored(aligner: BuiltinAligner) -> Scored:
    return create("hare", {"reader": ListReader(PHRASES), "aligner": aligner})


REFERENCE = (
    "left breast: invasive ductal carcinoma grade 1, no lymphovascular invasion, "
    "estrogen receptor positive, HER2 negative."
)


def test_a_report_agrees_fully_with_itself_also_where_it_says_a_thing_twice(scored: Scored) -> None:
    for candidate in (REFERENCE, f"{REFERENCE} invasive ductal carcinoma."):
        assert scored(REFERENCE, candidate).value == pytest.approx(1.0)
    assert scored(REFERENCE, REFERENCE).parts["relation_f1"] == pytest.approx(1.0)


def test_a_synonym_is_nearer_than_a_parent_than_a_sibling_than_a_stranger(scored: Scored) -> None:
    names = (
        "invasive carcinoma of no special type",
        "breast carcinoma",
        "invasive lobular carcinoma",
        "chronic gastritis",
    )
    values = [scored("invasive ductal carcinoma.", f"{name}.").value for name in names]
    assert values[0] == pytest.approx(1.0)
    assert values == sorted(values, reverse=True)
    assert values[0] > values[1] > values[2] > values[3]


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ("no lymphovascular invasion", "lymphovascular invasion"),
        ("left breast", "right breast"),
        ("HER2 negative", "HER2 positive"),
        ("grade 1", "grade 3"),
    ],
)
def test_a_contradiction_costs_more_than_silence(scored: Scored, said: str, instead: str) -> None:
    wrong = scored(REFERENCE, REFERENCE.replace(said, instead))
    silent = scored(REFERENCE, REFERENCE.replace(said, ""))
    assert wrong.value < silent.value < 1.0


def test_results_are_compared_with_those_of_the_same_marker(scored: Scored) -> None:
    swapped = REFERENCE.replace(
        "receptor positive, HER2 negative", "receptor negative, HER2 positive"
    )
    found = scored(REFERENCE, swapped)
    assert found.value < 0.75
    assert ("her2", "negative", "marker-result") in found.evidence["relations"]["omitted"]


def test_entities_are_scored_alone_where_neither_report_has_relations(scored: Scored) -> None:
    found = scored("invasive ductal carcinoma.", "invasive lobular carcinoma.")
    assert found.value == pytest.approx(found.parts["entity_f1"])
    assert "relation_f1" not in found.parts
    assert scored("HER2 positive.", "HER2 noted.").parts["relation_f1"] == 0.0


@pytest.mark.parametrize(
    ("reference", "candidate", "value"),
    [("nothing", "known", 1.0), ("necrosis", "nothing", 0.0), ("nothing", "necrosis", 0.0)],
)
def test_empty_sides_count(scored: Scored, reference: str, candidate: str, value: float) -> None:
    assert scored(reference, candidate).value == value


def test_the_evidence_shows_weights_matches_and_contradictions(scored: Scored) -> None:
    found = scored(REFERENCE, REFERENCE.replace("left breast", "right breast"))
    site, diagnosis = found.evidence["reference"][:2]
    assert site["contradicted"] is True
    assert "contradicted" not in diagnosis
    assert diagnosis["nearest"] == "invasive ductal carcinoma"
    assert diagnosis["weight"] > found.evidence["reference"][-1]["weight"]


def test_words_are_shown_as_the_report_has_them(scored: Scored) -> None:
    found = scored("Breast carcnoma, necrosis.", "necrosis.")
    for row in found.evidence["reference"]:
        assert "Breast carcnoma, necrosis."[row["start"] : row["end"]] == row["text"]
