"""Encoders as the joint reader is built on them, and readers as they are kept in files."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from histoeval.errors import ModelError
from histoeval.reader.manifest import Manifest
from histoeval.runtime.transformer import Runtime, Transformer
from histoeval_research.train.reader.model import JointReader, ReaderShape

STATE = "reader.pt"


@dataclass(frozen=True, slots=True)
class TorchEncoder:
    """An encoder on its device with its tokenizer, as Transformers and as tokenizers know it."""

    name: str
    model: Any
    tokenizer: Any
    fast: Any
    most_tokens: int
    device: str

    @property
    def padding(self) -> int:
        """What stands where a text has ended."""
        return int(self.tokenizer.pad_token_id or 0)


def load_encoder(name: str, tokens: int, device: str | None) -> TorchEncoder:
    """An encoder that reads texts of so many tokens, or as many as it can."""
    loaded = Transformer(name, "encoder", Runtime(device, "float32"))
    loaded.tokenizer.model_max_length = tokens
    if loaded.most_tokens < min(tokens, _least_tokens()):
        raise ModelError(
            f"{name} reads {loaded.most_tokens} tokens at once; a reader needs {_least_tokens()}"
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


def new_reader(encoder: TorchEncoder, shape: ReaderShape, seed: int) -> JointReader:
    """A reader that has learned nothing but what its encoder knows."""
    torch.manual_seed(seed)
    reader = JointReader(encoder.model, shape)
    return reader.to(encoder.device)  # type: ignore[no-any-return]


def save_reader(reader: JointReader, folder: Path) -> None:
    """Keep the weights as they are."""
    torch.save(
        {name: weights.cpu() for name, weights in reader.state_dict().items()}, folder / STATE
    )


def save_teacher(reader: JointReader, folder: Path) -> None:
    """Keep the weights in half the bytes: a teacher only has an opinion."""
    state = {
        name: weights.half().cpu() if weights.is_floating_point() else weights.cpu()
        for name, weights in reader.state_dict().items()
    }
    torch.save(state, folder / STATE)


def load_reader(encoder: TorchEncoder, shape: ReaderShape, folder: Path) -> JointReader:
    """A reader that was kept."""
    reader = new_reader(encoder, shape, seed=0)
    reader.load_state_dict(torch.load(folder / STATE, map_location="cpu", weights_only=True))
    return reader.eval()  # type: ignore[no-any-return]


def _least_tokens() -> int:
    """A window of the reader, and the tokens that open and close it."""
    return int(Manifest.model_fields["window"].default) + 2


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
    for token_ids in content.get("post_processor", {}).get("special_tokens", {}).values():
        token_ids["ids"] = [new[number] for number in token_ids["ids"]]
    return Tokenizer.from_str(json.dumps(content, ensure_ascii=False))
