"""Annotated passages as the numbers that the joint reader is trained on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from histoeval.reader.links import Integers, Mention, candidates
from histoeval.reader.tagging import ASSERTED, ASSERTIONS, TokenSpan, tags_of
from histoeval.report import Report
from histoeval_research.train.hare_bench.bench import IGNORE_INDEX

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.floating[Any]]


@dataclass(slots=True)
class ReaderExample:
    """One text: its tokens, what they should be tagged as, and which pairs are related.

    What should be learned is a number per token or a share per tag: shares come from a teacher,
    who is not sure.
    """

    tokens: Integers
    tags: Integers
    tag_shares: Floats | None
    assertion_shares: Floats
    spans: Integers
    pairs: Integers
    kinds: Integers
    codes: Integers
    related: Floats


def annotated(report: Report, encoding: Any) -> ReaderExample:
    """An example of what a person has read in a text; `encoding` is that of its tokens.

    An entity whose border lies inside a token is widened to it; one that no token touches (a
    character that the tokenizer drops) is skipped, with its relations.
    """
    report = _tokenized(report, encoding.offsets)
    spans = token_spans(report, encoding.offsets)
    assertions = np.zeros((len(encoding.ids), len(ASSERTIONS)), dtype=np.float32)
    for (first, last, kind), entity in zip(spans, report.entities, strict=True):
        if kind in ASSERTED:
            assertions[first : last + 1, ASSERTIONS.index(entity.assertion)] = 1
    links = {(relation.head, relation.tail) for relation in report.relations}
    example = linkable(report, spans, encoding.ids)
    example.assertion_shares = assertions
    example.related = np.array(
        [(int(head), int(tail)) in links for head, tail in example.pairs], dtype=np.float32
    )
    return example


def linkable(report: Report, spans: list[TokenSpan], tokens: Sequence[int]) -> ReaderExample:
    """A text with its entities and the pairs of them that could be related, none of it judged."""
    found = candidates(
        report.text, [Mention(entity.start, entity.end, entity.type) for entity in report.entities]
    )
    return ReaderExample(
        tokens=np.array(tokens, dtype=np.int64),
        tags=np.array(tags_of(spans, len(tokens)), dtype=np.int64),
        tag_shares=None,
        assertion_shares=np.zeros((len(tokens), len(ASSERTIONS)), dtype=np.float32),
        spans=np.array([span[:2] for span in spans], dtype=np.int64).reshape(-1, 2),
        pairs=found.pairs,
        kinds=found.kinds,
        codes=found.codes,
        related=np.zeros(len(found.pairs), dtype=np.float32),
    )


def token_spans(report: Report, offsets: Sequence[tuple[int, int]]) -> list[TokenSpan]:
    """The tokens that each entity touches; there must be one."""
    touched = _touched(report, offsets)
    return [
        TokenSpan(int(tokens[0]), int(tokens[-1]), entity.type)
        for tokens, entity in zip(touched, report.entities, strict=True)
    ]


def _touched(report: Report, offsets: Sequence[tuple[int, int]]) -> list[Integers]:
    firsts = np.array([first for first, _ in offsets])
    lasts = np.array([last for _, last in offsets])
    filled = lasts > firsts
    return [
        np.flatnonzero(filled & (lasts > entity.start) & (firsts < entity.end))
        for entity in report.entities
    ]


def _tokenized(report: Report, offsets: Sequence[tuple[int, int]]) -> Report:
    """The report with those entities that tokens stand for."""
    kept = [place for place, tokens in enumerate(_touched(report, offsets)) if len(tokens)]
    if len(kept) == len(report.entities):
        return report
    now = {place: number for number, place in enumerate(kept)}
    return Report(
        text=report.text,
        entities=tuple(report.entities[place] for place in kept),
        relations=tuple(
            relation.model_copy(update={"head": now[relation.head], "tail": now[relation.tail]})
            for relation in report.relations
            if relation.head in now and relation.tail in now
        ),
    )


@dataclass(slots=True)
class ReaderBatch:
    """Examples side by side, as tensors. Entities and pairs of all of them stand in one row."""

    tokens: torch.Tensor
    mask: torch.Tensor
    tags: torch.Tensor
    tag_shares: torch.Tensor | None
    assertion_shares: torch.Tensor
    entities: torch.Tensor
    pairs: torch.Tensor
    kinds: torch.Tensor
    codes: torch.Tensor
    related: torch.Tensor


def collate(examples: Sequence[ReaderExample], padding: int, device: str) -> ReaderBatch:
    """Put examples side by side, padded to the longest of them."""
    import torch

    width = max(len(example.tokens) for example in examples)
    places = np.cumsum([0, *(len(example.spans) for example in examples)])

    def tensor(array: NDArray[Any]) -> torch.Tensor:
        """On the device, without waiting until it is there."""
        return torch.from_numpy(array).to(device, non_blocking=True)

    def padded(arrays: Iterable[NDArray[Any]], fill: int) -> torch.Tensor:
        """Rows filled up to the longest example of the batch."""
        rows = list(arrays)
        whole = np.full((len(rows), width, *rows[0].shape[1:]), fill, dtype=rows[0].dtype)
        for row, array in zip(whole, rows, strict=True):
            row[: len(array)] = array
        return tensor(whole)

    shares = [e.tag_shares for e in examples if e.tag_shares is not None]
    return ReaderBatch(
        tokens=padded((e.tokens for e in examples), padding),
        mask=padded((np.ones(len(e.tokens), dtype=np.int64) for e in examples), 0),
        tags=padded((e.tags for e in examples), IGNORE_INDEX),
        tag_shares=padded(shares, 0) if len(shares) == len(examples) else None,
        assertion_shares=padded((e.assertion_shares for e in examples), 0),
        entities=tensor(
            np.concatenate([np.insert(e.spans, 0, row, axis=1) for row, e in enumerate(examples)])
        ),
        pairs=tensor(
            np.concatenate([e.pairs + place for e, place in zip(examples, places, strict=False)])
        ),
        kinds=tensor(np.concatenate([e.kinds for e in examples])),
        codes=tensor(np.concatenate([e.codes for e in examples])),
        related=tensor(np.concatenate([e.related for e in examples]).astype(np.float32)),
    )
