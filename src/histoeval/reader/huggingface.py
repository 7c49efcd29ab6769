"""Reads reports with the published HARE models, or with any of their kind.

Entities come from a token-classification model; relations from a two-label sequence classifier
that is shown the window with [E1]head[/E1] and [E2]tail[/E2] marked. The paper's scheme, without
its waste: every distinct window is read once, and a pair of entities is put to the relation model
once, and only when its types can be related and one window holds both.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from histoeval.errors import ModelError
from histoeval.reader.tagging import (
    TaggedText,
    entities_of,
    mark,
    read_tags,
    relation_label,
    softmax,
)
from histoeval.reader.windowed import Window, windows, within
from histoeval.report import (
    HARE_RELATION_TYPES,
    RELATION_TYPES,
    Entity,
    EntityType,
    Relation,
    Report,
)
from histoeval.runtime.memo import Memory
from histoeval.runtime.threads import in_order
from histoeval.runtime.transformer import THIS_MACHINE, Runtime, Transformer, Vectors

HARE_NER = "knowlab-research/HARE-NER"
HARE_RELATIONS = "knowlab-research/HARE-RE"
# where the configuration of a relation model says between which types it looks
RELATIONS_LEARNED = "histoeval_relations"
_OVERLAP = 96
_WORDS_CUT = 16
_CANDIDATES_AT_ONCE = 4096
_CANDIDATES_ON_GPU = 1024  # tokenised at once: a GPU runs those before meanwhile


class _Candidate(NamedTuple):
    report: int
    head: int
    tail: int
    text: str
    window: Window
    spans: tuple[tuple[int, int], tuple[int, int]]

    def marked(self) -> str:
        start = self.window.start
        head, tail = ((first - start, last - start) for first, last in self.spans)
        return mark(self.window.of(self.text), head, tail)


class HuggingFaceReader:
    """A token-classification model and, if wanted, a relation model, from hub names or folders.

    Pairs of these types are put to the relation model: those that it says it has learned, where
    none are named, or else those of the paper.
    """

    def __init__(
        self,
        entities: str | Path = HARE_NER,
        relations: str | Path | None = HARE_RELATIONS,
        *,
        labels: Mapping[str, str | None] | None = None,
        relation_types: Collection[tuple[EntityType, EntityType]] | None = None,
        runtime: Runtime = THIS_MACHINE,
    ) -> None:
        self.tagger = Transformer(entities, "token-classification", runtime)
        self.tags = read_tags(_label_names(self.tagger), labels)
        self.relater: Transformer | None = None
        if relations is not None:
            self.relater = Transformer(relations, "sequence-classification", runtime)
            self.related = relation_label(_label_names(self.relater), labels)
        self._models = [model for model in (self.tagger, self.relater) if model is not None]
        self.reads_relations = self.relater is not None
        self.on_gpu, self.dtype = self.tagger.on_gpu, self.tagger.dtype
        tokenizers = {m.tokenizer.backend_tokenizer.to_str() for m in self._models}
        self._has_one_tokenizer = len(tokenizers) == 1
        self.relation_types = frozenset(relation_types or _learned_types(self.relater))
        self._cached = Memory(self._read, most=5_000)

    @property
    def identity(self) -> str:
        models = "+".join(model.identity for model in self._models)
        meaning = f"{self.tags}{sorted(self.relation_types)}{getattr(self, 'related', '')}"
        return f"{models}/labels@{hashlib.sha256(meaning.encode()).hexdigest()[:6]}"

    def read(self, texts: Sequence[str]) -> list[Report]:
        return self._cached(texts)

    def _read(self, texts: Sequence[str]) -> list[Report]:
        cut, encoded = self._cut(texts)
        entities = self._entities(texts, cut, encoded)
        candidates = [
            candidate
            for number, text in enumerate(texts)
            for candidate in self._candidates(number, text, cut[number], entities[number])
        ]
        relations: dict[int, list[Relation]] = defaultdict(list)
        probabilities = self._probabilities(candidates).tolist()
        for candidate, probability in zip(candidates, probabilities, strict=True):
            if probability > 0.5:
                score = min(1.0, probability)
                relation = Relation(head=candidate.head, tail=candidate.tail, score=score)
                relations[candidate.report].append(relation)
        return [
            Report(
                text=text,
                entities=tuple(report_entities),
                relations=tuple(relations.get(number, ())),
            )
            for number, (text, report_entities) in enumerate(zip(texts, entities, strict=True))
        ]

    def _cut(self, texts: Sequence[str]) -> tuple[list[list[Window]], list[list[Any]]]:
        """Windows that both models take whole, markers included, each as the tagger's tokens."""
        most = min(model.most_tokens for model in self._models)
        if self.relater is None:
            most -= 2
        else:  # markers and special tokens, and the parts of words that markers cut in two
            markers = " [E1] [/E1] [E2] [/E2] "
            most -= len(self.relater.tokenizer.encode(markers)) + _WORDS_CUT
        text_encodings = self.tagger.encodings(texts)
        sizes = [encoding.special_tokens_mask.count(0) for encoding in text_encodings]
        if self.relater is not None and not self._has_one_tokenizer:
            encodings = self.relater.encodings(texts, special=False)
            sizes = [
                max(size, len(encoding.ids))
                for size, encoding in zip(sizes, encodings, strict=True)
            ]
        cut: list[list[Window]] = []
        encoded: list[list[Any]] = []
        for text, size, encoding in zip(texts, sizes, text_encodings, strict=True):
            if size <= most and text.strip():
                cut.append([Window(0, len(text), 0, len(text))])
                encoded.append([encoding])
                continue
            cut.append(windows(text, self._measure, most, min(_OVERLAP, most // 4)))
            parts = [window.of(text) for window in cut[-1]]
            limit = self.tagger.most_tokens
            encoded.append(self.tagger.encodings(parts, most=limit) if parts else [])
        return cut, encoded

    def _measure(self, fragment: str) -> int:
        """The most tokens that a model makes of a fragment."""
        encodings = (model.encodings([fragment], special=False) for model in self._models)
        return max(len(encoding.ids) for (encoding,) in encodings)

    def _entities(
        self, texts: Sequence[str], cut: list[list[Window]], encoded: list[list[Any]]
    ) -> list[list[Entity]]:
        cut_windows = [(n, window) for n, text_windows in enumerate(cut) for window in text_windows]
        flat = [encoding for text_encodings in encoded for encoding in text_encodings]
        logits = self.tagger.forward([e.ids for e in flat], lambda output: output.logits)
        tagged = [
            TaggedText(window.of(texts[n]), encoding.offsets, encoding.word_ids)
            for (n, window), encoding in zip(cut_windows, flat, strict=True)
        ]
        read = entities_of(tagged, softmax(np.concatenate(logits)), self.tags) if flat else []
        entities_by_text: list[list[Entity]] = [[] for _ in texts]
        for (n, window), entities in zip(cut_windows, read, strict=True):
            for entity in entities:
                start = entity.start + window.start
                covered = entities_by_text[n][-1].end if entities_by_text[n] else 0
                if window.own_start <= start < window.own_end and start >= covered:
                    span = {"start": start, "end": entity.end + window.start}
                    entities_by_text[n].append(
                        entity.model_copy(update=span) if window.start else entity
                    )
        return entities_by_text

    def _candidates(
        self, number: int, text: str, cut: list[Window], entities: list[Entity]
    ) -> list[_Candidate]:
        """Each pair of entities that can be related, once, in the window that shows it best."""
        if self.relater is None:
            return []
        best_windows: dict[tuple[int, int], Window] = {}
        for window in cut:
            inside = within(entities, window)
            for h, t in product(inside, inside):
                head, tail = entities[h], entities[t]
                if (head.type, tail.type) not in self.relation_types:
                    continue
                if (h, t) not in best_windows or window.own_start <= head.start < window.own_end:
                    best_windows[h, t] = window
        spans = [(entity.start, entity.end) for entity in entities]
        return [
            _Candidate(number, h, t, text, window, (spans[h], spans[t]))
            for (h, t), window in best_windows.items()
        ]

    def _probabilities(self, candidates: list[_Candidate]) -> Vectors:
        if not candidates:
            return np.zeros(0, dtype=np.float32)
        assert self.relater is not None, "candidates are only made for a relation model"
        at_once = _CANDIDATES_ON_GPU if self.relater.on_gpu else _CANDIDATES_AT_ONCE
        batches = [candidates[n : n + at_once] for n in range(0, len(candidates), at_once)]
        tokenise = partial(_marked_tokens, self.relater)
        chunks = (
            in_order(tokenise, batches, workers=1)
            if self.relater.on_gpu
            else map(tokenise, batches)
        )
        logits = self.relater.forward_chunks(chunks, lambda output: output.logits)
        return softmax(np.stack(logits))[:, self.related]


def _marked_tokens(relater: Transformer, candidates: Sequence[_Candidate]) -> list[list[int]]:
    """Tokenize the window of each candidate, with both entities marked."""
    encoded = relater.encodings([candidate.marked() for candidate in candidates])
    sequences: list[list[int]] = [encoding.ids for encoding in encoded]
    if (longest := max(map(len, sequences))) > relater.most_tokens:
        raise ModelError(
            f"{relater.name} takes {relater.most_tokens} tokens, and a window with its markers "
            f"has {longest}"
        )
    return sequences


def _label_names(model: Transformer) -> list[str]:
    names = model.model.config.id2label
    return [str(names[i]) for i in range(len(names))]


def _learned_types(relater: Transformer | None) -> Collection[tuple[EntityType, EntityType]]:
    named = relater and getattr(relater.model.config, RELATIONS_LEARNED, None)
    if not named:
        return HARE_RELATION_TYPES
    return [pair for pair in RELATION_TYPES if "-".join(pair) in named]
