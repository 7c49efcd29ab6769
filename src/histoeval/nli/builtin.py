"""The NLI model as it is shipped: onnxruntime and tokenizers, no network, and no torch on a CPU."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.nli.entailer import Entailment, NliPair, probabilities
from histoeval.nli.manifest import EntailerManifest, read_entailer_manifest
from histoeval.reader.manifest import ENCODER, TOKENIZER
from histoeval.resources import resource_path
from histoeval.runtime.batching import alike
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import on_cpu, on_gpu, open_session, open_tokenizer, runner
from histoeval.runtime.threads import cores

_REMEMBERED = 20_000
"""Answers that are cached, about a kilobyte each."""

_TOGETHER_ON_DEVICE = 256


class BuiltinEntailer:
    """Judges with an NLI model from a folder; the shipped one when none is named.

    On a CPU each pair is run by itself, so that its answer is the same to the bit whatever it is
    run with; another device runs pairs of as many tokens together. Answers are remembered. Long
    texts are cut at the end: a hypothesis keeps its first 96 tokens, and its premise as many as
    are left of 256. Where the folder has a re-ranker, as the shipped one has, it corrects the
    network on all pairs of pathology.
    """

    concurrent = True
    """Several threads may call it at once."""

    def __init__(
        self, folder: Path | None = None, *, threads: int | None = None, device: str | None = None
    ) -> None:
        home = folder or resource_path("models/nli")
        self.manifest = read_entailer_manifest(home)
        self._tokenizer = open_tokenizer(home / TOKENIZER)
        self._session = open_session(home / ENCODER, device)
        self._runner = runner(device)
        self.on_gpu = on_gpu(device)
        self._threads = threads if on_cpu(device) else 1
        self._most = 1 if on_cpu(device) else _TOGETHER_ON_DEVICE
        self._remembered = Memory(self._judge, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        return f"{self.manifest.identity}/{self._runner}"

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        """The probabilities for each pair, in the order of the pairs."""
        return self._remembered(pairs)

    def _judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        if self._most == 1:
            return self._one_by_one(pairs)
        sizes = [len(pair_tokens(self._tokenizer, pair, self.manifest)[0]) for pair in pairs]
        groups = alike(sizes, self._most)
        found = {
            place: judged
            for group in groups
            for place, judged in zip(group, self._run([pairs[i] for i in group]), strict=True)
        }
        return [found[place] for place in range(len(pairs))]

    def _one_by_one(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        threads = self._threads or cores()
        if len(pairs) == 1 or threads == 1:
            return [self._run([pair])[0] for pair in pairs]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda pair: self._run([pair])[0], pairs))

    def _run(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        """Judge pairs of as many tokens."""
        given = [pair_tokens(self._tokenizer, pair, self.manifest) for pair in pairs]
        tokens, kinds = (np.array(each, np.int64) for each in zip(*given, strict=True))
        (rows,) = self._session.run(None, {"tokens": tokens, "kinds": kinds})
        reranker = self.manifest.opinion
        return [
            probabilities(reranker.reranked(row, *pair) if reranker else row)
            for row, pair in zip(rows, pairs, strict=True)
        ]


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
