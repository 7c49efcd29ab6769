"""Does a premise entail a hypothesis, contradict it, or leave it open? Probabilities of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from histoeval.extract.manifest import ENCODER, TOKENIZER
from histoeval.nli.manifest import EntailerManifest, read_entailer_manifest
from histoeval.report import Noun
from histoeval.resources import resource_path
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import cores, open_session, open_tokenizer

_REMEMBERED = 100_000

Label = Literal["entailment", "neutral", "contradiction"]
LABELS: tuple[Label, ...] = ("entailment", "neutral", "contradiction")


class Entailment(NamedTuple):
    """The probabilities of the three answers, which sum to one."""

    entailment: float
    neutral: float
    contradiction: float

    @property
    def label(self) -> Label:
        """The likeliest answer; the first of the three where two are equal."""
        return LABELS[int(np.argmax(self))]


class NliPair(NamedTuple):
    """What is known, and what is asked."""

    premise: str
    hypothesis: str


class LabelledPair(Noun):
    """A premise, a hypothesis, what the one says of the other, and what the pair tests."""

    premise: str
    hypothesis: str
    label: Label
    category: str


class Entails(Protocol):
    """Whatever judges pairs."""

    @property
    def identity(self) -> str:
        """The model and everything that its answers depend on."""

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        """The probabilities for each pair, in the order of the pairs."""


class Entailer:
    """Judges with an NLI model from a folder; the shipped one when none is named.

    Each pair is run by itself, so that its answer is the same to the bit whatever it is run with;
    what was judged is remembered. Of long texts the ends are cut off: a hypothesis keeps its first
    96 tokens, and its premise as many of the first as are left of 256. Where the folder has a
    second opinion, as the shipped one has, it is heard on all pairs of pathology.
    """

    def __init__(self, folder: Path | None = None, *, threads: int | None = None) -> None:
        home = folder or resource_path("models/nli")
        self.manifest = read_entailer_manifest(home)
        self._tokenizer = open_tokenizer(home / TOKENIZER)
        self._session = open_session(home / ENCODER)
        self._threads = threads or cores()
        self._remembered = Memory(self._judge, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        return f"{self.manifest.identity}/onnxruntime{version('onnxruntime')}"

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        """The probabilities for each pair, in the order of the pairs."""
        return self._remembered([as_key(pair) for pair in pairs])

    def _judge(self, keys: Sequence[str]) -> list[Entailment]:
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._run, map(from_key, keys)))

    def _run(self, pair: NliPair) -> Entailment:
        tokens, kinds = pair_tokens(self._tokenizer, pair, self.manifest)
        (rows,) = self._session.run(
            None,
            {"tokens": np.array([tokens], np.int64), "kinds": np.array([kinds], np.int64)},
        )
        opinion = self.manifest.opinion
        return probabilities(opinion.heard(rows[0], *pair) if opinion else rows[0])


def probabilities(logits: Any) -> Entailment:
    """Three numbers of any size as probabilities."""
    powers = np.exp(np.asarray(logits, np.float64) - np.max(logits))
    return Entailment(*(float(share) for share in powers / powers.sum()))


def pair_tokens(
    tokenizer: Any, pair: NliPair, limits: EntailerManifest
) -> tuple[list[int], list[int]]:
    """A pair as tokens, each with a 0 where it is of the premise and a 1 of the hypothesis."""
    opens, closes = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    premise, hypothesis = (
        tokenizer.encode(_writable(text), add_special_tokens=False).ids for text in pair
    )
    if len(premise) + len(hypothesis) + 3 > limits.tokens:
        hypothesis = hypothesis[: limits.hypothesis_tokens]
        premise = premise[: limits.tokens - 3 - len(hypothesis)]
    tokens = [opens, *premise, closes, *hypothesis, closes]
    return tokens, [0] * (len(premise) + 2) + [1] * (len(hypothesis) + 1)


def as_key(pair: NliPair) -> str:
    """A pair as one text, from which both can be had again."""
    return json.dumps([pair.premise, pair.hypothesis])


def from_key(key: str) -> NliPair:
    """The pair that a text stands for."""
    return NliPair(*json.loads(key))


def _writable(text: str) -> str:
    """A text without halves of characters, which tokenizers refuse."""
    return text.encode("utf-8", "replace").decode("utf-8")
