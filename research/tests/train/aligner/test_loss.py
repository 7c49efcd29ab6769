"""The multi-similarity loss with mined pairs, against a slow restatement by triplets."""

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from histoeval_research.train.aligner.train import multi_similarity

pytestmark = pytest.mark.heavy


def vectors(rows: int, seed: int) -> list[list[float]]:
    drawn = torch.randn(rows, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    found: list[list[float]] = torch.nn.functional.normalize(drawn, dim=-1).tolist()
    return found


def slow(
    rows: list[list[float]],
    labels: list[int],
    neither: set[tuple[int, int]] = frozenset(),  # type: ignore[assignment]
    margin: float = 0.2,
    base: float = 0.5,
) -> float:
    """All triplets one by one; a pair counts if it is part of one that is not yet told apart."""
    size = len(rows)
    alike = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in rows] for x in rows]
    far = [[math.dist(x, y) for y in rows] for x in rows]
    positives: set[tuple[int, int]] = set()
    negatives: set[tuple[int, int]] = set()
    for a in range(size):
        for p in range(size):
            for n in range(size):
                if p == a or labels[p] != labels[a] or labels[n] == labels[a]:
                    continue
                if (a, n) in neither:
                    continue
                if far[a][n] - far[a][p] <= margin:
                    positives.add((a, p))
                    negatives.add((a, n))
    total = 0.0
    for a in range(size):
        pull = sum(math.exp(-1 * (alike[a][p] - base)) for x, p in positives if x == a)
        push = sum(math.exp(60 * (alike[a][n] - base)) for x, n in negatives if x == a)
        total += math.log(1 + pull) + math.log(1 + push) / 60
    return total / size


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "given", [{"margin": 0.0}, {"margin": 0.2}, {"margin": 1.0}, {"base": 0.2}]
)
def test_it_is_what_triplets_one_by_one_give(seed: int, given: Any) -> None:
    rows, labels = vectors(12, seed), [0, 0, 1, 1, 1, 2, 2, 3, 4, 4, 5, 5]
    found = multi_similarity(torch.tensor(rows), torch.tensor(labels), **given)
    assert float(found) == pytest.approx(slow(rows, labels, **given), rel=1e-6)


def test_pairs_that_are_neither_are_not_learned_from() -> None:
    rows, labels = vectors(6, 1), [0, 0, 1, 1, 2, 2]
    rows[2] = rows[0]
    pairs = {(0, 2), (2, 0), (1, 4), (4, 1)}
    neither = torch.zeros(6, 6, dtype=torch.bool)
    for one, other in pairs:
        neither[one, other] = True
    found = multi_similarity(torch.tensor(rows), torch.tensor(labels), neither)
    assert float(found) == pytest.approx(slow(rows, labels, pairs), rel=1e-6)
    assert float(found) != pytest.approx(slow(rows, labels), rel=1e-6)


def test_what_is_told_apart_costs_nothing_and_gives_no_gradient() -> None:
    apart = torch.eye(3, dtype=torch.float64).repeat_interleave(2, dim=0).requires_grad_()
    loss = multi_similarity(apart, torch.tensor([0, 0, 1, 1, 2, 2]))
    loss.backward()
    assert loss.item() == 0.0
    assert torch.equal(apart.grad, torch.zeros_like(apart))
