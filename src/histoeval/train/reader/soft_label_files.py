"""Labelled windows as files: what teachers see in a text, in few bytes and without pickles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.train.reader.examples import ReaderExample

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
