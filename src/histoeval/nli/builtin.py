"""The NLI model as it is shipped: onnxruntime and tokenizers, no torch and no network."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.nli.entailer import Entailment, NliPair, probabilities
from histoeval.nli.manifest import EntailerManifest, read_entailer_manifest
from histoeval.reader.manifest import ENCODER, TOKENIZER
from histoeval.resources import resource_path
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import Session, open_tokenizer
from histoeval.runtime.threads import cores

_REMEMBERED = 20_000
"""Answers that are cached, about a kilobyte each."""


class BuiltinEntailer:
    """Judges with an NLI model from a folder; the shipped one when none is named.

    Each pair is run by itself, so that its answer is the same to the bit whatever it is run with;
    answers are remembered. Long texts are cut at the end: a hypothesis keeps its first 96 tokens,
    and its premise as many as are left of 256. Where the folder has a re-ranker, as the shipped
    one has, it corrects the network on all pairs of pathology.
    """

    concurrent = True
    """Several threads may call it at once."""

    def __init__(self, folder: Path | None = None, *, threads: int | None = None) -> None:
        home = folder or resource_path("models/nli")
        self.manifest = read_entailer_manifest(home)
        self._tokenizer = open_tokenizer(home / TOKENIZER)
        self._session = Session(home / ENCODER)
        self._threads = threads
        self._remembered = Memory(self._judge, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        return f"{self.manifest.identity}/onnxruntime{version('onnxruntime')}"

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        """The probabilities for each pair, in the order of the pairs."""
        return self._remembered(pairs)

    def _judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        threads = self._threads or cores()
        if len(pairs) == 1 or threads == 1:
            return [self._run(pair) for pair in pairs]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(self._run, pairs))

    def _run(self, pair: NliPair) -> Entailment:
        tokens, kinds = pair_tokens(self._tokenizer, pair, self.manifest)
        (rows,) = self._session.run(
            None,
            {"tokens": np.array([tokens], np.int64), "kinds": np.array([kinds], np.int64)},
        )
        reranker = self.manifest.opinion
        return probabilities(reranker.reranked(rows[0], *pair) if reranker else rows[0])


def pair_tokens(
    tokenizer: Any, pair: NliPair, limits: EntailerManifest
) -> tuple[list[int], list[int]]:
    """A pair as tokens, each with a 0 where it is of the premise and a 1 of the hypothesis."""
    opens, closes = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    premise, hypothesis = (
        tokenizer.encode(_encodable(text), add_special_tokens=False).ids for text in pair
    )
    if len(premise) + len(hypothesis) + 3 > limits.tokens:
        hypothesis = hypothesis[: limits.hypothesis_tokens]
        premise = premise[: limits.tokens - 3 - len(hypothesis)]
    tokens = [opens, *premise, closes, *hypothesis, closes]
    return tokens, [0] * (len(premise) + 2) + [1] * (len(hypothesis) + 1)


def _encodable(text: str) -> str:
    """A text without lone surrogates, which tokenizers refuse."""
    return text.encode("utf-8", "replace").decode("utf-8")
