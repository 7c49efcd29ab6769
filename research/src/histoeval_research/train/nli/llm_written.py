"""Pairs written by eleven language models, one by one: the nearest there is to reports.

The models were instructed what to vary and saw neither code nor tests. No network learns from the
pairs of two of them: the re-ranker is fitted on these.
"""

import json
import random
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from histoeval.nli.entailer import LabelledPair
from histoeval.resources import resource_text
from histoeval_research.train.nli.synthetic.organs.pairs import styled, with_company

FILE = "histoeval_research/train/nli/data/llm_written.jsonl"
KEPT_BACK = frozenset({2, 8})
"""Language models whose pairs no network learns from."""

_TURNED = 0.35
"""Share of contradictions with premise and hypothesis exchanged: they contradict either way."""
_DRESSED = 0.35
"""Share of texts that are put in another style."""


class WriterPair(NamedTuple):
    """A pair and the number of the language model that wrote it."""

    writer: int
    pair: LabelledPair


@cache
def llm_written_pairs() -> tuple[WriterPair, ...]:
    """All pairs, writer by writer."""
    lines = resource_text(FILE).splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(WriterPair(row.pop("writer"), LabelledPair(**row)) for row in rows)


def kept_back_pairs() -> Iterator[LabelledPair]:
    """What no network learns from."""
    return (each.pair for each in llm_written_pairs() if each.writer in KEPT_BACK)


def llm_pairs(times: int, seed: int) -> Iterator[LabelledPair]:
    """The pairs that networks learn from, N times: first as written, then restyled."""
    chance = random.Random(f"{seed}/by hand")
    learned = [each.pair for each in llm_written_pairs() if each.writer not in KEPT_BACK]
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
