"""Encoders that trainings begin with, and vocabularies that are cut to what is read."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch

from histoeval.errors import ModelError
from histoeval.reader.manifest import Manifest
from histoeval.runtime.transformer import Runtime, Transformer

# A window of the reader, and the tokens that open and close it.
LEAST_TOKENS = int(Manifest.model_fields["window"].default) + 2

_BEGINS = "##"


class TorchEncoder(NamedTuple):
    """An encoder on its device with its tokenizer, as Transformers and as tokenizers know it."""

    name: str
    model: Any
    tokenizer: Any
    fast: Any
    most_tokens: int
    device: str

    @property
    def padding(self) -> int:
        return int(self.tokenizer.pad_token_id or 0)


def load_encoder(name: str, tokens: int, device: str | None) -> TorchEncoder:
    """An encoder that reads texts of so many tokens, or as many as it can."""
    loaded = Transformer(name, "encoder", Runtime(device, "float32"))
    loaded.tokenizer.model_max_length = tokens
    if loaded.most_tokens < min(tokens, LEAST_TOKENS):
        raise ModelError(
            f"{name} reads {loaded.most_tokens} tokens at once; a reader needs {LEAST_TOKENS}"
        )
    if hasattr(loaded.model, "pooler"):
        loaded.model.pooler = None
    fast = loaded.tokenizer.backend_tokenizer
    fast.no_truncation()
    fast.no_padding()
    fast.encode_special_tokens = True
    return TorchEncoder(
        name, loaded.model, loaded.tokenizer, fast, loaded.most_tokens, loaded.device
    )


def cut_vocabulary(encoder: TorchEncoder, texts: Iterable[str], least: int | None) -> Any:
    """Cut the word pieces of fewer than `least` texts from an encoder; its tokenizer."""
    # All are kept where `least` is None.
    if least is None:
        return encoder.fast
    kept = kept_pieces(encoder.fast, texts, least)
    cut_embeddings(encoder.model, kept)
    return cut_tokenizer(encoder.fast, kept)


def kept_pieces(tokenizer: Any, texts: Iterable[str], least: int) -> list[int]:
    """The pieces to keep: single characters, special ones, and those met at least so often."""
    pieces: dict[str, int] = tokenizer.get_vocab()
    batch = tokenizer.encode_batch(list(texts), add_special_tokens=False)
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
    for token_ids in content.get("post_processor", {}).get("special_tokens", {}).values():
        token_ids["ids"] = [new[number] for number in token_ids["ids"]]
    return Tokenizer.from_str(json.dumps(content, ensure_ascii=False))


def cut_embeddings(encoder: Any, kept: Sequence[int]) -> None:
    table = encoder.get_input_embeddings()
    padding = table.padding_idx
    rows = table.weight.detach()[torch.as_tensor(kept)]
    new = None if padding is None else list(kept).index(padding)
    encoder.set_input_embeddings(
        torch.nn.Embedding.from_pretrained(rows, freeze=False, padding_idx=new)
    )
    encoder.config.vocab_size = len(rows)
