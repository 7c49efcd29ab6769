"""Pairs written one by one: who wrote them, which are learned from, and in which dress."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from histoeval.nli.entailer import LABELS
from histoeval_research.train.nli.pairs import (
    KEPT_BACK,
    kept_back_pairs,
    llm_pairs,
    llm_written_pairs,
)
from histoeval_research.train.nli.reranker import unlearned_pairs


def test_every_writer_wrote_all_three_labels_and_nothing_twice() -> None:
    written = llm_written_pairs()
    assert len({(pair.premise, pair.hypothesis) for _, pair in written}) == len(written) > 4000
    counts = Counter((writer, pair.label) for writer, pair in written)
    assert all(counts[writer, label] > 100 for writer, _ in counts for label in LABELS)


def test_what_is_kept_back_is_learned_from_in_no_dress() -> None:
    kept_back = [pair for writer, pair in llm_written_pairs() if writer in KEPT_BACK]
    assert list(kept_back_pairs()) == kept_back
    learned = {pair.hypothesis for pair in llm_pairs(1, seed=1)}
    premises = {pair.premise for pair in llm_pairs(1, seed=1)}
    alone = [p for p in kept_back if p.hypothesis not in learned and p.premise not in premises]
    assert len(alone) > 0.95 * len(kept_back)


def test_the_second_opinion_is_fitted_on_what_is_kept_back() -> None:
    fitted = {(premise, hypothesis) for premise, hypothesis, _ in unlearned_pairs()}
    assert {(pair.premise, pair.hypothesis) for pair in kept_back_pairs()} <= fitted
    assert not fitted & {(pair.premise, pair.hypothesis) for pair in llm_pairs(1, seed=1)}


def test_first_as_written_then_in_other_dress_and_the_label_stays() -> None:
    count = sum(writer not in KEPT_BACK for writer, _ in llm_written_pairs())
    first, second = list(llm_pairs(1, seed=3)), list(islice(llm_pairs(2, 3), count, None))
    assert len(first) == len(second) == count
    assert [pair.label for pair in first] == [pair.label for pair in second]
    assert 0.2 < sum(a != b for a, b in zip(first, second, strict=True)) / count < 0.9
    turned = [a.label for a, b in zip(first, second, strict=True) if a.premise == b.hypothesis]
    assert set(turned) == {"contradiction"}


def test_the_same_seed_gives_the_same_pairs_and_none_gives_none() -> None:
    assert list(llm_pairs(2, seed=5)) == list(llm_pairs(2, seed=5))
    assert list(llm_pairs(2, seed=5)) != list(llm_pairs(2, seed=6))
    assert list(llm_pairs(0, seed=5)) == []
