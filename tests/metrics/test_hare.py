from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from histoeval import Assertion, Entity, EntityType, Pair, Problem, Relation, Report, Score
from histoeval.align.aligner import LexicalAligner, Vectors, unit
from histoeval.errors import SettingError
from histoeval.metrics.hare_f1 import (
    FULL,
    NONE,
    entity_agreement,
    harmonic_mean,
    nearest,
    relation_agreement,
)
from histoeval.metrics.registry import create

KINDS = {
    "carcinoma": EntityType.DIAGNOSIS,
    "dysplasia": EntityType.DIAGNOSIS,
    "focal": EntityType.DESCRIPTOR,
    "breast": EntityType.SITE,
    "er": EntityType.MARKER,
    "positive": EntityType.RESULT,
    "negative": EntityType.RESULT,
    "necrosis": EntityType.FINDING,
}


class WordReader:
    """Knows a few words; `word~` is one it is not sure of; neighbours that can are related."""

    identity = "words"
    reads_relations = True

    def __init__(self) -> None:
        self.seen: list[str] = []

    def read(self, texts: Sequence[str]) -> list[Report]:
        self.seen += texts
        return [self.read_one(text) for text in texts]

    def read_one(self, text: str) -> Report:
        entities, start = [], 0
        for token in text.split(" "):
            word = token.rstrip("~")
            kind = KINDS.get(word.lower())
            if kind is not None:
                score = 0.6 if token.endswith("~") else 0.9
                end = start + len(word)
                entities.append(Entity(text=word, start=start, end=end, type=kind, score=score))
            start += len(token) + 1
        related = [
            Relation(head=i, tail=i + 1, score=0.8)
            for i in range(len(entities) - 1)
            if (entities[i].type, entities[i + 1].type)
            in {("marker", "result"), ("diagnosis", "descriptor"), ("diagnosis", "site")}
        ]
        return Report(text=text, entities=tuple(entities), relations=tuple(related))


class AxisAligner:
    """Every word is its own axis, upper case or lower."""

    identity = "axes"

    def embed(self, phrases: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(phrases), len(KINDS)), dtype=np.float32)
        for row, phrase in enumerate(phrases):
            vectors[row, list(KINDS).index(phrase.lower())] = 1
        return vectors


def score(reference: str, candidate: str, spec: str = "hare:mode=paper") -> Score:
    metric = create(spec, {"reader": WordReader(), "aligner": AxisAligner()})
    (answer,) = metric.score([Pair(id="1", reference=reference, candidate=candidate)])
    assert isinstance(answer, Score)
    return answer


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        (*["carcinoma focal breast ER positive"] * 2, {"value": 2, "mean": 1}),
        (
            "carcinoma breast ER positive",
            "carcinoma breast ER negative",
            {"entity_precision": 3 / 4, "entity_recall": 3 / 4, "relation_f1": 0, "value": 3 / 4},
        ),
        # what the reader is not sure of does not count; a relation only if both its entities do
        ("carcinoma breast", "carcinoma breast dysplasia~", {"entity_precision": 1}),
        ("ER positive", "ER positive~", {"relation_recall": 0}),
        # a finding, and diagnosis-site, are not among the types and relations of the paper
        ("carcinoma breast necrosis", "carcinoma breast", {"value": 1}),
        ("ER positive", "er POSITIVE", {"relation_f1": 1}),
        # entities agree when both have none, and not when one has
        ("unknown", "words", {"value": 1}),
        ("carcinoma", "words", {"value": 0}),
        ("words", "carcinoma", {"value": 0}),
        # where neither has relations the sum has one term
        ("carcinoma breast", "carcinoma dysplasia", {"relation_f1": 0, "value": 0.5}),
    ],
)
def test_entities_and_relations_count_as_in_the_paper(
    reference: str, candidate: str, expected: dict[str, float]
) -> None:
    found = score(reference, candidate)
    parts = dict(found.parts) | {"value": found.value}
    assert {name: parts[name] for name in expected} == pytest.approx(expected)


def test_a_lower_threshold_counts_what_the_reader_is_less_sure_of() -> None:
    pair = "carcinoma breast", "carcinoma breast dysplasia~"
    found = score(*pair, "hare:mode=paper:threshold=0.5")
    assert found.parts["entity_precision"] == pytest.approx(2 / 3)


class PhraseReader(WordReader):
    """Finds one phrase of three words; its chance is that all three are right."""

    sure_of_phrases = True

    def read_one(self, text: str) -> Report:
        phrase = "ER positive breast"
        found = Entity(text=phrase, start=0, end=len(phrase), type=EntityType.SITE, score=0.5)
        return Report(text=text, entities=(found,) if text.startswith(phrase) else ())


def test_the_chance_of_a_phrase_is_compared_by_the_word() -> None:
    """The cube root of 0.5 is 0.79."""
    for threshold, value in ((0.78, 0.0), (0.8, 1.0)):
        spec = f"hare:mode=paper:threshold={threshold}"
        metric = create(spec, {"reader": PhraseReader(), "aligner": LexicalAligner()})
        assert metric("ER positive breast", "nothing").value == pytest.approx(value)


REPORT = "Microscopy:\nnecrosis dysplasia seen\n\nDiagnosis:\ncarcinoma of breast\n"


def test_of_a_conclusion_only_what_it_asserts_counts() -> None:
    pair = REPORT.replace("\n", " \n "), "carcinoma breast"
    assert score(*pair).parts["entity_recall"] == pytest.approx(2 / 3)
    concluded = score(*pair, "hare:mode=paper:of=conclusion")
    assert concluded.parts["entity_recall"] == pytest.approx(1.0)


def test_what_a_report_denies_is_not_concluded() -> None:
    class Denier(WordReader):
        def read_one(self, text: str) -> Report:
            report = super().read_one(text)
            denied = tuple(
                e.model_copy(update={"assertion": Assertion.ABSENT}) if e.text == "dysplasia" else e
                for e in report.entities
            )
            return report.model_copy(update={"entities": denied})

    metric = create("hare:mode=paper:of=conclusion", {"reader": Denier(), "aligner": AxisAligner()})
    found = metric("carcinoma no dysplasia", "carcinoma")
    assert found.value == pytest.approx(1.0)


def test_the_evidence_shows_each_match_and_each_relation() -> None:
    evidence = score("carcinoma ER positive", "carcinoma ER negative").evidence
    assert evidence["reference"][0]["nearest"] == "carcinoma"
    assert evidence["reference"][0]["cosine"] == pytest.approx(1.0)
    assert evidence["relations"]["omitted"] == (("er", "positive", "marker-result"),)
    assert evidence["relations"]["invented"] == (("er", "negative", "marker-result"),)


def test_a_reader_that_cannot_see_relations_is_refused_and_not_scored_as_agreement() -> None:
    reader = WordReader()
    reader.reads_relations = False
    metric = create("hare", {"reader": reader, "aligner": AxisAligner()})
    assert "relations=" in (metric.unavailable_reason() or "")
    with pytest.raises(SettingError):
        metric.score([Pair(id="1", reference="benign", candidate="malignant")])


@pytest.mark.parametrize(
    ("spec", "has_models", "reason"),
    [
        ("hare", False, "name models=Models(reader=...) and models=Models(aligner=...)"),
        ("hare:mode=upstream", True, "needs Hugging Face models in float32"),
        ("hare:mode=upstream:of=conclusion", True, "of=conclusion"),
    ],
)
def test_it_says_what_it_needs(spec: str, has_models: bool, reason: str) -> None:
    models = {"reader": WordReader(), "aligner": AxisAligner()} if has_models else {}
    metric = create(spec, models)
    assert reason in (metric.unavailable_reason() or "")
    with pytest.raises(SettingError):
        metric.score([Pair(id="1", reference="a", candidate="b")])


def test_the_signature_names_mode_threshold_and_models() -> None:
    models = {"reader": WordReader(), "aligner": AxisAligner()}
    paper = str(create("hare:mode=paper", models).signature)
    assert "hare|mode:paper|threshold:0.7|of:report|reader:words|aligner:axes|" in paper
    graded = str(create("hare", models).signature)
    assert "hare|mode:graded|threshold:0.0|of:report|" in graded
    assert "weights:" in graded


def test_order_and_company_do_not_change_a_score() -> None:
    pairs = [
        Pair(id=str(i), reference=f"carcinoma {word}", candidate=f"dysplasia {word} breast")
        for i, word in enumerate(KINDS)
    ]
    metric = create("hare", {"reader": WordReader(), "aligner": AxisAligner()})
    together = metric.score(pairs)
    assert list(reversed(metric.score(pairs[::-1]))) == together
    assert [metric.score([pair])[0] for pair in pairs] == together
    assert not any(isinstance(answer, Problem) for answer in together)


NOTHING: Vectors = np.zeros((0, 2), dtype=np.float32)
EAST, NORTH = np.eye(2, dtype=np.float32)
BETWEEN = np.array([0.6, 0.8], dtype=np.float32)

rows = arrays(
    np.float32,
    st.tuples(st.integers(1, 8), st.just(4)),
    elements=st.floats(-1, 1, width=32).filter(lambda x: abs(x) > 0.01),
).map(unit)


def test_each_entity_takes_its_best_match_and_sides_are_averaged_apart() -> None:
    agreement = entity_agreement(np.stack([EAST, NORTH]), np.stack([BETWEEN]))
    assert agreement.recall == pytest.approx((0.6 + 0.8) / 2)
    assert agreement.precision == pytest.approx(0.8)
    assert agreement.f1 == pytest.approx(2 * 0.7 * 0.8 / 1.5)


def test_nothing_on_both_sides_is_full_agreement_and_on_one_side_none() -> None:
    some = np.stack([EAST])
    assert entity_agreement(NOTHING, NOTHING) == FULL
    assert entity_agreement(some, NOTHING) == NONE
    assert entity_agreement(NOTHING, some) == NONE
    assert relation_agreement(set(), set()) == FULL
    assert relation_agreement({1}, set()) == NONE
    assert relation_agreement(set(), {1}) == NONE


def test_opposite_entities_do_not_score_below_zero() -> None:
    assert entity_agreement(np.stack([EAST]), np.stack([-EAST])).f1 == 0.0


def test_relations_agree_as_sets_do() -> None:
    agreement = relation_agreement({"a", "b", "c", "d"}, {"a", "b", "x"})
    assert agreement.precision == pytest.approx(2 / 3)
    assert agreement.recall == pytest.approx(1 / 2)
    assert agreement.f1 == pytest.approx(4 / 7)


@given(rows)
def test_a_report_agrees_fully_with_itself(vectors: Vectors) -> None:
    assert entity_agreement(vectors, vectors).f1 == pytest.approx(1.0, abs=1e-5)


@given(rows, rows)
def test_swapping_sides_swaps_precision_and_recall(left: Vectors, right: Vectors) -> None:
    there, back = entity_agreement(left, right), entity_agreement(right, left)
    assert there.precision == pytest.approx(back.recall, abs=1e-6)
    assert there.f1 == pytest.approx(back.f1, abs=1e-6)


@given(rows, rows)
@settings(suppress_health_check=[HealthCheck.filter_too_much])
def test_nearest_is_the_largest_cosine_of_all_rows(left: Vectors, right: Vectors) -> None:
    found = nearest(left, right)
    for row, position, cosine in zip(left, found.position, found.cosine, strict=True):
        every = [float(row @ other) for other in right]
        assert cosine == pytest.approx(max(every), abs=1e-6)
        assert every[position] == pytest.approx(max(every), abs=1e-6)


def test_many_rows_are_compared_in_bounded_pieces() -> None:
    random = np.random.default_rng(0)
    many = unit(random.normal(size=(5000, 8)).astype(np.float32))
    assert (nearest(many, many).position == np.arange(5000)).all()


@given(rows, rows)
def test_f1_stays_between_0_and_1_whatever_the_cosines(left: Vectors, right: Vectors) -> None:
    assert 0.0 <= entity_agreement(left, right).f1 <= 1.0 + 1e-6


def test_precision_and_recall_of_opposite_signs_give_no_agreement() -> None:
    assert harmonic_mean(-0.075, 0.1) == 0.0
