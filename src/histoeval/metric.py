"""Score, Signature, the Metric protocol, and the registry that finds a metric by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated, Any, NoReturn, Protocol, cast, runtime_checkable

from pydantic import AfterValidator, FiniteFloat, ValidationError

from histoeval.errors import Problem, SettingError
from histoeval.report import Noun, Pair
from histoeval.version import __version__


class FrozenDict(dict[str, Any]):
    """A mapping that cannot be changed, so that what holds it cannot be either."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("part of a score cannot be changed; make a new one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


def frozen(value: Any) -> Any:
    """A value of JSON that cannot be changed: lists as tuples, mappings as frozen ones."""
    if isinstance(value, Mapping):
        return FrozenDict({str(key): frozen(each) for key, each in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen(each) for each in value)
    return value


Numbers = Annotated[Mapping[str, FiniteFloat], AfterValidator(FrozenDict)]
Settings = Annotated[Mapping[str, str], AfterValidator(FrozenDict)]
Evidence = Annotated[Mapping[str, Any], AfterValidator(frozen)]


class Signature(Noun):
    """One line that pins everything a number depends on."""

    metric: str
    settings: Settings = FrozenDict()
    version: str = __version__

    def __str__(self) -> str:
        settings = [f"{name}:{value}" for name, value in self.settings.items()]
        return "|".join([self.metric, *settings, f"histoeval:{self.version}"])


class Score(Noun):
    """What one metric says of one pair.

    `parts` are named numbers behind the value. `evidence` is what a person can check. `counts`
    are what the value was counted from; summed over pairs they give the corpus value of a metric
    that has one of its own, and they are empty where that is the mean.
    """

    value: FiniteFloat
    parts: Numbers = FrozenDict()
    evidence: Evidence = FrozenDict()
    counts: tuple[FiniteFloat, ...] = ()
    signature: Signature


@runtime_checkable
class Metric(Protocol):
    """What every metric can say of itself, and do."""

    @property
    def name(self) -> str:
        """What it is called in results: its specification."""

    @property
    def higher_is_better(self) -> bool:
        """Whether more is better."""

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value."""

    @property
    def signature(self) -> Signature:
        """What a number of this metric depends on."""

    def obstacle(self) -> str | None:
        """Why it cannot run on this machine, said for people; None when it can."""

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """One answer per pair, in the order of the pairs."""

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:
        """The value for a whole corpus: from the mean over pairs, or from their summed counts."""


@dataclass(frozen=True)
class MetricEntry:
    """Where a metric is found, what it compares, and the settings that make it this one."""

    target: str
    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""


METRICS: dict[str, MetricEntry] = {
    "hare": MetricEntry(
        "histoeval.metrics.hare:Hare",
        "entities and relations of both reports, aligned (HARE paper)",
    ),
    "concordance": MetricEntry(
        "histoeval.metrics.concordance:Concordance",
        "diagnosis, site, grade, stage, markers, findings, weighed as experts do",
    ),
    "rubric_offline": MetricEntry(
        "histoeval.metrics.rubric_offline:RubricOffline",
        "the four criteria of the judge's rubric, without a language model",
    ),
    "judge_rubric4": MetricEntry(
        "histoeval.metrics.judge:JudgeMetric",
        "four clinical criteria, by a language model",
        {"prompt": "rubric4"},
        needs="a judge",
    ),
    "judge_expert5": MetricEntry(
        "histoeval.metrics.judge:JudgeMetric",
        "the experts' scale from 0 to 5, by a language model",
        {"prompt": "expert5"},
        needs="a judge",
    ),
    "judge": MetricEntry(
        "histoeval.metrics.judge:JudgeMetric",
        "a prompt of your own, as in judge:prompt=mine.yaml, by a language model",
        needs="a judge",
    ),
    **{
        f"bleu_{order}": MetricEntry(
            "histoeval.metrics.bleu:Bleu", f"word n-grams up to {order}", {"order": order}
        )
        for order in (1, 2, 3, 4)
    },
    "bleu": MetricEntry("histoeval.metrics.bleu:Bleu", "word n-grams up to 4 (same as bleu_4)"),
    "rouge_1": MetricEntry("histoeval.metrics.rouge:Rouge", "single words shared", {"kind": "1"}),
    "rouge_2": MetricEntry("histoeval.metrics.rouge:Rouge", "word pairs shared", {"kind": "2"}),
    "rouge_l": MetricEntry(
        "histoeval.metrics.rouge:Rouge", "longest common subsequence of words", {"kind": "l"}
    ),
    "meteor": MetricEntry(
        "histoeval.metrics.meteor:Meteor", "words, stems and synonyms, in order", needs="WordNet"
    ),
    "chrf": MetricEntry("histoeval.metrics.chrf:Chrf", "character n-grams up to 6"),
    "reg2025": MetricEntry(
        "histoeval.metrics.reg2025:Reg2025",
        "REG2025 challenge: ROUGE-L, BLEU-4, shared entities, embedding cosine",
        needs="--encoder",
    ),
    "bertscore": MetricEntry(
        "histoeval.metrics.bertscore:BertScore",
        "tokens matched by contextual embedding",
        needs="--encoder",
    ),
    "bert_score": MetricEntry(
        "histoeval.metrics.external:PackagedBertScore",
        "BERTScore by its own package",
        needs="[peers]",
    ),
    "radgraph_xl": MetricEntry(
        "histoeval.metrics.external:RadGraphXL",
        "entities and relations of radiology reports",
        needs="[peers]",
    ),
    "ratescore": MetricEntry(
        "histoeval.metrics.external:RaTEScore",
        "entities of radiology reports by embedding",
        needs="[peers]",
    ),
    "green": MetricEntry(
        "histoeval.metrics.external:Green",
        "a language model counts errors of radiology reports",
        needs="[peers]",
    ),
    "radeval": MetricEntry(
        "histoeval.metrics.external:RadEval",
        "one of RadEval's metrics, as in radeval:metric=radgraph",
        needs="[peers]",
    ),
}
"""Every metric by name. Nothing is imported before it is asked for."""


def register(name: str, entry: MetricEntry) -> None:
    """Add a metric of your own, so that `score` and the command line find it by name."""
    METRICS[name] = entry


def create(spec: str, models: Mapping[str, object] | None = None) -> Metric:
    """Make the metric that a specification such as ``hare:mode=upstream:threshold=0.5`` names.

    Models (a reader, an aligner, an encoder) go to the metrics that have a field for them.
    """
    name, *assignments = spec.split(":")
    entry = METRICS.get(name)
    if entry is None:
        raise SettingError(f"there is no metric {name!r}; known: {', '.join(sorted(METRICS))}")
    kind = _load(entry.target)
    needed = models_of(kind)
    settings: dict[str, Any] = dict(entry.settings)
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise SettingError(f"in metric {spec!r}: {assignment!r} is not of the form name=value")
        if key in ("name", *entry.settings, *needed):
            raise SettingError(f"in metric {spec!r}: {key!r} cannot be set here")
        settings[key] = value
    settings |= {model: (models or {}).get(model) for model in needed}
    try:
        return cast(Metric, kind(name=spec, **settings))
    except ValidationError as error:
        raise SettingError(f"in metric {spec!r}: {_first_complaint(error)}") from error


def models_of(metric: object) -> tuple[str, ...]:
    """The models that a metric, or a class of metrics, has fields for."""
    needed: tuple[str, ...] = getattr(metric, "models", ())
    return needed


def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def _first_complaint(error: ValidationError) -> str:
    complaint = error.errors()[0]
    where = ".".join(str(part) for part in complaint["loc"])
    return f"{where}: {complaint['msg'].lower()}" if where else str(complaint["msg"])
