"""Reading as the published HARE code reads, defects included.

Only for matching published numbers. What it does differently from
`HuggingFaceReader`, each point as released: the text is cut into chunks of 450 token ids and
decoded back; offsets found in a chunk are applied to the whole text; every ordered pair of
entities is put to the relation model, whatever the types; when the tail stands before the head,
a stretch of the text is written twice. The arithmetic is kept, the waste is not: passes are
batched and padded to their batch only.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import permutations
from typing import Any, NamedTuple

from histoeval.errors import ModelError, SettingError
from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.reader.tagging import softmax
from histoeval.runtime.memo import Memory

CHUNK_TOKENS = 450
RELATION_TOKENS = 512
RELATED = 1
_PAIRS_AT_ONCE = 4096
# where a report is refused: its entities squared would keep a GPU busy for hours
MOST_PASSES = 200_000


class ChunkEntity(NamedTuple):
    """A word as the pipeline gives it, with offsets into its decoded chunk."""

    word: str
    start: int
    end: int
    score: float


class UpstreamReading(NamedTuple):
    entities: tuple[ChunkEntity, ...]
    relations: tuple[tuple[str, str, float], ...]


class UpstreamReader:
    """The published reading, on the models that a Hugging Face reader has loaded."""

    def __init__(self, reader: object) -> None:
        if not isinstance(reader, HuggingFaceReader) or reader.relater is None:
            raise SettingError(
                "mode=upstream repeats the published code, which runs two Hugging Face models: "
                "name them with --reader and --relations (or 'hare' for the published ones)"
            )
        self._tagger = reader.tagger
        self._relater = reader.relater
        self._cached = Memory(self._read)

    def read(self, texts: Sequence[str]) -> list[UpstreamReading]:
        return self._cached(texts)

    def _read(self, texts: Sequence[str]) -> list[UpstreamReading]:
        entities = [self._entities(text) for text in texts]
        relations = self._relations(texts, entities)
        rows = zip(entities, relations, strict=True)
        return [UpstreamReading(tuple(words), tuple(pairs)) for words, pairs in rows]

    @cached_property
    def _pipeline(self) -> Any:
        import transformers

        return transformers.TokenClassificationPipeline(
            model=self._tagger.model,
            tokenizer=self._tagger.tokenizer,
            aggregation_strategy="average",
            device=self._tagger.device,
        )

    def _entities(self, text: str) -> list[ChunkEntity]:
        tokenizer = self._tagger.tokenizer
        ids = tokenizer.encode(text, verbose=False)
        entities = []
        for first in range(0, len(ids), CHUNK_TOKENS):
            # said here: the library that the published code pins does so by default, later ones not
            chunk = tokenizer.decode(
                ids[first : first + CHUNK_TOKENS],
                skip_special_tokens=True,
                clean_up_tokenization_spaces=True,
            )
            for word in self._pipeline(chunk) if chunk.strip() else ():
                span = word["start"], word["end"]
                entities.append(ChunkEntity(word["word"], *span, float(word["score"])))
        return entities

    def _relations(
        self, texts: Sequence[str], entities: Sequence[Sequence[ChunkEntity]]
    ) -> list[list[tuple[str, str, float]]]:
        for words in entities:
            if (passes := len(words) * (len(words) - 1)) > MOST_PASSES:
                raise ModelError(
                    f"a report with {len(words)} entities needs {passes:,} passes of the relation "
                    f"model in upstream mode, more than {MOST_PASSES:,}; use mode=paper"
                )
        pairs = [
            (number, head, tail)
            for number, words in enumerate(entities)
            for head, tail in permutations(words, 2)
        ]
        related: list[list[tuple[str, str, float]]] = [[] for _ in texts]
        for first in range(0, len(pairs), _PAIRS_AT_ONCE):
            chunk = pairs[first : first + _PAIRS_AT_ONCE]
            marked = [
                marked_as_published(texts[number], head, tail) for number, head, tail in chunk
            ]
            tokens = self._relater.tokenizer(marked, truncation=True, max_length=RELATION_TOKENS)
            logits = self._relater.forward(tokens["input_ids"], lambda output: output.logits)
            for (number, head, tail), scores in zip(chunk, logits, strict=True):
                probabilities = softmax(scores)
                if int(probabilities.argmax()) == RELATED:
                    related[number].append((head.word, tail.word, float(probabilities[RELATED])))
        return related


def marked_as_published(text: str, head: ChunkEntity, tail: ChunkEntity) -> str:
    """The published marking: right when the head comes first, a duplicated stretch otherwise."""
    return (
        f"{text[: head.start]}[E1]{text[head.start : head.end]}[/E1]"
        f"{text[head.end : tail.start]}[E2]{text[tail.start : tail.end]}[/E2]"
        f"{text[tail.end :]}"
    )
