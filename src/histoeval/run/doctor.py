"""The packages and models of this machine, for `histoeval doctor` and `histoeval metrics`.

The short answers import no model and no torch, so that they come at once.
"""

import platform
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import NamedTuple

from histoeval.errors import HistoEvalError
from histoeval.judges.choice import chosen_by_environment
from histoeval.metric import Metric
from histoeval.metrics.registry import (
    MetricEntry,
    create,
    installed_plug_ins,
    metric_entries,
    models_of,
)
from histoeval.run.models import Models, load_metrics, load_reader
from histoeval.version import __version__

READY, MISSING, BROKEN = "ready", "missing", "broken"

# The models that this package brings to every metric that has a field for them.
OURS = {"reader", "aligner", "nli"}

# What each extra of this package is for; without a name, the package itself.
EXTRAS = {
    "": "scoring, explaining, extracting, judging, trust",
    "hf": "Hugging Face models, local judges",
    "slide": "slides and images",
    "documents": "reports in PDF",
    "ray": "many machines",
    "figures": "figures of agree and corpus",
    "web": "serve: runs, scores and studies in the browser",
    "research": "train, experiment, corpus, ablate, evaluate",
    "train": "training models",
    "evaluate": "metrics in Hugging Face evaluate",
    "torchmetrics": "metrics in a training loop",
    "inspect": "a scorer for inspect_ai",
    "mlflow": "runs logged to MLflow",
    "wandb": "runs logged to Weights & Biases",
    "peers": "third-party metrics",
}

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w-]+)\])?[^;]*(?:;.*extra == ['\"]([\w-]+)['\"])?")


class Item(NamedTuple):
    what: str
    state: str
    matters_for: str


class MetricState(NamedTuple):
    name: str
    summary: str
    state: str


def machine() -> str:
    return f"histoeval {__version__}, Python {platform.python_version()}, {platform.machine()}"


def overview() -> Iterator[Item]:
    for extra, purpose in EXTRAS.items():
        missing_packages = [name for name in packages(extra) if _version(name) == MISSING]
        title = f"extra [{extra}]" if extra else "histoeval"
        missing_note = f"; without {', '.join(missing_packages)}" if missing_packages else ""
        yield Item(title, MISSING if missing_packages else READY, f"{purpose}{missing_note}")
    yield Item("pandas", READY if find_spec("pandas") else MISSING, "to_pandas()")
    wordnet = _wordnet()
    yield Item("WordNet", READY if wordnet else MISSING, "synonyms in meteor")


def details() -> Iterator[Item]:
    for extra, purpose in EXTRAS.items():
        for package in packages(extra):
            yield Item(package, _version(package), f"[{extra}] {purpose}" if extra else "every run")
    try:
        reader = load_reader(Models()).identity
    except HistoEvalError as error:
        reader = f"broken: {error}"
    yield Item("builtin reader", reader, "concordance, hare, extract")
    accelerator = "unknown without torch"
    if find_spec("torch") is not None:
        import torch

        has_gpu = torch.cuda.is_available()
        accelerator = torch.cuda.get_device_name() if has_gpu else "none; runs on the CPU"
    yield Item("accelerator", accelerator, "speed of Hugging Face models")
    yield Item("pandas", _version("pandas"), "to_pandas()")
    yield Item("WordNet", str(_wordnet() or MISSING), "synonyms in meteor")


def packages(extra: str, of: str = "histoeval") -> list[str]:
    """List the packages that an extra installs; without a name, those of every installation."""
    if _version(of) == MISSING:
        return []
    names: list[str] = []
    for match in filter(None, map(_REQUIREMENT.match, requires(of) or ())):
        name, nested_extra, group = match.groups(default="")
        if group == extra:
            names += [name] if name != "histoeval" else []
            names += (
                packages(nested_extra, name)
                if nested_extra and name.startswith("histoeval")
                else []
            )
    return names


def metric_states() -> list[MetricState]:
    return [
        MetricState(name, entry.summary, "untested" if entry.untested else _state(name, entry))
        for name, entry in metric_entries().items()
    ]


def ready_line(states: Iterable[MetricState]) -> str:
    all_metrics = list(states)
    names_by_state: dict[str, list[str]] = {}
    for metric in all_metrics:
        if metric.state != READY:
            names_by_state.setdefault(metric.state, []).append(metric.name)
    count = sum(metric.state == READY for metric in all_metrics)
    line = f"{count} of {len(all_metrics)} metrics are ready"
    groups = [f"{', '.join(names)} ({state})" for state, names in names_by_state.items()]
    return f"{line}; the others: {'; '.join(groups)}." if groups else f"{line}."


def plug_ins() -> list[str]:
    return [name for name, entry in metric_entries().items() if not entry.is_ours]


def plug_in_problems() -> list[str]:
    reasons = [reason for name in plug_ins() if (reason := _why_broken(name))]
    return [*reasons, *installed_plug_ins()[1]]


def _why_broken(name: str) -> str | None:
    try:
        create(name).unavailable_reason()
    except HistoEvalError as error:
        return str(error) if repr(name) in str(error) else f"the metric {name!r}: {error}"
    except Exception as error:  # noqa: BLE001 - whatever a plug-in raises
        return f"the metric {name!r} is broken: {type(error).__name__}: {error}"
    return None


def metric_details(name: str) -> tuple[Metric | None, str | None]:
    """Return a metric with its models, and why it cannot run; None if it cannot be created."""
    if (
        (entry := metric_entries().get(name))
        and not entry.is_ours
        and (reason := _why_broken(name))
    ):
        return None, reason  # a broken plug-in does not hide the other metrics
    try:
        (metric,) = load_metrics([name])
    except HistoEvalError as error:
        return None, str(error)
    return metric, metric.unavailable_reason()


def _state(name: str, entry: MetricEntry) -> str:
    if entry.is_ours and not entry.needs:
        return READY
    if not entry.is_ours and _why_broken(name):
        return BROKEN
    metric = create(name)
    needed_models = models_of(metric)
    if "judge" in needed_models and chosen_by_environment() is not None:
        return READY
    if not metric.unavailable_reason() or (needed_models and not set(needed_models) - OURS):
        return READY
    return f"needs {entry.needs}" if entry.needs else "not ready"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return MISSING


def _wordnet() -> object:
    from histoeval.metrics import wordnet  # it imports nltk, and that scipy

    return wordnet.find()
