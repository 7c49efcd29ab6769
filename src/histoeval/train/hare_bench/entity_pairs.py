"""Pairs of entities that a relation might link, marked in the window that shows both."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from histoeval.extract.tagging import mark
from histoeval.extract.windows import Window, windows
from histoeval.io.corpus import AnnotatedPassage
from histoeval.report import Entity, EntityType
from histoeval.runtime.transformer import Transformer

Kind = tuple[EntityType, EntityType]

MARKERS = ("[E1]", "[/E1]", "[E2]", "[/E2]")
OVERLAP = 96
WORDS_CUT = 16
"""Tokens that words may become more when a marker cuts them in two."""


@dataclass(frozen=True, slots=True)
class EntityPair:
    """Two entities of types that can be related, and whether they are.

    The tokens are those of the marked window; there are none where no window shows both.
    """

    kind: Kind
    related: bool
    tokens: tuple[int, ...]


def pairs_of(
    passages: Sequence[AnnotatedPassage], model: Transformer, kinds: Collection[Kind]
) -> list[EntityPair]:
    """All pairs of some passages whose types can be related."""
    return [pair for passage in passages for pair in _pairs(passage, model, kinds)]


def sample(pairs: Sequence[EntityPair], negatives: float, seed: str) -> list[int]:
    """Positions of all related pairs, and of so many others for each, or of all there are."""
    related = [place for place, pair in enumerate(pairs) if pair.related]
    others = [place for place, pair in enumerate(pairs) if not pair.related]
    wanted = min(len(others), round(negatives * len(related)))
    return sorted(related + random.Random(seed).sample(others, wanted))


def _pairs(
    passage: AnnotatedPassage, model: Transformer, kinds: Collection[Kind]
) -> Iterator[EntityPair]:
    entities = passage.content.entities
    linked = {(relation.head, relation.tail) for relation in passage.content.relations}
    cut = _windows(passage.text, model)
    for h, t in product(range(len(entities)), repeat=2):
        head, tail = entities[h], entities[t]
        if (head.type, tail.type) in kinds:
            tokens = _tokens(passage.text, head, tail, cut, model)
            yield EntityPair((head.type, tail.type), (h, t) in linked, tokens)


def _tokens(
    text: str, head: Entity, tail: Entity, cut: Sequence[Window], model: Transformer
) -> tuple[int, ...]:
    """The marked window that the reader would choose: the one that owns the head, if it can be."""
    first, last = min(head.start, tail.start), max(head.end, tail.end)
    showing = [window for window in cut if window.start <= first and last <= window.end]
    owning = [window for window in showing if window.own_start <= head.start < window.own_end]
    for window in [*owning, *showing][:1]:
        spans = [
            (entity.start - window.start, entity.end - window.start) for entity in (head, tail)
        ]
        tokens = model.tokenizer.encode(
            mark(text[window.start : window.end], *spans), verbose=False
        )
        if len(tokens) <= model.most_tokens:
            return tuple(tokens)
    return ()


def _windows(text: str, model: Transformer) -> list[Window]:
    """Windows with room for the markers."""
    tokenizer = model.tokenizer
    room = tokenizer.num_special_tokens_to_add() + len(MARKERS) + WORDS_CUT
    most = model.most_tokens - room

    def measure(fragment: str) -> int:
        """Tokens of a fragment, without those at its ends."""
        return len(tokenizer.encode(fragment, add_special_tokens=False, verbose=False))

    return windows(text, measure, most, min(OVERLAP, most // 4))
