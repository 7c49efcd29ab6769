"""The NLI model as it is shipped: onnxruntime and tokenizers, no network, and no torch on a CPU.

Its folder has the network, the tokenizer and, where there is one, the re-ranker: a logistic model
over the network's answer and rule-based features of a pair.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from histoeval.nli.entailer import Entailer, Entailment, NliPair, probabilities
from histoeval.nli.features.extract import extract_features, feature_names
from histoeval.reader.manifest import ENCODER, TOKENIZER, ModelManifest
from histoeval.report import Noun
from histoeval.resources import resource_path
from histoeval.runtime.batching import Tokens
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import TokenRows, on_gpu, open_tokenizer, runner

Three = tuple[float, float, float]
Floats = NDArray[np.float64]


class Reranker(Noun):
    """A logistic model over the network's log probabilities and the features of a pair.

    The weights are for the three answers in their order. A pair without terms of pathology has no
    features; there the network's answer stands.
    """

    weights: dict[str, Three]
    bias: Three = (0.0, 0.0, 0.0)
    network: Annotated[float, Field(gt=0)] = 1.0  # weight of the network's log probabilities

    @model_validator(mode="after")
    def _features_exist(self) -> Self:
        if unknown := sorted(set(self.weights) - set(feature_names())):
            raise ValueError(f"there are no features {', '.join(unknown)}")
        return self

    def reranked(self, logits: Floats, premise: str, hypothesis: str) -> Floats:
        features = extract_features(premise, hypothesis)
        if features is None:
            return logits
        total: Floats = self.network * log_shares(logits) + np.array(self.bias)
        for name, value in features.items():
            if value and name in self.weights:
                total = total + value * np.array(self.weights[name])
        return total


def log_shares(logits: Floats) -> Floats:
    lower = np.asarray(logits, np.float64) - np.max(logits)
    spread: Floats = lower - np.log(np.exp(lower).sum())
    return spread


# tokens of a premise and its hypothesis together, with the three that open and part them
TOKENS = 256


def hypothesis_tokens(tokens: int) -> int:
    """Tokens that the hypothesis of a long pair keeps; the premise has the rest."""
    return tokens * 3 // 8


class EntailerManifest(ModelManifest):
    """The content of `nli.json`: files and their hashes, and where long texts are cut."""

    home, parts, what = "nli.json", (ENCODER, TOKENIZER), "an NLI model"

    tokens: Annotated[int, Field(ge=16)] = TOKENS
    hypothesis_tokens: Annotated[int, Field(ge=4)] = hypothesis_tokens(TOKENS)
    opinion: Reranker | None = None

    @model_validator(mode="after")
    def _premise_has_room(self) -> Self:
        if self.hypothesis_tokens > self.tokens - 8:
            raise ValueError("the hypothesis would leave no room for the premise")
        return self

    @property
    def identity(self) -> str:
        return f"{self.name}{'+terms' if self.opinion else ''}@{self.digest(exclude_none=True)}"


def limits_of(name: str, tokens: int) -> EntailerManifest:
    return EntailerManifest(
        name=name, files={}, tokens=tokens, hypothesis_tokens=hypothesis_tokens(tokens)
    )


_REMEMBERED = 20_000  # answers that are cached, about a kilobyte each


class BuiltinEntailer:
    """Judges with an NLI model from a folder; the shipped one when none is named.

    Answers are remembered. Long texts are cut at the end: a hypothesis keeps its first 96 tokens,
    and its premise as many as are left of 256. Where the folder has a re-ranker, as the shipped
    one has, it corrects the network on all pairs of pathology.
    """

    concurrent = True  # several threads may call it at once

    def __init__(
        self, folder: Path | None = None, *, threads: int | None = None, device: str | None = None
    ) -> None:
        home = folder or resource_path("models/nli")
        self.manifest = EntailerManifest.read(home)
        self._tokenizer = open_tokenizer(home / TOKENIZER)
        self._encoder = TokenRows(home / ENCODER, ("tokens", "kinds"), device, threads)
        self._runner = runner(device)
        self.on_gpu = self.shares_gpu = on_gpu(device)
        self._remembered = Memory(self._judge, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        return f"{self.manifest.identity}/{self._runner}"

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        return self._remembered(pairs)

    def _judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        rows = self._encoder.rows([pair_tokens(self._tokenizer, p, self.manifest) for p in pairs])
        reranker = self.manifest.opinion
        return [
            probabilities(reranker.reranked(row, *pair) if reranker else row)
            for (row,), pair in zip(rows, pairs, strict=True)
        ]


def pair_tokens(tokenizer: Any, pair: NliPair, limits: EntailerManifest) -> tuple[Tokens, Tokens]:
    """Return a pair as tokens, each with 0 if it is of the premise and 1 if of the hypothesis."""
    opens, closes = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    premise, hypothesis = (
        tokenizer.encode(text.encode("utf-8", "replace").decode(), add_special_tokens=False).ids
        for text in pair
    )  # lone surrogates, which tokenizers refuse, are replaced
    if len(premise) + len(hypothesis) + 3 > limits.tokens:
        hypothesis = hypothesis[: limits.hypothesis_tokens]
        premise = premise[: limits.tokens - 3 - len(hypothesis)]
    tokens = (opens, *premise, closes, *hypothesis, closes)
    return tokens, (0,) * (len(premise) + 2) + (1,) * (len(hypothesis) + 1)


BUILTIN = "builtin"


def open_entailer(spec: str | Path | None = None, device: str | None = None) -> Entailer:
    """An NLI model: the shipped one, a folder that `train nli` wrote, or a Transformers model."""
    if spec is None or spec == BUILTIN:
        return BuiltinEntailer(device=device)
    if Path(spec, EntailerManifest.home).is_file():
        return BuiltinEntailer(Path(spec), device=device)
    from histoeval.nli.huggingface import HuggingFaceEntailer
    from histoeval.runtime.transformer import Runtime

    return HuggingFaceEntailer(spec, Runtime(device))
