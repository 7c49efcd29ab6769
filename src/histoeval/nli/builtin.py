"""The NLI model as it is shipped: onnxruntime and tokenizers, no network, and no torch on a CPU."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from histoeval.nli.entailer import Entailment, NliPair, probabilities
from histoeval.nli.manifest import EntailerManifest, read_entailer_manifest
from histoeval.reader.manifest import ENCODER, TOKENIZER
from histoeval.resources import resource_path
from histoeval.runtime.batching import Tokens
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import TokenRows, on_gpu, open_tokenizer, runner

_REMEMBERED = 20_000
"""Answers that are cached, about a kilobyte each."""


class BuiltinEntailer:
    """Judges with an NLI model from a folder; the shipped one when none is named.

    Answers are remembered. Long texts are cut at the end: a hypothesis keeps its first 96 tokens,
    and its premise as many as are left of 256. Where the folder has a re-ranker, as the shipped
    one has, it corrects the network on all pairs of pathology.
    """

    concurrent = True
    """Several threads may call it at once."""

    def __init__(
        self, folder: Path | None = None, *, threads: int | None = None, device: str | None = None
    ) -> None:
        home = folder or resource_path("models/nli")
        self.manifest = read_entailer_manifest(home)
        self._tokenizer = open_tokenizer(home / TOKENIZER)
        self._encoder = TokenRows(home / ENCODER, ("tokens", "kinds"), device, threads)
        self._runner = runner(device)
        self.on_gpu = self.shares_gpu = on_gpu(device)
        self._remembered = Memory(self._judge, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        return f"{self.manifest.identity}/{self._runner}"

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        """The probabilities for each pair, in the order of the pairs."""
        return self._remembered(pairs)

    def _judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        rows = self._encoder.rows([pair_tokens(self._tokenizer, p, self.manifest) for p in pairs])
        reranker = self.manifest.opinion
        return [
            probabilities(reranker.reranked(row, *pair) if reranker else row)
            for (row,), pair in zip(rows, pairs, strict=True)
        ]


def pair_tokens(tokenizer: Any, pair: NliPair, limits: EntailerManifest) -> tuple[Tokens, Tokens]:
    """A pair as tokens, each with a 0 where it is of the premise and a 1 of the hypothesis."""
    opens, closes = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    premise, hypothesis = (
        tokenizer.encode(_encodable(text), add_special_tokens=False).ids for text in pair
    )
    if len(premise) + len(hypothesis) + 3 > limits.tokens:
        hypothesis = hypothesis[: limits.hypothesis_tokens]
        premise = premise[: limits.tokens - 3 - len(hypothesis)]
    tokens = (opens, *premise, closes, *hypothesis, closes)
    return tokens, (0,) * (len(premise) + 2) + (1,) * (len(hypothesis) + 1)


def _encodable(text: str) -> str:
    """A text without lone surrogates, which tokenizers refuse."""
    return text.encode("utf-8", "replace").decode("utf-8")
