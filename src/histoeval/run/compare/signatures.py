"""Whether scores were made in the same way: the signatures of a metric in several files."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from histoeval.errors import InputError
from histoeval.io.results import read_summary

LIBRARIES = "nltk|numpy|onnxruntime|rouge_score|sacrebleu|scipy|tokenizers|torch|transformers"
"""Libraries whose version a signature names, and which compute what our code asks them to.

The version of histoeval, and that of a package that is itself the metric (`radgraph`), are not
among them: there another version may be another metric."""

_VERSION = re.compile(rf"(?<=[|/])({LIBRARIES})(:?)(\d[^|/]*)")


def shared_description(
    files: Sequence[Path], metric: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What the summaries say of a metric, with notes on what could not be checked or differs.

    Scores that differ in more than the versions of libraries were made differently and cannot be
    compared.
    """
    found = {file: each for file in files if (each := read_summary(file).get(metric)) is not None}
    signatures = {file: str(each.get("signature", "")) for file, each in found.items()}
    _demand_same(signatures, metric)
    about: dict[str, Any] = next((dict(each) for each in found.values()), {})
    return about, (*_unknown(files, signatures, metric), *_versions(signatures.values()))


def _demand_same(signatures: dict[Path, str], metric: str) -> None:
    (first, one), *others = signatures.items() or [(Path(), "")]
    for file, other in others:
        if without_versions(one) != without_versions(other):
            raise InputError(
                f"{first} and {file} hold {metric} made in different ways, which cannot be "
                f"compared: {differences(one, other)}. Score both with the same version and "
                f"settings. The signatures: {one} and {other}"
            )


def differences(one: str, other: str) -> str:
    """The settings in which two signatures differ, as in `threshold: 0.5 and 0.7`."""
    first, second = (_settings(each) for each in (one, other))
    return "; ".join(
        f"{name}: {first.get(name, 'none')} and {second.get(name, 'none')}"
        for name in dict.fromkeys([*first, *second])
        if first.get(name) != second.get(name)
    )


def _settings(signature: str) -> dict[str, str]:
    pairs = [part.partition(":") for part in signature.split("|")]
    return {name: value or "yes" for name, _, value in pairs}


def _unknown(files: Sequence[Path], known: dict[Path, str], metric: str) -> tuple[str, ...]:
    lacking = [str(file) for file in files if file not in known]
    if not lacking or len(files) == 1:
        return ()
    return (
        f"WARNING: it is not known how {metric} in {', '.join(lacking)} was made, as there is no "
        "summary.json beside the scores: whether it can be compared was not checked.",
    )


def _versions(signatures: Any) -> tuple[str, ...]:
    versions: dict[str, dict[str, None]] = {}
    for signature in signatures:
        for name, _, version in _VERSION.findall(signature):
            versions.setdefault(name, {})[version] = None
    several = [f"{name} {' and '.join(v)}" for name, v in versions.items() if len(v) > 1]
    if not several:
        return ()
    return (
        f"The scores were made with different versions of libraries ({'; '.join(several)}); "
        "models and settings are the same.",
    )


def without_versions(signature: str) -> str:
    """A signature without the versions of libraries: scores that share it can be compared."""
    return _VERSION.sub(r"\1", signature)
