"""What joint readers make of texts, for teaching a smaller one and for checking, and as files.

Several readers answer as one: the mean of their probabilities.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histoeval.reader.tagging import ASSERTED, TokenSpan, best_path, spans_of
from histoeval.report import Entity, Report
from histoeval_research.train.reader.examples import ReaderBatch, ReaderExample, collate, linkable
from histoeval_research.train.reader.model import JointReader

AT_ONCE = 128
_LEAST = 1e-9


@torch.no_grad()  # type: ignore[untyped-decorator]
def label(
    models: Sequence[JointReader],
    texts: Sequence[str],
    encodings: Sequence[Any],
    padding: int,
    device: str,
) -> list[ReaderExample]:
    """Each text as an example of what the readers find in it, as sure as they are."""
    blank = [
        linkable(Report(text=text), [], encoding.ids)
        for text, encoding in zip(texts, encodings, strict=True)
    ]
    found: dict[int, ReaderExample] = {}
    for places in _by_length(blank):
        batch = collate([blank[i] for i in places], padding, device)
        passes = [_encode(model, batch) for model in models]
        tags = _mean([tags.softmax(-1) for _, tags, _ in passes])
        assertions = _mean([asserted.softmax(-1) for _, _, asserted in passes])
        some = [
            _example(texts[i], encodings[i], tags[row], assertions[row])
            for row, i in enumerate(places)
        ]
        linked = collate(some, padding, device)
        _share_out(some, [(m, p[0]) for m, p in zip(models, passes, strict=True)], linked)
        found |= zip(places, some, strict=True)
    return [found[i] for i in range(len(texts))]


@torch.no_grad()  # type: ignore[untyped-decorator]
def relate(
    models: Sequence[JointReader], examples: Sequence[ReaderExample], padding: int, device: str
) -> list[Any]:
    """How likely each pair of given entities is related, for each example."""
    found: dict[int, Any] = {}
    for places in _by_length(examples):
        batch = collate([examples[i] for i in places], padding, device)
        encoded = [(model, _encode(model, batch)[0]) for model in models]
        related = _relate(encoded, batch)
        counts = np.cumsum([len(examples[i].pairs) for i in places])[:-1]
        found |= zip(places, np.split(related, counts), strict=True)
    return [found[i] for i in range(len(examples))]


def _by_length(examples: Sequence[ReaderExample]) -> Iterator[list[int]]:
    order = sorted(range(len(examples)), key=lambda i: -len(examples[i].tokens))
    for first in range(0, len(order), AT_ONCE):
        yield order[first : first + AT_ONCE]


def _encode(model: JointReader, batch: ReaderBatch) -> tuple[Tensor, Tensor, Tensor]:
    model.eval()
    with torch.autocast(batch.tokens.device.type, torch.bfloat16, batch.tokens.is_cuda):
        encoded, tags, assertions = model(batch.tokens, batch.mask)
    return encoded, tags.float(), assertions.float()


def _mean(tensors: list[Tensor]) -> Any:
    return torch.stack(tensors).mean(0).cpu().numpy()


def _example(text: str, encoding: Any, tags: Any, assertions: Any) -> ReaderExample:
    """What the probabilities of one text say; relations are still to be judged."""
    length = len(encoding.ids)
    spans = spans_of(best_path(np.log(tags[:length] + _LEAST)))
    spans = [span for span in spans if _filled(span, encoding.offsets)]
    example = linkable(report_of(text, spans, encoding.offsets), spans, encoding.ids)
    example.tag_shares = tags[:length].astype(np.float16)
    for first, last, kind in spans:
        if kind in ASSERTED:
            example.assertion_shares[first : last + 1] = assertions[first : last + 1]
    return example


def report_of(text: str, spans: Sequence[TokenSpan], offsets: Sequence[tuple[int, int]]) -> Report:
    """The report that has these tokens as entities."""
    places = [(offsets[first][0], offsets[last][1], kind) for first, last, kind in spans]
    return Report(
        text=text,
        entities=tuple(
            Entity(text=text[start:end], start=start, end=end, type=kind)
            for start, end, kind in places
        ),
    )


def _filled(span: TokenSpan, offsets: Sequence[tuple[int, int]]) -> bool:
    """Whether both ends stand in the text, and are not tokens that the tokenizer added."""
    return all(offsets[end][1] > offsets[end][0] for end in span[:2])


def _relate(encoded: Sequence[tuple[JointReader, Tensor]], batch: ReaderBatch) -> Any:
    if not len(batch.pairs):
        return np.zeros(0, dtype=np.float32)
    with torch.autocast(batch.tokens.device.type, torch.bfloat16, batch.tokens.is_cuda):
        logits = [model.relate(tokens, batch) for model, tokens in encoded]
    return _mean([logit.float().sigmoid() for logit in logits])


def _share_out(
    examples: Sequence[ReaderExample],
    encoded: Sequence[tuple[JointReader, Tensor]],
    batch: ReaderBatch,
) -> None:
    related = _relate(encoded, batch)
    counts = np.cumsum([len(example.pairs) for example in examples])[:-1]
    for example, some in zip(examples, np.split(related, counts), strict=True):
        example.related = some


_STORED = {
    "tokens": np.int32,
    "tags": np.int8,
    "tag_shares": np.float16,
    "assertion_shares": np.float16,
    "spans": np.int16,
    "pairs": np.int16,
    "kinds": np.int8,
    "codes": np.int8,
    "related": np.float16,
}
"""Each array of an example, and the smallest numbers that hold it."""

_WIDENED = ("tokens", "tags", "spans", "pairs", "kinds")
"""What stands for positions and labels must be wide again for torch."""

_PER_TOKEN = ("tokens", "tags", "tag_shares", "assertion_shares")
_PER_PAIR = ("pairs", "kinds", "codes", "related")


def save_examples(path: Path, examples: Sequence[ReaderExample]) -> None:
    """Write all examples to one file, whole or not at all; each must have shares of tags."""
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(example, name) for example in examples]).astype(kind)
        for name, kind in _STORED.items()
    }
    for counted, name in (("tokens", "token"), ("spans", "span"), ("pairs", "pair")):
        lengths = [len(getattr(example, counted)) for example in examples]
        arrays[f"{name}_counts"] = np.array(lengths)
    draft = path.with_name(f"{path.name}.part")
    with draft.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    draft.replace(path)


def load_examples(path: Path) -> list[ReaderExample]:
    """The examples of a file."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    ends = {
        **dict.fromkeys(_PER_TOKEN, _ends(arrays["token_counts"])),
        **dict.fromkeys(_PER_PAIR, _ends(arrays["pair_counts"])),
        "spans": _ends(arrays["span_counts"]),
    }
    parts = {name: np.split(_wide(name, arrays[name]), ends[name]) for name in _STORED}
    return [
        ReaderExample(**dict(zip(parts, some, strict=True)))
        for some in zip(*parts.values(), strict=True)
    ]


def _ends(counts: NDArray[Any]) -> NDArray[Any]:
    return np.cumsum(counts)[:-1]


def _wide(name: str, array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.int64) if name in _WIDENED else array
