"""Readers, aligners and encoders by name, loaded once and only when a metric uses them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from histoeval.align.aligner import Aligner, LexicalAligner
from histoeval.errors import SettingError
from histoeval.labels import read_labels
from histoeval.llm.access import JUDGE_ENDPOINT, JUDGE_MODEL, AccessOptions
from histoeval.metric import Metric
from histoeval.metrics.base import EnglishMetric, as_metric
from histoeval.metrics.registry import create, metric_entries, models_needed
from histoeval.nli.entailer import Entailer
from histoeval.reader.reader import Reader
from histoeval.report import Noun
from histoeval.runtime.memo import folder_stamp, shared_model
from histoeval.settings import JUDGES, MODELS, Option
from histoeval.terms.language import Language

if TYPE_CHECKING:
    from histoeval.judges.choice import JudgeConfig

T = TypeVar("T")

DEFAULT_METRICS = "concordance,hare,bleu,rouge_l,chrf"

PUBLISHED = "hare"  # the word that stands for the models of the HARE paper
# The word that stands for the reader or aligner that is shipped with this package.
BUILTIN = "builtin"

LEXICAL = "lexical"  # the word that stands for the aligner that needs no model


ReaderName = Annotated[
    Any,
    Option(
        "Reader: 'builtin', a folder, a hub name, or 'hare' for the published models.",
        MODELS,
        shell=str | None,
    ),
]
RelationsName = Annotated[
    str | Path | None,
    Option(
        "Relation model of a Hugging Face reader: a folder, a hub name, or 'hare'.",
        MODELS,
        shell=str | None,
    ),
]
AlignerName = Annotated[
    Any,
    Option(
        "Aligner: 'builtin', 'lexical', a folder, a hub name, or 'hare' (published).",
        MODELS,
        shell=str | None,
    ),
]
Pooling = Annotated[
    Literal["cls", "mean"],
    Option("How a Hugging Face aligner pools tokens into one vector.", MODELS),
]
NliName = Annotated[
    Any,
    Option("NLI model: 'builtin', a folder, or a Transformers model.", MODELS, shell=str | None),
]
DeviceName = Annotated[
    str | None,
    Option(
        "Device for models: cpu, cuda or cuda:1; when omitted, the CPU for builtin models and the "
        "best one for others.",
        MODELS,
    ),
]
Dtype = Annotated[
    Literal["float32", "bfloat16"] | None,
    Option("Precision of Hugging Face models; bfloat16 on a GPU when omitted.", MODELS),
]

LanguageName = Annotated[
    Language, Option("Read English reports only, or any as if they were English.", MODELS)
]
EncoderName = Annotated[
    str | None,
    Option(
        "Grounding encoder: 'builtin', a known name such as plip, NAME=FOLDER, a CLIP model of "
        "Transformers, or open_clip:NAME.",
        MODELS,
    ),
]

# The models and settings of a verb that only reads.
READING = "reader relations labels device dtype language"

# The models and settings of metrics that ask no judge.
SCORING = f"{READING} aligner pooling nli encoder token_budget"


@dataclass(frozen=True)
class JudgeOptions:
    """The judges to ask."""

    endpoint: Annotated[
        list[str] | None,
        Option(
            "URL of an OpenAI-compatible server, ending in /v1; or 'local' for a "
            "Transformers model (extra hf). Give it once for all models, or once for each.",
            JUDGES,
        ),
    ] = None
    model: Annotated[
        list[str] | None, Option("Name of the model; repeat it for a panel of judges.", JUDGES)
    ] = None
    access: AccessOptions = field(default_factory=AccessOptions)

    def config(self, **others: Any) -> JudgeConfig | None:
        endpoint, model = self.endpoint, self.model
        if not endpoint and not model:
            endpoint = list(filter(None, [os.environ.get(JUDGE_ENDPOINT)]))
            model = list(filter(None, [os.environ.get(JUDGE_MODEL)]))
        if not endpoint and not model:
            return None
        if not endpoint or not model:
            raise SettingError("a judge needs both --endpoint and --model")
        from histoeval.judges.choice import JudgeConfig  # an event loop, for few who score

        others["access"] = self.access.accesses(len(endpoint))
        return JudgeConfig(endpoints=tuple(endpoint), models=tuple(model), **others)


class Models(Noun):
    """The models to use, each by name: a folder, a hub name, or 'hare'.

    Where no reader, aligner or NLI model is named, those of this package are used. A process loads
    each model once and shares it.

    From Python, a reader, aligner, NLI model or encoder can also be given as an object that is one;
    `judge` is a `histoeval.Endpoint` or several, or a `histoeval.judges.choice.JudgeConfig`.
    """

    reader: ReaderName = None
    relations: RelationsName = None
    labels: Annotated[
        Mapping[str, str | None] | None,
        Option(
            "JSON file that maps the labels of a Hugging Face reader to ours, as in "
            '{"Tumour": "diagnosis"}.',
            MODELS,
            shell=Path | None,
            read=read_labels,
        ),
    ] = None
    device: DeviceName = None
    dtype: Dtype = None
    language: LanguageName = "en"
    """`any`: read reports that do not seem to be in English as well."""
    aligner: AlignerName = None
    pooling: Pooling = "cls"
    nli: NliName = None
    encoder: Annotated[
        Any, Option("Encoder for bertscore and reg2025.", MODELS, shell=str | None)
    ] = None
    token_budget: Annotated[
        int | None,
        Option("Maximum tokens in a model batch; the best value when omitted.", MODELS, min=1),
    ] = None
    judge: Annotated[Any, Option("", shell=JudgeOptions, read=JudgeOptions.config)] = None


def metric_names(specs: str | Iterable[str]) -> list[str]:
    """List and check metric specifications, so that a typo is reported before work begins."""
    requested = specs.split(",") if isinstance(specs, str) else specs
    names = list(dict.fromkeys(name.strip() for name in requested if name.strip()))
    if not names:
        raise SettingError(f"no metric was named; known: {', '.join(sorted(metric_entries()))}")
    for name in names:
        create(name)
    return names


def load_metrics(
    metrics: str | Iterable[object], models: Models | None = None, **settings: Any
) -> list[Metric]:
    """Load metrics given by name or as objects; named ones get the models that they need."""
    requested = metrics.split(",") if isinstance(metrics, str) else list(metrics)
    selected = [metric if isinstance(metric, str) else as_metric(metric) for metric in requested]
    selected_names = [spec for spec in selected if isinstance(spec, str)]
    specs = metric_names(selected_names) if selected_names or not selected else []
    models = models or Models()
    opened_models = load_models(specs, models)
    created = {spec: create(spec, opened_models, **settings) for spec in specs}
    if models.language == "any":
        created = {
            spec: replace(metric, language="any") if isinstance(metric, EnglishMetric) else metric
            for spec, metric in created.items()
        }
    loaded: list[Metric] = []
    for metric in selected:
        if not isinstance(metric, str):
            loaded.append(metric)
        elif metric.strip() in created:
            loaded.append(created.pop(metric.strip()))
    names = [metric.name for metric in loaded]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise SettingError(f"two metrics are called {min(repeated)!r}; give each its own name")
    return loaded


def load_models(specs: Sequence[str], models: Models) -> dict[str, Any]:
    loaders: dict[str, Callable[[Models], Any]] = {
        "reader": load_reader,
        "aligner": load_aligner,
        "nli": lambda models: load_entailer(models.nli, models.device),
        "encoder": _load_encoder,
        "judge": _load_judge,
    }
    needed_names = models_needed(specs)
    opened_models = {name: load(models) for name, load in loaders.items() if name in needed_names}
    return {name: model for name, model in opened_models.items() if model is not None}


def load_reader(models: Models) -> Reader:
    def load() -> Reader:
        if is_joint(models.reader):
            from histoeval.reader.builtin import BuiltinReader

            if models.relations is not None or models.labels is not None:
                raise SettingError(
                    "a joint reader reads relations itself and knows its labels: --relations and "
                    "--labels go with a Hugging Face model as --reader"
                )
            return BuiltinReader(_folder(models.reader), device=models.device)
        from histoeval.reader.huggingface import HARE_NER, HARE_RELATIONS, HuggingFaceReader

        is_published = str(models.reader) == PUBLISHED
        relations = models.relations or (PUBLISHED if is_published else None)
        return HuggingFaceReader(
            HARE_NER if is_published else models.reader,
            HARE_RELATIONS if str(relations) == PUBLISHED else relations,
            labels=models.labels,
            runtime=_runtime(models),
        )

    reader_choice = models.reader
    if not isinstance(reader_choice, str | Path | None) and not isinstance(reader_choice, Reader):
        raise SettingError(f"{reader_choice!r} is no reader: it has no `read`")
    if isinstance(reader_choice, str | Path) and not is_joint(reader_choice):
        # Refuse what cannot be a model before a library says so in its own words.
        path = Path(reader_choice)
        if path.is_dir() and not (path / "config.json").is_file():
            raise SettingError(
                f"{path} holds no reader: neither reader.json nor config.json is there"
            )
        if not path.exists() and (path.is_absolute() or str(reader_choice).startswith((".", "~"))):
            raise SettingError(f"{path} does not exist")
    return _loaded_once("reader", models, load)


def is_joint(reader: Any) -> bool:
    """True for the name of a joint reader: the builtin one, or one trained like it."""
    if reader is None or reader == BUILTIN:
        return True
    return isinstance(reader, str | Path) and Path(reader, "reader.json").is_file()


def load_aligner(models: Models) -> Aligner:
    aligner_choice = models.aligner
    if aligner_choice == LEXICAL:
        return LexicalAligner()

    def load() -> Aligner:
        if (
            aligner_choice is None
            or aligner_choice == BUILTIN
            or Path(aligner_choice, "aligner.json").is_file()
        ):
            from histoeval.align.builtin import BuiltinAligner

            return BuiltinAligner(_folder(aligner_choice), device=models.device)
        from histoeval.align.huggingface import HARE_ALIGNMENT, HuggingFaceEncoder

        name = HARE_ALIGNMENT if str(aligner_choice) == PUBLISHED else aligner_choice
        return HuggingFaceEncoder(name, pooling=models.pooling, runtime=_runtime(models))

    return _loaded_once("aligner", models, load)


def load_entailer(named: Any, device: str | None = None) -> Entailer:
    if not isinstance(named, str | Path | None):
        entailer: Entailer = named
        return entailer
    key = (str(named or BUILTIN), folder_stamp(named), device)
    from histoeval.nli.builtin import open_entailer

    return shared_model("nli", key, lambda: open_entailer(named, device))


def _load_encoder(models: Models) -> Any:
    """Load the encoder that the user has named or made; no encoder is shipped."""

    def load() -> Any:
        from histoeval.align.huggingface import HuggingFaceEncoder

        if str(models.encoder) == PUBLISHED:
            raise SettingError("'hare' names no encoder: give --encoder a folder or a hub name")
        return HuggingFaceEncoder(
            models.encoder, pooling="mean", most_tokens=10**9, runtime=_runtime(models)
        )

    return None if models.encoder is None else _loaded_once("encoder", models, load)


def _load_judge(models: Models) -> Any:
    from histoeval.judges.choice import chosen_by_environment, panel_of

    judge_choice = models.judge or chosen_by_environment()
    return None if judge_choice is None else panel_of(judge_choice)


def _loaded_once(kind: str, models: Models, load: Callable[[], T]) -> T:
    """Return a model given as an object, or load a named one once per process."""
    model_choice = getattr(models, kind)
    if not isinstance(model_choice, str | Path | None):
        return cast("T", model_choice)
    other_fields = {"reader", "aligner", "nli", "encoder", "judge"} - {kind}
    key = (models.model_dump_json(exclude=other_fields), folder_stamp(model_choice))
    return shared_model(kind, (*key, folder_stamp(models.relations)), load)


def _folder(model_choice: str | Path | None) -> Path | None:
    """Return the folder of a model in our format; None for the builtin one."""
    return None if model_choice is None or model_choice == BUILTIN else Path(model_choice)


def _runtime(models: Models) -> Any:
    from histoeval.runtime.transformer import Runtime

    return Runtime(models.device, models.dtype, models.token_budget)
