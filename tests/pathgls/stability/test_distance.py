"""Distances: bounds, symmetry, equality, and what is said of what changed."""

from collections.abc import Sequence

import numpy as np
import pytest

from histoeval.align.aligner import LexicalAligner, Vectors
from histoeval.errors import Problem, SettingError
from histoeval.nli.entailer import Entailment, NliPair
from histoeval.pathgls.stability.distance import (
    NAMES,
    ConcordanceDistance,
    Distance,
    EmbeddingDistance,
    NliDistance,
    open_distance,
)

POLYP = "Colon, biopsy: hyperplastic polyp. No dysplasia is seen."
REWORDED = "Biopsy of the colon shows a hyperplastic polyp. There is no dysplasia."
CANCER = "Colon, biopsy: invasive adenocarcinoma, poorly differentiated."
REFUSAL = "I am sorry, but I cannot help with that."


@pytest.fixture(scope="module")
def facts() -> ConcordanceDistance:
    return ConcordanceDistance()


@pytest.fixture(scope="module")
def measures(facts: ConcordanceDistance) -> dict[str, Distance]:
    return {
        "concordance": facts,
        "nli": NliDistance(facts=facts),
        "embedding": EmbeddingDistance(facts=facts),
    }


def number(found: float | Problem) -> float:
    assert isinstance(found, float)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_distance_is_symmetric_and_bounded(name: str, measures: dict[str, Distance]) -> None:
    measure = measures[name]
    texts = (POLYP, REWORDED, CANCER)
    for one in texts:
        assert number(measure.between(one, one)) == pytest.approx(0, abs=1e-6)
        for other in texts:
            far = number(measure.between(one, other))
            assert 0 <= far <= 1
            assert far == pytest.approx(number(measure.between(other, one)), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_other_diagnoses_and_refusals_lie_far(name: str, measures: dict[str, Distance]) -> None:
    measure = measures[name]
    near = number(measure.between(POLYP, REWORDED))
    far = number(measure.between(POLYP, CANCER))
    assert far > near + 0.2
    assert number(measure.between(POLYP, REFUSAL)) > 0.5
    assert number(measure.between(POLYP, "12 34")) > 0.5
    nothing = measure.between(REFUSAL, REFUSAL)
    assert isinstance(nothing, Problem)
    assert nothing.code == "no_claims"


def test_what_changed_is_told_with_both_sides(facts: ConcordanceDistance) -> None:
    changed = " | ".join(facts.changed(POLYP, CANCER))
    assert "adenocarcinoma" in changed
    assert "became" in changed or "new:" in changed
    assert facts.changed(POLYP, POLYP) == ()
    gone = facts.changed("Adenocarcinoma with perineural invasion.", "Adenocarcinoma.")
    assert any(line.startswith("gone:") and "perineural" in line for line in gone)


class Oracle:
    """Entailer where the hypothesis shares its first word with the premise."""

    identity = "oracle"

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        same = [p.premise.split()[0] == p.hypothesis.split()[0] for p in pairs]
        return [Entailment(0.8, 0.1, 0.1) if each else Entailment(0.2, 0.7, 0.1) for each in same]


def test_nli_takes_the_best_support_in_both_directions(facts: ConcordanceDistance) -> None:
    first = "Adenocarcinoma is seen. Necrosis is there. Margins are clear."
    second = "Adenocarcinoma is seen. Necrosis was found."
    there = (1.0 + 0.8 + 0.2) / 3  # word for word; entailed; not entailed
    back = (1.0 + 0.8) / 2
    found = number(NliDistance(Oracle(), facts).between(first, second))
    assert found == pytest.approx(1 - (there + back) / 2)


def test_a_report_without_end_is_too_long_for_nli(facts: ConcordanceDistance) -> None:
    endless = "Adenocarcinoma is seen. " + " ".join(f"Field {n} is fine." for n in range(400))
    found = NliDistance(Oracle(), facts).between("Adenocarcinoma is seen.", endless)
    assert isinstance(found, Problem)
    assert found.code == "too_long"


class Corners:
    """Embeds a sentence by its first letter, each letter at right angles to the others."""

    identity = "corners"

    def embed(self, phrases: Sequence[str]) -> Vectors:
        return np.eye(26, dtype=np.float32)[[ord(phrase[0].lower()) - 97 for phrase in phrases]]


def test_embedding_is_one_less_the_cosine_of_mean_vectors(facts: ConcordanceDistance) -> None:
    measure = EmbeddingDistance(Corners(), facts)
    first, second = "Adenocarcinoma. Bleeding is seen.", "Adenocarcinoma was found."
    assert number(measure.between(first, second)) == pytest.approx(1 - 1 / np.sqrt(2), abs=1e-6)
    assert number(measure.between("Adenocarcinoma.", "Polyp.")) == 1.0


def test_each_distance_says_itself_and_its_models(measures: dict[str, Distance]) -> None:
    told = {name: measure.identity for name, measure in measures.items()}
    assert all(line.startswith(name) for name, line in told.items())
    assert "reader=" in told["concordance"]
    assert "model=nli" in told["nli"]
    other = open_distance("concordance", aligner=LexicalAligner())
    assert other.identity != told["concordance"]


def test_an_unknown_distance_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingError, match="concordance, nli, embedding"):
        open_distance("bleu")
