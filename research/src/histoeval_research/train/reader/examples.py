"""Texts as the numbers that the joint reader is trained on, from people and from teachers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import InputError
from histoeval.reader.links import Integers, Mention, candidates
from histoeval.reader.tagging import ASSERTED, ASSERTIONS, TokenSpan, tags_of
from histoeval.reader.windowed import Window, windows
from histoeval.report import Report
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.train.core.encoder import TorchEncoder
from histoeval_research.train.hare_bench.bench import IGNORE_INDEX

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.floating[Any]]

OVERLAP = 64  # tokens that the windows of a long annotated passage share


@dataclass(slots=True)
class ReaderExample:
    """One text: its tokens, what they should be tagged as, and which pairs are related."""

    # What should be learned is a number per token or a share per tag: shares come from a teacher,
    # who is not sure.

    tokens: Integers
    tags: Integers
    tag_shares: Floats | None
    assertion_shares: Floats
    spans: Integers
    pairs: Integers
    kinds: Integers
    codes: Integers
    related: Floats


def gold_examples(
    passages: Sequence[AnnotatedPassage], encoder: TorchEncoder
) -> list[ReaderExample]:
    limit = encoder.most_tokens - encoder.fast.num_special_tokens_to_add(False)
    examples = []
    for passage in passages:

        @cache
        def measure(fragment: str) -> int:
            return len(encoder.fast.encode(fragment, add_special_tokens=False).ids)

        for window in windows(passage.text, measure, limit, min(OVERLAP, limit // 4)):
            part = part_of(passage.content, window)
            examples.append(annotated(part, encoder.fast.encode(part.text)))
    if not examples:
        raise InputError("the annotated passages have no text to learn from")
    return examples


def part_of(report: Report, window: Window) -> Report:
    places = [
        place
        for place, entity in enumerate(report.entities)
        if window.start <= entity.start and entity.end <= window.end
    ]
    return _with_entities(report, places, window.of(report.text), window.start)


def _with_entities(report: Report, places: Sequence[int], text: str, offset: int = 0) -> Report:
    new = {old: place for place, old in enumerate(places)}
    entities = [
        entity.model_copy(update={"start": entity.start - offset, "end": entity.end - offset})
        for entity in (report.entities[place] for place in places)
    ]
    relations = [
        relation.model_copy(update={"head": new[relation.head], "tail": new[relation.tail]})
        for relation in report.relations
        if relation.head in new and relation.tail in new
    ]
    return Report(text=text, entities=tuple(entities), relations=tuple(relations))


def annotated(report: Report, encoding: Any) -> ReaderExample:
    """An example of what a person has read in a text; `encoding` is that of its tokens."""
    # An entity whose border lies inside a token is widened to it; one that no token touches (a
    # character that the tokenizer drops) is skipped, with its relations.
    firsts, lasts = np.array(encoding.offsets).reshape(-1, 2).T
    is_filled = lasts > firsts
    touched = [
        np.flatnonzero(is_filled & (lasts > entity.start) & (firsts < entity.end))
        for entity in report.entities
    ]
    places = [place for place, tokens in enumerate(touched) if len(tokens)]
    report = _with_entities(report, places, report.text)
    spans = [
        TokenSpan(int(touched[place][0]), int(touched[place][-1]), entity.type)
        for place, entity in zip(places, report.entities, strict=True)
    ]
    example = linkable(report, spans, encoding.ids)
    for (first, last, kind), entity in zip(spans, report.entities, strict=True):
        if kind in ASSERTED:
            example.assertion_shares[first : last + 1, ASSERTIONS.index(entity.assertion)] = 1
    links = {(relation.head, relation.tail) for relation in report.relations}
    related = [(int(head), int(tail)) in links for head, tail in example.pairs]
    example.related = np.array(related, dtype=np.float32)
    return example


def linkable(report: Report, spans: list[TokenSpan], tokens: Sequence[int]) -> ReaderExample:
    """A text with its entities and the pairs of them that could be related, none of it judged."""
    links = candidates(
        report.text, [Mention(entity.start, entity.end, entity.type) for entity in report.entities]
    )
    return ReaderExample(
        tokens=np.array(tokens, dtype=np.int64),
        tags=np.array(tags_of(spans, len(tokens)), dtype=np.int64),
        tag_shares=None,
        assertion_shares=np.zeros((len(tokens), len(ASSERTIONS)), dtype=np.float32),
        spans=np.array([span[:2] for span in spans], dtype=np.int64).reshape(-1, 2),
        pairs=links.pairs,
        kinds=links.kinds,
        codes=links.codes,
        related=np.zeros(len(links.pairs), dtype=np.float32),
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
    import torch

    width = max(len(example.tokens) for example in examples)
    places = np.cumsum([0, *(len(example.spans) for example in examples)])

    def tensor(array: NDArray[Any]) -> torch.Tensor:
        """On the device, without waiting until it is there."""
        return torch.from_numpy(array).to(device, non_blocking=True)

    def joined(arrays: Iterable[NDArray[Any]]) -> torch.Tensor:
        return tensor(np.concatenate(list(arrays)))

    def padded(arrays: Iterable[NDArray[Any]], fill: int) -> torch.Tensor:
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
        entities=joined(np.insert(e.spans, 0, row, axis=1) for row, e in enumerate(examples)),
        pairs=joined(e.pairs + place for e, place in zip(examples, places, strict=False)),
        kinds=joined(e.kinds for e in examples),
        codes=joined(e.codes for e in examples),
        related=joined(e.related.astype(np.float32) for e in examples),
    )


# Each array of an example: of what it has a row each, and the smallest numbers that hold it.
_STORED = {
    "tokens": ("token", np.int32),
    "tags": ("token", np.int8),
    "tag_shares": ("token", np.float16),
    "assertion_shares": ("token", np.float16),
    "spans": ("span", np.int16),
    "pairs": ("pair", np.int16),
    "kinds": ("pair", np.int8),
    "codes": ("pair", np.int8),
    "related": ("pair", np.float16),
}


def save_examples(path: Path, examples: Sequence[ReaderExample]) -> None:
    """Write all examples to one file, whole or not at all; each must have shares of tags."""
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(example, name) for example in examples]).astype(kind)
        for name, (_, kind) in _STORED.items()
    }
    for name in ("token", "span", "pair"):
        lengths = [len(getattr(example, f"{name}s")) for example in examples]
        arrays[f"{name}_counts"] = np.array(lengths)
    draft = path.with_name(f"{path.name}.part")
    with draft.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    draft.replace(path)


def load_examples(path: Path) -> list[ReaderExample]:
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    parts = []
    for name, (row, _) in _STORED.items():
        is_narrow = arrays[name].dtype.kind == "i" and name != "codes"
        array = arrays[name].astype(np.int64) if is_narrow else arrays[name]
        parts.append(np.split(array, np.cumsum(arrays[f"{row}_counts"])[:-1]))
    return [
        ReaderExample(**dict(zip(_STORED, some, strict=True))) for some in zip(*parts, strict=True)
    ]
