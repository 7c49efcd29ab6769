"""What people may import, and what importing costs."""

import subprocess
import sys
from pathlib import Path

import pytest

import histoeval
from benchmarks.api_speed import pair_times
from benchmarks.startup import best_of

VERBS = set(
    "agree align_judge compare contradictions explain extract judge list_metrics load register "
    "score trust write_report".split()
)
NOUNS = set(
    "Assertion CorpusScore Endpoint Entity EntityType Explanation Metric Models Pair Policy "
    "Problem Relation Report Results Score Signature".split()
)
ERRORS = set(
    "EndpointError HistoEvalError InputError MissingDependency ModelError OutputError "
    "SettingError".split()
)


def test_the_exported_names_are_these() -> None:
    assert set(histoeval.__all__) == VERBS | NOUNS | ERRORS | {"__version__"}
    assert dir(histoeval) == sorted(histoeval.__all__)
    assert all(hasattr(histoeval, name) for name in histoeval.__all__)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_is_a_function_with_an_example(verb: str) -> None:
    function = getattr(histoeval, verb)
    assert callable(function)
    assert "Examples:" in function.__doc__


def test_no_room_has_the_name_of_a_verb() -> None:
    """Python would bind the package over the function once any module of it is imported."""
    rooms = {path.name for path in Path(histoeval.__file__).parent.iterdir()}
    assert not {name for verb in VERBS for name in (verb, f"{verb}.py")} & rooms


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
def test_a_short_pair_takes_a_loaded_concordance_less_than_300_ms() -> None:
    """Less than 120 on an idle machine of two cores (`make bench`); others are slower."""
    times = pair_times()
    assert times[len(times) // 2] < 300


@pytest.mark.alone
def test_help_takes_less_than_400_ms() -> None:
    assert best_of([sys.executable, "-m", "histoeval.cli.main", "--help"]) < 400
