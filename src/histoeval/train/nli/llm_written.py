"""Pairs written one by one, by ten writers in words of their own: the nearest there is to reports.

The writers were language models that were told what to vary and saw neither code nor tests. No
network learns from what two of them wrote: the second opinion is fitted on it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from histoeval.nli.entailer import LabelledPair
from histoeval.resources import resource_text
from histoeval.train.nli.synthetic.organs.pairs import styled, with_company

FILE = "train/nli/data/llm_written.jsonl"
KEPT_BACK = frozenset({2, 8})
"""Writers whose pairs no network learns from."""

_TURNED = 0.35
"""Share of contradictions with premise and hypothesis exchanged: they contradict either way."""
_DRESSED = 0.35
"""Share of texts that are said in another style."""


class WriterPair(NamedTuple):
    """A pair and who wrote it."""

    writer: int
    pair: LabelledPair


@cache
def written_by_hand() -> tuple[WriterPair, ...]:
    """All pairs, writer by writer."""
    lines = resource_text(FILE).splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(WriterPair(row.pop("writer"), LabelledPair(**row)) for row in rows)


def kept_back_pairs() -> Iterator[LabelledPair]:
    """What no network learns from."""
    return (each.pair for each in written_by_hand() if each.writer in KEPT_BACK)


def pairs_by_hand(times: int, seed: int) -> Iterator[LabelledPair]:
    """What networks learn from, so many times: first as it was written, then in other dress."""
    chance = random.Random(f"{seed}/by hand")
    learned = [each.pair for each in written_by_hand() if each.writer not in KEPT_BACK]
    for time in range(times):
        yield from (_dressed(pair, chance) if time else pair for pair in learned)


def _dressed(pair: LabelledPair, chance: random.Random) -> LabelledPair:
    """The same pair turned round, among other sentences, or with other ends."""
    premise, hypothesis = pair.premise, pair.hypothesis
    if pair.label == "contradiction" and chance.random() < _TURNED:
        premise, hypothesis = hypothesis, premise
    if chance.random() < _DRESSED:
        premise = styled(with_company(premise.rstrip("."), chance), chance)
    if chance.random() < _DRESSED:
        hypothesis = styled(hypothesis.rstrip("."), chance)
    return pair.model_copy(update={"premise": premise, "hypothesis": hypothesis})
