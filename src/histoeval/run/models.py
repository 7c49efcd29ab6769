"""Readers, aligners and encoders by name, loaded once and only when a metric uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from histoeval.errors import SettingError
from histoeval.report import Noun
from histoeval.score import create, models_of

PUBLISHED = "hare"
"""The word that stands for the models of the HARE paper."""


class Models(Noun):
    """Which models to use, as a person names them: a folder, a hub name, or 'hare'.

    From Python, a reader, aligner or encoder can also be given as an object that is one.
    """

    reader: Any = None
    relations: str | Path | None = None
    aligner: Any = None
    encoder: Any = None
    labels: Mapping[str, str | None] | None = None
    pooling: Literal["cls", "mean"] = "cls"
    device: str | None = None
    dtype: Literal["float32", "bfloat16"] | None = None
    token_budget: int | None = None


def load_models(specs: Sequence[str], models: Models) -> dict[str, Any]:
    """The models that these metrics need and that the user has named or made."""
    makers = {"reader": _make_reader, "aligner": _make_aligner, "encoder": _make_encoder}
    needed = {name for spec in specs for name in models_of(create(spec))}
    named = [name for name in makers if name in needed and getattr(models, name) is not None]
    return {name: _loaded(getattr(models, name), makers[name], models) for name in named}


def _loaded(given: Any, make: Callable[[Models], Any], models: Models) -> Any:
    return make(models) if isinstance(given, str | Path) else given


def _make_reader(models: Models) -> Any:
    from histoeval.extract.huggingface import (  # noqa: PLC0415 - needs [hf]
        HARE_NER,
        HARE_RELATIONS,
        HuggingFaceReader,
    )

    all_published = str(models.reader) == PUBLISHED
    relations = models.relations or (PUBLISHED if all_published else None)
    return HuggingFaceReader(
        HARE_NER if all_published else models.reader,
        HARE_RELATIONS if str(relations) == PUBLISHED else relations,
        labels=models.labels,
        runtime=_runtime(models),
    )


def _make_aligner(models: Models) -> Any:
    from histoeval.align.huggingface import HARE_ALIGNMENT, HuggingFaceEncoder  # noqa: PLC0415

    return HuggingFaceEncoder(
        HARE_ALIGNMENT if str(models.aligner) == PUBLISHED else models.aligner,
        pooling=models.pooling,
        runtime=_runtime(models),
    )


def _make_encoder(models: Models) -> Any:
    from histoeval.align.huggingface import HuggingFaceEncoder  # noqa: PLC0415 - needs [hf]

    if str(models.encoder) == PUBLISHED:
        raise SettingError("'hare' names no encoder: give --encoder a folder or a hub name")
    return HuggingFaceEncoder(
        models.encoder,
        pooling="mean",
        most_tokens=10**9,
        runtime=_runtime(models),
    )


def _runtime(models: Models) -> Any:
    from histoeval.extract.transformer import Runtime  # noqa: PLC0415 - needs [hf]

    return Runtime(models.device, models.dtype, models.token_budget)
