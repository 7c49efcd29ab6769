"""`histoeval train relations`: the paper's relation model, a classifier of marked pairs.

It learns from all pairs that are related and from some of those that are not, and is given
the entities; only pairs whose types can be related are ever looked at, as the reader does.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from histoeval.errors import InputError
from histoeval.reader.tagging import mark, relation_label, softmax
from histoeval.reader.windowed import Window
from histoeval.report import HARE_RELATION_TYPES, RELATION_TYPES, Entity, EntityType
from histoeval.runtime.transformer import Runtime, Transformer
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.matches import Matches
from histoeval_research.train.core.loop import THIS_MACHINE, TrainingSite
from histoeval_research.train.hare_bench.bench import (
    ClassifierExample,
    UntrainedClassifier,
    scores_of,
    teach,
    windows_of,
)
from histoeval_research.train.hare_bench.config import RelationSettings

Kind = tuple[EntityType, EntityType]

LABELS = ("no_relation", "relation")
"""As positions: 0 for a pair that is not related, 1 for one that is."""

MARKERS = ("[E1]", "[/E1]", "[E2]", "[/E2]")
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


class RelationLesson:
    """What a relation model is taught, and how it is judged."""

    task = "relations"
    learned = "relations"

    def __init__(self, settings: RelationSettings) -> None:
        self.settings = settings
        self.kinds = RELATION_TYPES if settings.types == "all" else HARE_RELATION_TYPES
        self.beginning = UntrainedClassifier(
            settings.encoder,
            "sequence-classification",
            LABELS,
            settings.tokens,
            settings.seed,
            MARKERS,
            sorted("-".join(kind) for kind in self.kinds),
        )

    def examples(
        self, passages: Sequence[AnnotatedPassage], model: Transformer
    ) -> list[ClassifierExample]:
        """Related pairs and sampled others, as far as a window shows them."""
        pairs = [pair for pair in pairs_of(passages, model, self.kinds) if pair.tokens]
        if not any(pair.related for pair in pairs):
            raise InputError(f"{self.settings.train} has no relations of the types to be learned")
        chosen = sample(pairs, self.settings.negatives, f"{self.settings.seed}/train")
        return [
            ClassifierExample(pairs[place].tokens, int(pairs[place].related)) for place in chosen
        ]

    def judge(
        self, folder: Path, passages: Sequence[AnnotatedPassage], device: str | None
    ) -> tuple[int, dict[str, Any]]:
        """The scores on all pairs and on a sample of them, and the size of the sample."""
        model = Transformer(folder, "sequence-classification", Runtime(device, "float32"))
        pairs = pairs_of(passages, model, self.kinds)
        tested = sample(pairs, self.settings.test_negatives, f"{self.settings.seed}/dev")
        return len(tested), evaluate(model, pairs, tested)


def train_relations(
    settings: RelationSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train a relation model and write its folder; the results, at once if it is finished."""
    return teach(RelationLesson(settings), settings, output, site)


def pairs_of(
    passages: Sequence[AnnotatedPassage], model: Transformer, kinds: Collection[Kind]
) -> list[EntityPair]:
    """All pairs of some passages whose types can be related."""
    return [pair for passage in passages for pair in _pairs(passage, model, kinds)]


def _pairs(
    passage: AnnotatedPassage, model: Transformer, kinds: Collection[Kind]
) -> Iterator[EntityPair]:
    entities = passage.content.entities
    linked = {(relation.head, relation.tail) for relation in passage.content.relations}
    cut = windows_of(passage.text, model, len(MARKERS) + WORDS_CUT)
    for h, t in product(range(len(entities)), repeat=2):
        kind = entities[h].type, entities[t].type
        if kind in kinds:
            tokens = _tokens(passage.text, entities[h], entities[t], cut, model)
            yield EntityPair(kind, (h, t) in linked, tokens)


def _tokens(
    text: str, head: Entity, tail: Entity, cut: Sequence[Window], model: Transformer
) -> tuple[int, ...]:
    """The marked window that the reader would choose: the one that owns the head, if it can be."""
    first, last = min(head.start, tail.start), max(head.end, tail.end)
    showing = [window for window in cut if window.start <= first and last <= window.end]
    owning = [window for window in showing if window.own_start <= head.start < window.own_end]
    for window in [*owning, *showing][:1]:
        spans = [(e.start - window.start, e.end - window.start) for e in (head, tail)]
        marked = mark(text[window.start : window.end], *spans)
        tokens = model.tokenizer.encode(marked, verbose=False)
        if len(tokens) <= model.most_tokens:
            return tuple(tokens)
    return ()


def sample(pairs: Sequence[EntityPair], negatives: float, seed: str) -> list[int]:
    """Positions of all related pairs, and of so many others for each, or of all there are."""
    related = [place for place, pair in enumerate(pairs) if pair.related]
    others = [place for place, pair in enumerate(pairs) if not pair.related]
    wanted = min(len(others), round(negatives * len(related)))
    return sorted(related + random.Random(seed).sample(others, wanted))


def evaluate(
    model: Transformer, pairs: Sequence[EntityPair], tested: Sequence[int]
) -> dict[str, Any]:
    """Precision, recall and F1 of a model on all pairs, by type, and on those that are tested.

    A pair that no window shows is not related, to the reader. `sampled_micro` is the paper's
    number: over both labels, which is the share that is right.
    """
    related = relation_label([model.model.config.id2label[n] for n in range(len(LABELS))])
    shown = [pair.tokens for pair in pairs if pair.tokens]
    logits = iter(model.forward(shown, lambda output: output.logits))
    answers = [(pair, bool(pair.tokens and softmax(next(logits))[related] > 0.5)) for pair in pairs]
    some = [answers[place] for place in tested]
    kinds = sorted({pair.kind for pair in pairs})
    return {
        "sampled": _scored(some),
        "sampled_micro": sum(pair.related == answer for pair, answer in some) / max(1, len(some)),
        "all": _scored(answers),
        "types": {"-".join(k): _scored(a for a in answers if a[0].kind == k) for k in kinds},
    }


def _scored(answers: Iterable[tuple[EntityPair, bool]]) -> dict[str, float]:
    answers = list(answers)
    both = sum(pair.related and answer for pair, answer in answers)
    one, other = sum(pair.related for pair, _ in answers), sum(answer for _, answer in answers)
    return scores_of(Matches(one, other, both, both))
