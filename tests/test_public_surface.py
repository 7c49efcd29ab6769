"""What people may import, and what importing costs."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest

import histoeval
from benchmarks.api_speed import pair_times
from benchmarks.startup import best_of

VERBS = {
    "agree",
    "compare",
    "contradictions",
    "explain",
    "extract",
    "judge",
    "list_metrics",
    "load",
    "register",
    "score",
    "trust",
}
NOUNS = {
    "Assertion",
    "CorpusScore",
    "Endpoint",
    "Entity",
    "EntityType",
    "Metric",
    "Models",
    "Pair",
    "Policy",
    "Problem",
    "Relation",
    "Report",
    "Results",
    "Score",
    "Signature",
}
ERRORS = {
    "EndpointError",
    "HistoEvalError",
    "InputError",
    "MissingDependency",
    "ModelError",
    "OutputError",
    "SettingError",
}


def test_the_exported_names_are_these() -> None:
    assert set(histoeval.__all__) == VERBS | NOUNS | ERRORS | {"__version__"}
    assert dir(histoeval) == sorted(histoeval.__all__)
    assert all(hasattr(histoeval, name) for name in histoeval.__all__)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_is_a_function_with_an_example(verb: str) -> None:
    function = getattr(histoeval, verb)
    assert callable(function)
    assert "Example:" in function.__doc__


@pytest.mark.parametrize("room", ["extract", "judge", "trust"])
def test_a_verb_stays_a_verb_after_the_room_of_its_name_was_imported(room: str) -> None:
    module = importlib.import_module(f"histoeval.{room}")
    assert module.__name__ == f"histoeval.{room}"
    verb = getattr(histoeval, room)
    assert (verb.__module__, verb.__name__) == ("histoeval.api", room)
    assert "data" in inspect.signature(verb).parameters


def test_modules_of_such_a_room_are_imported_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    import histoeval.extract.sentences as one
    from histoeval.extract import sentences as other

    assert one is other is histoeval.extract.sentences  # type: ignore[attr-defined]
    monkeypatch.setattr("histoeval.extract.sentences.sentences", len)
    assert other.sentences is len  # type: ignore[comparison-overlap]


@pytest.mark.parametrize("name", ["ablate", "create", "read_reports", "trust_reports"])
def test_an_old_name_works_and_warns(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"histoeval.{name} is now histoeval"):
        assert callable(getattr(histoeval, name))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="scroe"):
        _ = histoeval.scroe


def test_importing_brings_in_nothing_heavy() -> None:
    program = (
        "import sys, histoeval; "
        "print([m for m in ('torch', 'transformers', 'polars', 'numpy', 'nltk', 'sacrebleu', "
        "'scipy', 'rich', 'typer', 'matplotlib', 'krippendorff', 'pydantic') if m in sys.modules])"
    )
    found = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert found.strip() == "[]"


@pytest.mark.alone
def test_importing_takes_less_than_150_ms() -> None:
    bare = best_of([sys.executable, "-c", "pass"])
    assert best_of([sys.executable, "-c", "import histoeval"]) - bare < 150


@pytest.mark.alone
def test_a_short_pair_takes_a_loaded_concordance_less_than_60_ms() -> None:
    times = pair_times()
    assert times[len(times) // 2] < 60


@pytest.mark.alone
def test_help_takes_less_than_400_ms() -> None:
    assert best_of([sys.executable, "-m", "histoeval.cli.main", "--help"]) < 400
