"""Which models to use, and how they run."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from histoeval.io.annotation.names import read_labels
from histoeval.run.models import Models

MODELS = "Models (builtin when omitted; others need the extra hf)"

ReaderOption = Annotated[
    str | None,
    typer.Option(
        help="Reader: 'builtin', a folder, a hub name, or 'hare' for the published models.",
        rich_help_panel=MODELS,
    ),
]
AlignerOption = Annotated[
    str | None,
    typer.Option(
        help="Aligner: 'builtin', 'lexical', a folder, a hub name, or 'hare' (published).",
        rich_help_panel=MODELS,
    ),
]
PoolingOption = Annotated[
    Literal["cls", "mean"],
    typer.Option(
        help="How a Hugging Face aligner pools tokens into one vector.", rich_help_panel=MODELS
    ),
]
RelationsOption = Annotated[
    str | None,
    typer.Option(
        help="Relation model of a Hugging Face reader: a folder, a hub name, or 'hare'.",
        rich_help_panel=MODELS,
    ),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        help="JSON file that maps the labels of a Hugging Face reader to ours, as in "
        '{"Tumour": "diagnosis"}.',
        rich_help_panel=MODELS,
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        help="Device for Hugging Face models: cpu, cuda or cuda:1; the best one when omitted.",
        rich_help_panel=MODELS,
    ),
]
DtypeOption = Annotated[
    Literal["float32", "bfloat16"] | None,
    typer.Option(
        help="Precision of Hugging Face models; bfloat16 on a GPU when omitted.",
        rich_help_panel=MODELS,
    ),
]
NliOption = Annotated[
    str | None,
    typer.Option(
        help="NLI model: 'builtin', a folder, or a Transformers model.", rich_help_panel=MODELS
    ),
]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        help="Grounding encoder: 'builtin', 'plip', a CLIP model of Transformers, or "
        "open_clip:NAME.",
        rich_help_panel=MODELS,
    ),
]


@dataclass(frozen=True)
class ReaderModels:
    """The model that reads reports."""

    reader: ReaderOption = None
    relations: RelationsOption = None
    labels: LabelsOption = None
    device: DeviceOption = None
    dtype: DtypeOption = None

    def models(self, **others: Any) -> Models:
        """As `load_reader` and `make_metrics` take them."""
        named = {each.name: getattr(self, each.name) for each in fields(ReaderModels)}
        named["labels"] = None if self.labels is None else read_labels(self.labels)
        return Models(**named, **others)


@dataclass(frozen=True)
class MetricModels(ReaderModels):
    """The models that metrics need."""

    aligner: AlignerOption = None
    pooling: PoolingOption = "cls"
    encoder: Annotated[
        str | None, typer.Option(help="Encoder for bertscore and reg2025.", rich_help_panel=MODELS)
    ] = None
    token_budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Maximum tokens in a model batch; the best value when omitted.",
            rich_help_panel=MODELS,
        ),
    ] = None

    def models(self, **others: Any) -> Models:
        """As `make_metrics` takes them."""
        return super().models(
            aligner=self.aligner,
            pooling=self.pooling,
            encoder=self.encoder,
            token_budget=self.token_budget,
            **others,
        )
