"""Metrics as modules of Hugging Face evaluate: add, add_batch, compute, combine; no network.

    >>> from histoeval.adapters.evaluate import load
    >>> load("concordance").compute(predictions=candidates, references=references)

`evaluate.load` takes the path of this file as well, with the metric as the name of a configuration.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from histoeval import api
from histoeval.adapters import imported
from histoeval.adapters.answers import best_answers
from histoeval.errors import HistoEvalError, Problem, SettingError
from histoeval.metric import Score
from histoeval.run.models import Models

evaluate = imported("evaluate", "evaluate")
datasets = imported("datasets", "evaluate")

INPUTS = """
Args:
    predictions: the candidate reports.
    references: a reference for each, or a list of them, of which the best counts.
    details: also the score of each pair, the reason where it has none, and the signature.
"""


class HistoEvalModule(evaluate.Metric):  # type: ignore[misc, name-defined]
    """A metric of HistoEval as an evaluation module; `config_name` is the metric."""

    def __init__(
        self, config_name: str | None = None, models: Models | None = None, **settings: Any
    ) -> None:
        if unknown := set(settings) - set(inspect.signature(evaluate.Metric).parameters):
            raise SettingError(
                f"evaluate has no setting {min(unknown)!r}; settings of a metric follow its name, "
                f"as in 'bleu:order=2'"
            )
        self.metric = api.load(config_name or "concordance", models=models)
        folder = re.sub(r"[^\w.-]+", "_", self.metric.name)
        super().__init__(config_name=folder, **settings)
        self.info.module_name = self.metric.name

    def _info(self) -> Any:
        text = datasets.Value("string")
        features = [
            datasets.Features({"predictions": text, "references": references})
            for references in (text, datasets.Sequence(text))
        ]
        return evaluate.MetricInfo(
            description=f"{self.metric.name} of HistoEval: {self.metric.signature}",
            citation="",
            inputs_description=INPUTS,
            features=features,
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, **more: Any) -> None:
        """Add texts; evaluate takes the first pair for the rule, and turns the others into it."""
        for name, given in (("predictions", predictions), ("references", references)):
            if given is None or isinstance(given, str) or not len(given):
                raise SettingError(f"{name} must be a list of texts with one text or more")
        if len({each is None or isinstance(each, str) for each in references}) > 1:
            raise SettingError("references must be texts, or lists of texts, for all pairs alike")
        ours, theirs = (
            ["" if each is None else each for each in given] for given in (predictions, references)
        )
        super().add_batch(predictions=ours, references=theirs, **more)

    def _compute(
        self, predictions: Any, references: Any, *, details: bool = False
    ) -> dict[str, Any]:
        answers = best_answers(self.metric, predictions, references)
        scores = [each for each in answers if isinstance(each, Score)]
        if not scores:
            reason = next(
                (each.message for each in answers if isinstance(each, Problem)), "no pairs"
            )
            raise HistoEvalError(f"{self.metric.name}: {reason}")
        name = self.metric.name
        mean = sum(each.value for each in scores) / len(scores)
        counts = [sum(column) for column in zip(*(each.counts for each in scores), strict=True)]
        found = {
            name: self.metric.corpus_value(mean, counts),
            f"{name}_coverage": len(scores) / len(answers),
        }
        return found | (self._details(answers) if details else {})

    def _details(self, answers: list[Score | Problem]) -> dict[str, Any]:
        name = self.metric.name
        return {
            f"{name}_scores": [each.value if isinstance(each, Score) else None for each in answers],
            f"{name}_problems": [
                each.message if isinstance(each, Problem) else None for each in answers
            ],
            f"{name}_signature": str(self.metric.signature),
        }


def load(spec: str = "concordance", *, models: Models | None = None, **settings: Any) -> Any:
    """A metric as an evaluation module.

    Args:
        spec: a name as `histoeval.list_metrics` gives it, with settings as in ``bleu:order=2``.
        models: the reader, aligner, encoder or judge to use; by default those of this package.
        **settings: of `evaluate.Metric`. Texts stay in memory, unless `keep_in_memory` is False or
            `num_process` more than 1: then evaluate writes them to its cache.
    """
    alone = settings.get("num_process", 1) == 1
    return HistoEvalModule(spec, models, **{"keep_in_memory": alone} | settings)
