"""What people may import, and what importing costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import histoeval
from benchmarks.startup import best_of

SURFACE = {
    "Assertion",
    "EndpointError",
    "Entity",
    "EntityType",
    "HistoEvalError",
    "InputError",
    "Metric",
    "MissingDependency",
    "ModelError",
    "Models",
    "OutputError",
    "Pair",
    "Problem",
    "Relation",
    "Report",
    "Results",
    "Score",
    "SettingError",
    "Signature",
    "__version__",
    "ablate",
    "agree",
    "compare",
    "create",
    "read_reports",
    "register",
    "score",
    "trust_reports",
}


def test_the_exported_names_are_these() -> None:
    assert set(histoeval.__all__) == SURFACE
    assert all(hasattr(histoeval, name) for name in SURFACE)


def test_score_is_the_function_even_after_its_module_is_imported() -> None:
    import importlib

    importlib.import_module("histoeval.metric")
    from histoeval.metric import Score

    assert callable(histoeval.score)
    assert Score is histoeval.Score


def test_importing_brings_in_nothing_heavy() -> None:
    program = (
        "import sys, histoeval; "
        "print([m for m in ('torch', 'transformers', 'polars', 'numpy', 'nltk', 'sacrebleu', "
        "'scipy', 'rich', 'typer', 'matplotlib', 'krippendorff') if m in sys.modules])"
    )
    found = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert found.strip() == "[]"


@pytest.mark.alone
def test_importing_takes_less_than_150_ms() -> None:
    bare = best_of([sys.executable, "-c", "pass"])
    assert best_of([sys.executable, "-c", "import histoeval"]) - bare < 150


@pytest.mark.alone
def test_help_takes_less_than_400_ms() -> None:
    assert best_of([sys.executable, "-m", "histoeval.cli.main", "--help"]) < 400
