"""A name that is not known suggests the nearest one, wherever it was given."""

from collections.abc import Callable
from pathlib import Path

import pytest

from histoeval.cli.trust import dimensions_of
from histoeval.errors import HistoEvalError, did_you_mean
from histoeval.io.files import check_there
from histoeval.judges.prompt import load_prompt
from histoeval.metrics.registry import create
from histoeval.pathgls.policy.policy import policy_file
from histoeval.pathgls.stability.distance import open_distance
from histoeval.pathgls.stability.examine import load_instruction
from histoeval_research.experiments.ablate import variants


@pytest.mark.parametrize(
    ("given", "known", "guess"),
    [
        ("refrence", ["reference", "candidate"], " (did you mean 'reference'?)"),
        ("REFERENCE", ["reference"], " (did you mean 'reference'?)"),
        ("refrence", ["Reference"], " (did you mean 'Reference'?)"),
        ("x", ["reference"], ""),
        ("x", [], ""),
        ("", ["reference"], ""),
        ("repor\u202et", ["report\u202e"], r" (did you mean 'report\u202e'?)"),
    ],
)
def test_the_nearest_name_is_suggested(given: str, known: list[str], guess: str) -> None:
    assert did_you_mean(given, known) == guess


@pytest.mark.parametrize(
    ("spec", "guess"),
    [
        ("concordanc", "concordance"),
        ("rougel", "rouge_l"),
        ("BLUE", "bleu"),
        ("hare:treshold=0.5", "threshold"),
        ("hare:Mode=paper", "mode"),
    ],
)
def test_a_metric_and_its_settings(spec: str, guess: str) -> None:
    with pytest.raises(HistoEvalError, match=f"did you mean '{guess}'"):
        create(spec)


def test_a_file_is_looked_for_beside_the_one_that_was_named(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").touch()
    with pytest.raises(HistoEvalError, match=r"pair\.csv does not exist \(did you mean 'pairs\.cs"):
        check_there(tmp_path / "pair.csv")
    with pytest.raises(HistoEvalError, match=r"pairs\.csv does not exist$"):
        check_there(tmp_path / "nowhere" / "pairs.csv")


@pytest.mark.parametrize(
    ("wrong", "guess"),
    [
        (lambda: load_prompt("rubric"), "rubric4"),
        (lambda: load_instruction("wrong_sight", "attack"), "wrong_site"),
        (lambda: open_distance("concordanse"), "concordance"),
        (lambda: dimensions_of(["logik"]), "logic"),
        (lambda: policy_file("txt_only"), "text_only"),
        (lambda: variants(["concordanse"]), "concordance"),
    ],
)
def test_prompts_distances_dimensions_policies_and_variants(
    wrong: Callable[[], object], guess: str
) -> None:
    with pytest.raises(HistoEvalError, match=f"did you mean '{guess}'"):
        wrong()
