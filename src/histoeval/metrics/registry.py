"""Every metric by its name: those of this package, registered ones, and plug-ins.

A package of your own adds metrics by entry points; nothing is imported before it is used::

    [project.entry-points."histoeval.metrics"]
    mine = "my_package.metrics:MyMetric"
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter
from typing import Any, TypeVar, overload

from pydantic import ValidationError

from histoeval.errors import HistoEvalError, SettingError, did_you_mean, explain_validation
from histoeval.metric import Metric
from histoeval.metrics.base import as_metric
from histoeval.resources import load_toml

M = TypeVar("M", bound=Callable[..., Any])
GROUP = "histoeval.metrics"  # the entry point group of plug-ins


@dataclass(frozen=True)
class MetricEntry:
    """The target, summary and fixed settings of a metric.

    `target` is ``module:name``, or the class or factory itself; it is called with `name` (the
    specification) and the settings.
    """

    target: str | Callable[..., Any]
    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    untested: str = ""  # why it was never run with its real model; empty where it was

    @property
    def is_ours(self) -> bool:
        return isinstance(self.target, str) and self.target.startswith("histoeval.metrics.")

    def resolve(self) -> Callable[..., Any]:
        if not isinstance(self.target, str):
            return self.target
        module, _, attribute = self.target.partition(":")
        target: Any = attrgetter(attribute.strip())(import_module(module.strip()))
        return target  # type: ignore[no-any-return]


@dataclass(frozen=True)
class MetricInfo:
    """One line of `list_metrics`: the name, what it compares, and what it needs besides."""

    name: str
    summary: str
    needs: str = ""
    untested: str = ""  # why it was never run with its real model
    unavailable: str | None = None  # why it cannot run here; only looked at with ``runnable=True``


# the metrics of this package and those that were registered. Nothing is imported before use
METRICS: dict[str, MetricEntry] = {
    name: MetricEntry(**entry | {"target": f"histoeval.metrics.{entry['target']}"})
    for name, entry in load_toml("metrics/data/metrics.toml").items()
}


@overload
def register(name: str) -> Callable[[M], M]: ...
@overload
def register(name: str, entry: MetricEntry) -> None: ...
def register(name: str, entry: MetricEntry | None = None) -> Callable[[M], M] | None:
    """Add a metric of your own, so that `load`, `score` and the command line find it by name.

    Args:
        name: what it is called in ``metrics=`` and in results.
        entry: where it is found; without it `register` is a decorator of a class or factory.

    Examples:
        >>> @histoeval.register("same_length")
        ... class SameLength(PairMetric):
        ...     def score_pair(self, reference, candidate):
        ...         return Score(value=len(reference) == len(candidate), signature=self.signature)
    """
    if entry is not None:
        METRICS[name] = entry
        return None

    def enter(target: M) -> M:
        summary = (inspect.getdoc(target) or "").partition("\n")[0].rstrip(".")
        METRICS[name] = MetricEntry(target, summary)
        return target

    return enter


@cache
def installed_plug_ins() -> tuple[dict[str, MetricEntry], tuple[str, ...]]:
    """Return plug-ins by name (the first of a name counts), and why the others are ignored."""
    usable: dict[str, MetricEntry] = {}
    ignored: list[str] = []
    for point in entry_points(group=GROUP):
        package = point.dist.name if point.dist else "an unknown package"
        reason = ""
        if not point.name or set(point.name) & set(":,= \t"):
            reason = "a name has no colon, comma, equals sign or space"
        elif EntryPoint.pattern.fullmatch(point.value) is None or ":" not in point.value:
            reason = f"its entry point must be of the form module:Class, and is {point.value!r}"
        elif point.name in usable:
            reason = f"{usable[point.name].summary} has one of that name"
        elif point.name in METRICS and METRICS[point.name].is_ours:
            reason = "a metric of histoeval has that name; rename the entry point"
        else:
            usable[point.name] = MetricEntry(point.value, f"plug-in of {package}")
        if reason:
            ignored.append(f"the metric {point.name!r} of {package} is ignored: {reason}")
    return usable, tuple(ignored)


def metric_entries() -> dict[str, MetricEntry]:
    """Every metric by name: ours and registered ones, then plug-ins, which cannot replace ours."""
    usable, _ = installed_plug_ins()
    return METRICS | {name: entry for name, entry in usable.items() if name not in METRICS}


def create(spec: str, models: Mapping[str, object] | None = None, **settings: Any) -> Metric:
    """Make the metric that a specification such as ``hare:mode=upstream:threshold=0.5`` names.

    Settings can also be given by keyword. Models (a reader, an aligner, an encoder) go to the
    metrics that have a field for them; `histoeval.load` finds them by itself.
    """
    name, *assignments = spec.split(":")
    entry, kind = _resolve(name)
    needed = models_of(kind)
    chosen_settings: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise SettingError(f"in metric {spec!r}: {assignment!r} is not of the form name=value")
        chosen_settings[key] = value
    for key in (chosen_settings := chosen_settings | settings):
        if key in ("name", *entry.settings, *needed):
            raise SettingError(f"in metric {spec!r}: {key!r} cannot be set here")
    full_name = ":".join([spec, *(f"{key}={value}" for key, value in settings.items())])
    filled: dict[str, Any] = {model: (models or {}).get(model) for model in needed}
    parameters = inspect.signature(kind).parameters
    if "name" in parameters or any(
        parameter.kind == parameter.VAR_KEYWORD for parameter in parameters.values()
    ):
        filled["name"] = full_name  # somebody else's class need not take the name it is found by
    try:
        metric = kind(**{**entry.settings, **chosen_settings, **filled})
    except ValidationError as error:
        settable = [key for key in parameters if key not in ("name", *entry.settings, *needed)]
        raise SettingError(f"in metric {spec!r}: {_first_complaint(error, settable)}") from error
    except Exception as error:  # whatever a plug-in raises
        if name in METRICS or isinstance(error, HistoEvalError):
            raise
        raise _load_error(name, entry, error) from error
    try:
        return as_metric(metric)
    except SettingError as error:
        raise SettingError(f"the metric {name!r} cannot be used: {error}") from error


def models_of(metric: object) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(metric, "models", ())
    return names


def models_needed(specs: Iterable[str]) -> set[str]:
    return {model for spec in specs for model in models_of(_resolve(spec.partition(":")[0])[1])}


def _resolve(name: str) -> tuple[MetricEntry, Callable[..., Any]]:
    entries = metric_entries()
    if (entry := entries.get(name)) is None:
        guess = did_you_mean(name, entries)
        names = ", ".join(sorted(entries))
        raise SettingError(f"there is no metric {name!r}{guess}; known: {names}")
    try:
        kind = entry.resolve()
        inspect.signature(kind)  # or it is nothing that can be called
        return entry, kind
    except (Exception, SystemExit) as error:  # whatever a plug-in does when it is imported
        if name in METRICS:
            raise
        raise _load_error(name, entry, error) from error


def _load_error(name: str, entry: MetricEntry, error: BaseException) -> SettingError:
    message = f"the metric {name!r}, a {entry.summary}, cannot be loaded"
    return SettingError(f"{message}: {type(error).__name__}: {error}")


def _first_complaint(error: ValidationError, settings: Sequence[str]) -> str:
    fault = error.errors()[0]
    if fault["type"] != "unexpected_keyword_argument":
        return explain_validation(error, "")
    name = ".".join(map(str, fault["loc"]))
    choices = "it has none (a setting is a field of a @dataclass(frozen=True))"
    if settings:
        choices = f"there are {', '.join(settings)}"
    return f"there is no setting {name!r}{did_you_mean(name, settings)}; {choices}"
