"""Pairs that were written by hand for training, in the words of reports."""

from __future__ import annotations

import random

from histoeval.nli.entailer import Label
from histoeval.train.nli.synthetic.diagnoses import ABOUT
from histoeval.train.nli.synthetic.topics import TopicPair, topics
from histoeval.train.nli.synthetic.wordings import Part, is_held_out, table

_TURNED = 0.3
"""Share of contradictions with premise and hypothesis exchanged: they contradict either way."""
_EVERYTHING = ABOUT | {topic.name for topic in topics()} | {"nodes", "marker", "gene"}
"""A written premise may be about anything, so that only words without weight go with it."""


def draw_written(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """A written premise with one of its hypotheses; a fifth of the premises is for development."""
    row = chance.choice(table("written")["written"])
    if part != "all" and is_held_out(row["premise"]) != (part == "dev"):
        return None
    pair = row["premise"], chance.choice(row[label])
    turned = label == "contradiction" and chance.random() < _TURNED
    premise, hypothesis = (_bare(text) for text in (pair[::-1] if turned else pair))
    return TopicPair(premise, hypothesis, label, "written", frozenset(_EVERYTHING))


def _bare(text: str) -> str:
    """A sentence without its end, which is put there again."""
    return text.removesuffix(".")
