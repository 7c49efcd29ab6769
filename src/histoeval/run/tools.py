"""Readers, aligners and encoders by name, made once and only when a metric uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from histoeval.report import Noun
from histoeval.score import METRICS

PUBLISHED = "hare"
"""The word that stands for the models of the HARE paper."""


class Models(Noun):
    """Which models to use, as a person names them: a folder, a hub name, or 'hare'."""

    reader: str | None = None
    relations: str | None = None
    aligner: str | None = None
    encoder: str | None = None
    labels: Mapping[str, str] | None = None
    pooling: Literal["cls", "mean"] = "cls"
    device: str | None = None
    token_budget: int | None = None


def make_tools(specs: Sequence[str], models: Models) -> dict[str, Any]:
    """The tools that these metrics use and that the user has named."""
    makers = {"reader": _make_reader, "aligner": _make_aligner, "encoder": _make_encoder}
    entries = [METRICS.get(spec.partition(":")[0]) for spec in specs]
    wanted = {tool for entry in entries if entry is not None for tool in entry.tools}
    named = [tool for tool in makers if tool in wanted and getattr(models, tool) is not None]
    return {tool: makers[tool](models) for tool in named}


def _make_reader(models: Models) -> Any:
    from histoeval.extract.huggingface import (  # noqa: PLC0415 - needs [hf]
        HARE_NER,
        HARE_RELATIONS,
        HuggingFaceReader,
    )

    published = {PUBLISHED: HARE_RELATIONS}
    relations = models.relations
    if relations is None and models.reader == PUBLISHED:
        relations = PUBLISHED
    return HuggingFaceReader(
        HARE_NER if models.reader == PUBLISHED else str(models.reader),
        None if relations is None else published.get(relations, relations),
        labels=models.labels,
        device=models.device,
        token_budget=models.token_budget,
    )


def _make_aligner(models: Models) -> Any:
    from histoeval.align.huggingface import HARE_ALIGNMENT, HuggingFaceEncoder  # noqa: PLC0415

    return HuggingFaceEncoder(
        HARE_ALIGNMENT if models.aligner == PUBLISHED else str(models.aligner),
        pooling=models.pooling,
        device=models.device,
        token_budget=models.token_budget,
    )


def _make_encoder(models: Models) -> Any:
    from histoeval.align.huggingface import HuggingFaceEncoder  # noqa: PLC0415 - needs [hf]

    return HuggingFaceEncoder(
        str(models.encoder),
        pooling="mean",
        most_tokens=10**9,
        device=models.device,
        token_budget=models.token_budget,
    )
