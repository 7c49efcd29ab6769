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
        batch = {"predictions": predictions, "references": references}
        for name, texts in batch.items():
            if texts is None or isinstance(texts, str) or not len(texts):
                raise SettingError(f"{name} must be a list of texts with one text or more")
            batch[name] = ["" if text is None else text for text in texts]
        if len({isinstance(text, str) for text in batch["references"]}) > 1:
            raise SettingError("references must be texts, or lists of texts, for all pairs alike")
        super().add_batch(**batch, **more)

    def _compute(
        self, predictions: Any, references: Any, *, details: bool = False
    ) -> dict[str, Any]:
        name = self.metric.name
        answers = best_answers(self.metric, predictions, references)
        scores = [answer for answer in answers if isinstance(answer, Score)]
        problems = [a.message if isinstance(a, Problem) else None for a in answers]
        if not scores:
            raise HistoEvalError(f"{name}: {next(filter(None, problems), 'no pairs')}")
        mean = sum(score.value for score in scores) / len(scores)
        counts = [sum(column) for column in zip(*(score.counts for score in scores), strict=True)]
        computed: dict[str, Any] = {
            name: self.metric.corpus_value(mean, counts),
            f"{name}_coverage": len(scores) / len(answers),
        }
        if details:
            values = [answer.value if isinstance(answer, Score) else None for answer in answers]
            computed |= {f"{name}_scores": values, f"{name}_problems": problems}
            computed[f"{name}_signature"] = str(self.metric.signature)
        return computed


def load(spec: str = "concordance", *, models: Models | None = None, **settings: Any) -> Any:
    """A metric as an evaluation module.

    Args:
        spec: a name as `histoeval.list_metrics` gives it, with settings as in ``bleu:order=2``.
        models: the reader, aligner, encoder or judge to use; by default those of this package.
        **settings: of `evaluate.Metric`. Texts stay in memory, unless `keep_in_memory` is False or
            `num_process` more than 1: then evaluate writes them to its cache.
    """
    is_single = settings.get("num_process", 1) == 1
    return HistoEvalModule(spec, models, **{"keep_in_memory": is_single} | settings)
