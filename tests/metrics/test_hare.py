from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from histoeval import Assertion, Entity, EntityType, Pair, Problem, Relation, Report, Score
from histoeval.align.aligner import LexicalAligner, Vectors
from histoeval.errors import SettingError
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


def test_a_report_against_itself_has_the_largest_score() -> None:
    found = score("carcinoma focal breast ER positive", "carcinoma focal breast ER positive")
    assert found.value == pytest.approx(2.0)
    assert found.parts["mean"] == pytest.approx(1.0)


def test_the_value_is_the_sum_of_entity_and_relation_f1() -> None:
    found = score("carcinoma breast ER positive", "carcinoma breast ER negative")
    assert found.parts["entity_precision"] == pytest.approx(3 / 4)
    assert found.parts["entity_recall"] == pytest.approx(3 / 4)
    assert found.parts["relation_f1"] == 0.0
    assert found.value == pytest.approx(3 / 4)


def test_what_the_reader_is_not_sure_of_does_not_count() -> None:
    sure = score("carcinoma breast", "carcinoma breast dysplasia~")
    assert sure.parts["entity_precision"] == pytest.approx(1.0)
    unsure = score(
        "carcinoma breast", "carcinoma breast dysplasia~", "hare:mode=paper:threshold=0.5"
    )
    assert unsure.parts["entity_precision"] == pytest.approx(2 / 3)


def test_a_relation_counts_only_when_both_its_entities_do() -> None:
    found = score("ER positive", "ER positive~")
    assert found.parts["relation_recall"] == 0.0


def test_only_the_types_and_relations_of_the_paper_are_seen() -> None:
    found = score("carcinoma breast necrosis", "carcinoma breast")
    assert found.value == pytest.approx(1.0)  # a finding, and diagnosis-site, are not among them


def test_case_and_spacing_do_not_tell_relations_apart() -> None:
    assert score("ER positive", "er POSITIVE").parts["relation_f1"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("reference", "candidate", "value"),
    [("unknown", "words", 1.0), ("carcinoma", "words", 0.0), ("words", "carcinoma", 0.0)],
)
def test_empty_sides_are_defined(reference: str, candidate: str, value: float) -> None:
    """Entities agree when both have none, and not when one has."""
    assert score(reference, candidate).value == pytest.approx(value)


def test_where_neither_has_relations_the_sum_has_one_term() -> None:
    found = score("carcinoma breast", "carcinoma dysplasia")
    assert found.parts["relation_f1"] == 0.0
    assert found.value == found.parts["entity_f1"] == pytest.approx(1 / 2)


class PhraseReader(WordReader):
    """Finds one phrase of three words; its chance is that all three are right."""

    sure_of_phrases = True

    def read_one(self, text: str) -> Report:
        phrase = "ER positive breast"
        found = Entity(text=phrase, start=0, end=len(phrase), type=EntityType.SITE, score=0.5)
        return Report(text=text, entities=(found,) if text.startswith(phrase) else ())


def test_the_chance_of_a_phrase_is_compared_by_the_word() -> None:
    """The cube root of 0.5 is 0.79."""
    pair = Pair(id="1", reference="ER positive breast", candidate="nothing")
    for threshold, value in ((0.78, 0.0), (0.8, 1.0)):
        metric = create(
            f"hare:mode=paper:threshold={threshold}",
            {"reader": PhraseReader(), "aligner": LexicalAligner()},
        )
        (found,) = metric.score([pair])
        assert isinstance(found, Score)
        assert found.value == pytest.approx(value)


REPORT = "Microscopy:\nnecrosis dysplasia seen\n\nDiagnosis:\ncarcinoma of breast\n"


def test_of_a_conclusion_only_what_it_asserts_counts() -> None:
    whole = score(REPORT.replace("\n", " \n "), "carcinoma breast")
    concluded = score(
        REPORT.replace("\n", " \n "), "carcinoma breast", "hare:mode=paper:of=conclusion"
    )
    assert whole.parts["entity_recall"] == pytest.approx(2 / 3)
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
    (found,) = metric.score(
        [Pair(id="1", reference="carcinoma no dysplasia", candidate="carcinoma")]
    )
    assert isinstance(found, Score)
    assert found.value == pytest.approx(1.0)


def test_upstream_mode_does_not_know_conclusions() -> None:
    metric = create(
        "hare:mode=upstream:of=conclusion", {"reader": WordReader(), "aligner": AxisAligner()}
    )
    assert "of=conclusion" in (metric.unavailable_reason() or "")


def test_the_evidence_shows_each_match_and_each_relation() -> None:
    evidence = score("carcinoma ER positive", "carcinoma ER negative").evidence
    assert evidence["reference"][0]["nearest"] == "carcinoma"
    assert evidence["reference"][0]["cosine"] == pytest.approx(1.0)
    assert evidence["relations"]["omitted"] == (("er", "positive", "marker-result"),)
    assert evidence["relations"]["invented"] == (("er", "negative", "marker-result"),)


def test_a_score_with_evidence_survives_json() -> None:
    found = score("carcinoma ER positive", "carcinoma ER negative")
    assert Score.model_validate_json(found.model_dump_json()) == found
    with pytest.raises(TypeError):
        found.evidence["relations"]["omitted"] = ()


def test_a_reader_that_cannot_see_relations_is_refused_and_not_scored_as_agreement() -> None:
    reader = WordReader()
    reader.reads_relations = False
    metric = create("hare", {"reader": reader, "aligner": AxisAligner()})
    assert "relations=" in (metric.unavailable_reason() or "")
    with pytest.raises(SettingError):
        metric.score([Pair(id="1", reference="benign", candidate="malignant")])


def test_without_models_it_says_what_it_needs() -> None:
    metric = create("hare")
    assert "needs models: name models=Models(reader=...) and models=Models(aligner=...)" in (
        metric.unavailable_reason() or ""
    )
    with pytest.raises(SettingError, match="reader="):
        metric.score([Pair(id="1", reference="a", candidate="b")])


def test_upstream_mode_wants_the_two_models_that_the_published_code_runs() -> None:
    metric = create("hare:mode=upstream", {"reader": WordReader(), "aligner": AxisAligner()})
    assert "needs Hugging Face models in float32" in (metric.unavailable_reason() or "")


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
