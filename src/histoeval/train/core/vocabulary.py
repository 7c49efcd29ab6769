"""A smaller vocabulary for an encoder: only the word pieces that are worth their bytes.

Half of a small encoder is its table of word pieces, most of which no pathologist ever writes. A
word whose piece was cut falls into smaller pieces: all letters are kept, alone and within words.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from histoeval.errors import ModelError

_BEGINS = "##"


def kept_pieces(tokenizer: Any, names: Iterable[str], least: int) -> list[int]:
    """The pieces to keep: single characters, special ones, and those met at least so often."""
    pieces: dict[str, int] = tokenizer.get_vocab()
    batch = tokenizer.encode_batch(list(names), add_special_tokens=False)
    counts = Counter(number for encoding in batch for number in encoding.ids)
    special = {number for number, token in tokenizer.get_added_tokens_decoder().items()}
    return sorted(
        number
        for piece, number in pieces.items()
        if counts[number] >= least or number in special or len(piece.removeprefix(_BEGINS)) == 1
    )


def cut_tokenizer(tokenizer: Any, kept: Iterable[int]) -> Any:
    """A tokenizer that knows only these pieces, numbered anew in their order."""
    from tokenizers import Tokenizer

    content = json.loads(tokenizer.to_str())
    if content["model"]["type"] != "WordPiece":
        raise ModelError("only a vocabulary of word pieces can be cut: leave out `least_pieces`")
    new = {old: number for number, old in enumerate(kept)}
    vocabulary = content["model"]["vocab"]
    content["model"]["vocab"] = {p: new[n] for p, n in vocabulary.items() if n in new}
    for token in content["added_tokens"]:
        token["id"] = new[token["id"]]
    for told in content.get("post_processor", {}).get("special_tokens", {}).values():
        told["ids"] = [new[number] for number in told["ids"]]
    return Tokenizer.from_str(json.dumps(content, ensure_ascii=False))
