"""Metrics of others, run by their own packages: the extra [peers].

Nothing of them is imported before it is asked for, and each says what it needs when it cannot
run. Their models are downloaded by those packages themselves, the first time they are used.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from histoeval.errors import Problem, SettingError, pip_install
from histoeval.metric import Score
from histoeval.metrics.base import STRICT, SettledMetric
from histoeval.report import Pair

# from references and candidates to a number for each pair
Ask = Callable[[list[str], list[str]], Sequence[float]]


class Peer(SettledMetric, ABC):
    """A metric of another package: its name there, and the call that scores pairs."""

    package: ClassVar[str]  # its name for pip
    module: ClassVar[str]
    downloads: ClassVar[str]  # the models that it fetches when it is first used

    @property
    @abstractmethod
    def ask(self) -> Ask:
        """The package's own metric, its models loaded."""

    @cached_property
    def library(self) -> Any:
        return import_module(self.module)

    def unavailable_reason(self) -> str | None:
        if find_spec(self.module) is not None:
            return None
        return (
            f"needs the package {self.package}: {pip_install('peers')}, or pip install "
            f"{self.package}. On first use it downloads {self.downloads}"
        )

    def fingerprint(self) -> dict[str, str]:
        try:
            return {self.package: version(self.package)}
        except PackageNotFoundError:
            return {self.package: "unknown"}

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        self._demand_available()
        values = self.ask([pair.reference for pair in pairs], [pair.candidate for pair in pairs])
        if len(values) != len(pairs):
            raise SettingError(f"{self.package} gave {len(values)} scores for {len(pairs)} pairs")
        return [
            Score(value=value, signature=self.signature)
            if math.isfinite(value)
            else self._failed(f"{self.package} gave no finite score")
            for value in map(float, values)
        ]


@dataclass(frozen=True, config=STRICT)
class PackagedBertScore(Peer):
    """BERTScore as published, F1; `rescale` sets it against a baseline."""

    model: str = "roberta-large"
    rescale: bool = False
    package: ClassVar[str] = "bert-score"
    module: ClassVar[str] = "bert_score"
    downloads: ClassVar[str] = "the encoder (1.4 GB for roberta-large)"

    @property
    def range(self) -> tuple[float, float]:
        return (-1.0, 1.0) if not self.rescale else (-math.inf, math.inf)

    @cached_property
    def ask(self) -> Ask:
        scorer = self.library.BERTScorer(
            model_type=self.model, lang="en", rescale_with_baseline=self.rescale
        )
        return lambda references, candidates: scorer.score(candidates, references)[2]


@dataclass(frozen=True, config=STRICT)
class RadGraphXL(Peer):
    reward: Literal["simple", "partial", "complete"] = "partial"
    model: str = "radgraph-xl"
    package: ClassVar[str] = "radgraph"
    module: ClassVar[str] = "radgraph"
    downloads: ClassVar[str] = "the RadGraph-XL model"

    @cached_property
    def ask(self) -> Ask:
        scorer = self.library.F1RadGraph(reward_level=self.reward, model_type=self.model)
        return lambda references, candidates: scorer(hyps=candidates, refs=references)[1]


@dataclass(frozen=True, config=STRICT)
class RaTEScore(Peer):
    """Entities of radiology reports matched by embedding, with synonyms and negation.

    The two models can be folders; on a machine without CUDA they run on the processor.
    """

    bert_model: str = "Angelakeke/RaTE-NER-Deberta"
    eval_model: str = "FremyCompany/BioLORD-2023-C"
    package: ClassVar[str] = "RaTEScore"
    module: ClassVar[str] = "RaTEScore"
    downloads: ClassVar[str] = "its entity model and its encoder"

    @cached_property
    def ask(self) -> Ask:
        import torch

        models = {"bert_model": self.bert_model, "eval_model": self.eval_model}
        scorer = self.library.RaTEScore(**models, use_gpu=torch.cuda.is_available())
        return lambda references, candidates: scorer.compute_score(candidates, references)


@dataclass(frozen=True, config=STRICT)
class Green(Peer):
    """A language model that counts matched findings and errors of radiology reports."""

    model: str = "StanfordAIMI/GREEN-radllama2-7b"
    package: ClassVar[str] = "green-score"
    module: ClassVar[str] = "green_score"
    downloads: ClassVar[str] = "a language model of 7 billion parameters (13 GB), and wants a GPU"

    @cached_property
    def ask(self) -> Ask:
        """References come first; after the mean and its deviation there is a score for each."""
        scorer = self.library.GREEN(self.model, output_dir=".")
        return lambda references, candidates: scorer(references, candidates)[2]


@dataclass(frozen=True, config=STRICT)
class RadEval(Peer):
    """One of the metrics that RadEval (from version 2 on) gathers."""

    metric: str = "radgraph"
    key: str = ""
    package: ClassVar[str] = "RadEval"
    module: ClassVar[str] = "radeval"
    downloads: ClassVar[str] = "the models of the metric that is asked for"

    @cached_property
    def ask(self) -> Ask:
        """Numbers by name; of a metric with several, those that `key` names."""
        try:
            scorer = self.library.RadEval(
                metrics=[self.metric], per_sample=True, show_progress=False
            )
        except (ValueError, ModuleNotFoundError) as error:
            raise SettingError(
                f"RadEval {self.fingerprint()[self.package]} cannot make its metric "
                f"{self.metric!r}: {error}"
            ) from error

        def chosen(references: list[str], candidates: list[str]) -> Sequence[float]:
            answer = scorer(refs=references, hyps=candidates)
            numbers: dict[str, Sequence[float]] = {
                name: values for name, values in answer.items() if isinstance(values, list | tuple)
            }
            names = [self.key] if self.key else [self.metric, f"{self.metric}_partial"]
            if not self.key and len(numbers) == 1:
                names += numbers
            for name in names:
                if name in numbers:
                    return numbers[name]
            raise SettingError(
                "which number of RadEval is meant? Name it, as in "
                f"radeval:metric={self.metric}:key=NAME, of {', '.join(numbers) or 'none'}"
            )

        return chosen
