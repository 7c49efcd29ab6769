"""Neural metrics: batch size and order change no score beyond 1e-5, and no ranking."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import histoeval
from tests.support.report_words import make_report

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy

METRICS = [
    "hare",
    "hare:mode=paper",
    "hare:mode=upstream",
    "bertscore",
    "reg2025",
    "reg2025:mode=literal",
]


def records(count: int = 30) -> list[dict[str, str]]:
    source = random.Random(3)
    drawn = []
    for number in range(count):
        reference = make_report(source, source.randint(2, 30))
        words = reference.split()
        candidate = " ".join(words[: source.randint(1, len(words))])
        extra = make_report(source, 10) if number % 3 else ""
        drawn.append({"id": str(number), "reference": reference, "candidate": candidate + extra})
    return drawn


def run(
    rows: list[dict[str, str]], folders: ModelFolders, batch_size: int
) -> dict[str, dict[str, float]]:
    models = histoeval.Models(
        reader=str(folders.entities),
        relations=str(folders.relations),
        aligner=str(folders.aligner),
        encoder=str(folders.aligner),
        device="cpu",
    )
    results = histoeval.score(rows, metrics=METRICS, models=models, batch_size=batch_size)
    assert not results.summary["errors"]
    return {row.id: {name: s.value for name, s in row.scores.items()} for row in results.rows}


@pytest.fixture(scope="module")
def alone(tiny_models: ModelFolders) -> dict[str, dict[str, float]]:
    return run(records(), tiny_models, 1)


@pytest.mark.parametrize("batch_size", [7, 64])
def test_scores_do_not_depend_on_batch_size_or_order(
    tiny_models: ModelFolders, alone: dict[str, dict[str, float]], batch_size: int
) -> None:
    rows = records()
    random.Random(batch_size).shuffle(rows)
    shuffled = run(rows, tiny_models, batch_size)
    for name in METRICS:
        for id_ in alone:
            assert shuffled[id_][name] == pytest.approx(alone[id_][name], abs=1e-5)
        spread = {round(scores[name], 4) for scores in alone.values()}
        assert len(spread) > 10, f"{name} hardly varies, so this would prove nothing"


def test_two_runs_of_the_same_are_bit_for_bit_equal(
    tiny_models: ModelFolders, alone: dict[str, dict[str, float]]
) -> None:
    assert run(records(), tiny_models, 1) == alone
