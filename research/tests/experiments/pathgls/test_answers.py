"""What a model is taken to answer under stain and attack, and how far those texts are apart."""

from __future__ import annotations

import pytest

from histoeval.errors import Problem
from histoeval_research.experiments.edits.registry import perturb
from histoeval_research.experiments.measures import PerturbedRow
from histoeval_research.experiments.pathgls.answers import (
    ATTACKS,
    ByAssumedAnswers,
    MemoDistance,
    assumptions,
)
from tests.support.edited_reports import MALIGNANT, HandReader, read


class SharedWords:
    """1 less the share of words that two texts have in common; counts what it is asked."""

    identity = "shared words"

    def __init__(self) -> None:
        self.asked = 0

    def between(self, first: str, second: str) -> float | Problem:
        self.asked += 1
        one, other = set(first.split()), set(second.split())
        return 1 - len(one & other) / len(one | other)

    def changed(self, first: str, second: str) -> tuple[str, ...]:
        return ("something",)


def versions() -> list[PerturbedRow]:
    made, _ = perturb(read(MALIGNANT), "c")
    return [
        PerturbedRow(
            id=f"c/{each.edit}",
            case="c",
            group=each.group,
            edit=each.edit,
            level=each.level,
            report=each.text,
            reference=MALIGNANT,
        )
        for each in made
    ]


def by(name: str, seed: int = 0, distance: SharedWords | None = None) -> ByAssumedAnswers:
    (assumption,) = (each for each in assumptions() if each.name == name)
    return ByAssumedAnswers(assumption, versions(), HandReader(), distance or SharedWords(), seed)


def test_answers_that_are_true_make_stability_the_distance_to_the_truth() -> None:
    rows = versions()
    found = by("truth").measure(rows)
    distance = SharedWords()
    for row, value in zip(rows, found, strict=True):
        far = distance.between(row.report or "", MALIGNANT)
        assert not isinstance(far, Problem)
        assert value == pytest.approx(1 - far)


def test_a_model_that_repeats_itself_keeps_its_error() -> None:
    wrong = next(row for row in versions() if row.edit != "control" and row.level >= 4)
    model, words = by("repeats"), SharedWords()
    for attack in ATTACKS:
        answer = model.answer(wrong, attack)
        kept, mended = (words.between(answer, text) for text in (wrong.report or "", MALIGNANT))
        assert not isinstance(kept, Problem)
        assert not isinstance(mended, Problem)
        assert kept < mended


def test_drawn_answers_are_versions_of_the_case_and_do_not_follow_the_level() -> None:
    rows = versions()
    texts = {row.report for row in rows}
    answers = {by("redrawn", seed).answer(rows[0], "stain") for seed in range(40)}
    assert answers <= texts
    assert MALIGNANT in answers
    assert len(answers) > 2


def test_answers_are_the_same_for_the_same_seed() -> None:
    rows = versions()
    assert by("redrawn", 3).measure(rows) == by("redrawn", 3).measure(rows)


def test_no_two_texts_are_measured_twice() -> None:
    plain = SharedWords()
    memo = MemoDistance(plain)
    assert memo.between("a b", "b c") == memo.between("b c", "a b")
    assert plain.asked == 1
    assert memo.changed("a", "b") == ()


def test_the_signature_names_assumption_seed_and_distance() -> None:
    assert "answers=redrawn,seed=7|shared words" in by("redrawn", 7).signature
