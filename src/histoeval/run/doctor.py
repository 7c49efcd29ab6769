"""What this machine has, for `histoeval doctor` and for people who report a problem."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, NamedTuple

from histoeval.errors import HistoEvalError
from histoeval.metrics import wordnet
from histoeval.metrics.registry import METRICS, create
from histoeval.run.models import Models, load_models
from histoeval.version import __version__

CORE = ("numpy", "pydantic", "polars", "sacrebleu", "rouge-score", "nltk", "rapidfuzz")
ONNX = ("onnxruntime", "tokenizers")
HF = ("torch", "transformers")
SLIDE = ("openslide-python", "openslide-bin", "tifffile", "imagecodecs", "wsidicom", "pillow")


class Item(NamedTuple):
    """One thing that is here or not."""

    what: str
    state: str
    matters_for: str


def examine() -> Iterator[Item]:
    """Everything worth knowing about this machine."""
    yield Item("histoeval", __version__, "")
    yield Item("python", f"{platform.python_version()}, {platform.machine()}", "")
    for package in CORE:
        yield Item(package, _state(package), "every run")
    for package in ONNX:
        yield Item(package, _state(package), "the builtin reader")
    reader, models = _reader()
    yield Item("builtin reader", reader, "hare, extract")
    for package in HF:
        yield Item(package, _state(package), "extra [hf]: Hugging Face readers and aligners")
    for package in SLIDE:
        yield Item(package, _state(package), "extra [slide]: slides and images")
    yield Item("accelerator", _accelerator(), "speed of Hugging Face models")
    yield Item("pandas", _state("pandas"), "Results.to_pandas()")
    found = wordnet.find()
    yield Item("WordNet", str(found) if found else "missing", "synonyms in meteor")
    for name in METRICS:
        yield Item(f"metric {name}", create(name, models).unavailable_reason() or "ready", "")


def _reader() -> tuple[str, dict[str, Any]]:
    """Whether the reader of this package can be loaded, and what the metrics are given then."""
    try:
        models = load_models(list(METRICS), Models())
    except HistoEvalError as error:
        return f"broken: {error}", {}
    return models["reader"].identity, models


def _state(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _accelerator() -> str:
    if find_spec("torch") is None:
        return "unknown without torch"
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "none; runs on the CPU"
