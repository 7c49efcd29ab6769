"""Which models to use, and how they run."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from histoeval.cli.options.bundle import option
from histoeval.labels import read_labels
from histoeval.run.models import Models

MODELS = "Models (builtin when omitted; others need the extra hf)"

ReaderOption = Annotated[
    str | None,
    option("Reader: 'builtin', a folder, a hub name, or 'hare' for the published models.", MODELS),
]
AlignerOption = Annotated[
    str | None,
    option("Aligner: 'builtin', 'lexical', a folder, a hub name, or 'hare' (published).", MODELS),
]
PoolingOption = Annotated[
    Literal["cls", "mean"],
    option("How a Hugging Face aligner pools tokens into one vector.", MODELS),
]
RelationsOption = Annotated[
    str | None,
    option("Relation model of a Hugging Face reader: a folder, a hub name, or 'hare'.", MODELS),
]
LabelsOption = Annotated[
    Path | None,
    option(
        "JSON file that maps the labels of a Hugging Face reader to ours, as in "
        '{"Tumour": "diagnosis"}.',
        MODELS,
    ),
]
DeviceOption = Annotated[
    str | None,
    option(
        "Device for models: cpu, cuda or cuda:1; when omitted, the CPU for builtin models and the "
        "best one for others.",
        MODELS,
    ),
]
DtypeOption = Annotated[
    Literal["float32", "bfloat16"] | None,
    option("Precision of Hugging Face models; bfloat16 on a GPU when omitted.", MODELS),
]
LanguageOption = Annotated[
    Literal["en", "any"],
    option("Read English reports only, or any as if they were English.", MODELS),
]
NliOption = Annotated[
    str | None, option("NLI model: 'builtin', a folder, or a Transformers model.", MODELS)
]
EncoderOption = Annotated[
    str | None,
    option(
        "Grounding encoder: 'builtin', a known name such as plip, NAME=FOLDER, a CLIP model of "
        "Transformers, or open_clip:NAME.",
        MODELS,
    ),
]
PanelOption = Annotated[
    list[str] | None,
    option(
        "Grounding encoder: 'builtin', a known name (plip, quiltnet, conch, musk, medsiglip, "
        "titan), NAME=FOLDER, a CLIP model of Transformers, or open_clip:NAME. Give it several "
        "times, or a+b, for a panel whose majority decides.",
        MODELS,
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
    language: LanguageOption = "en"

    def models(self, **others: Any) -> Models:
        """As `load_reader` and `load_metrics` take them."""
        named = {each.name: getattr(self, each.name) for each in fields(ReaderModels)}
        named["labels"] = None if self.labels is None else read_labels(self.labels)
        return Models(**named, **others)


@dataclass(frozen=True)
class MetricModels(ReaderModels):
    """The models that metrics need."""

    aligner: AlignerOption = None
    pooling: PoolingOption = "cls"
    nli: NliOption = None
    encoder: Annotated[str | None, option("Encoder for bertscore and reg2025.", MODELS)] = None
    token_budget: Annotated[
        int | None,
        option("Maximum tokens in a model batch; the best value when omitted.", MODELS, min=1),
    ] = None

    def models(self, **others: Any) -> Models:
        """As `load_metrics` takes them."""
        return super().models(
            aligner=self.aligner,
            pooling=self.pooling,
            nli=self.nli,
            encoder=self.encoder,
            token_budget=self.token_budget,
            **others,
        )
