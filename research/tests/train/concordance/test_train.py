"""From scored sheets to weights, figures and a card."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from histoeval.align.aligner import LexicalAligner
from histoeval.concordance.rubric import CRITERIA
from histoeval.concordance.weights import TERMS, read_combinations
from histoeval.errors import InputError
from histoeval_research.train.concordance import train as concordance_train
from histoeval_research.train.concordance.train import (
    ConcordanceSettings,
    FitData,
    SheetFile,
    figures_of,
    train_concordance,
)
from tests.support.report_builder import MarkedReader, report

ORGANS = {
    "breast": ("invasive ductal carcinoma", "carcinoma", "fibroadenoma"),
    "colon": ("adenocarcinoma", "carcinoma", "tubular adenoma"),
    "kidney": ("clear cell renal cell carcinoma", "carcinoma", "oncocytoma"),
    "skin": ("melanoma", "malignant neoplasm", "intradermal naevus"),
    "thyroid": ("papillary carcinoma", "carcinoma", "follicular adenoma"),
    "prostate": ("acinar adenocarcinoma", "carcinoma", "nodular hyperplasia"),
}


def marked(organ: str, diagnosis: str, grade: int) -> str:
    return f"{{site:{organ.title()}}}: {{diagnosis:{diagnosis}}}, {{grade:grade {grade}}}."


def rows() -> list[dict[str, Any]]:
    """For each organ and grade a case: the same, a vaguer word, a wrong grade, a wrong call."""
    found = []
    for organ, (right, vague, wrong) in ORGANS.items():
        for grade in (1, 3):
            said = [(right, grade), (right, 4 - grade), (vague, grade), (wrong, grade)]
            for rank, (diagnosis, its_grade) in enumerate(said):
                found.append(
                    {
                        "case": f"{organ} {grade}",
                        "set": "ours" if grade == 1 else "theirs",
                        "reference": marked(organ, right, grade),
                        "candidate": marked(organ, diagnosis, its_grade),
                        "score": [5.0, 3.5, 2.0, 0.0][rank],
                        **{name: max(1, top - rank) for name, top in CRITERIA.items()},
                    }
                )
    return found


READER = MarkedReader([row[side] for row in rows() for side in ("reference", "candidate")])


def write_sheet(file: Path, given: list[dict[str, Any]]) -> Path:
    plain = [
        row | {side: report(row[side]).text for side in ("reference", "candidate")} for row in given
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in plain), "utf-8")
    return file


def settings_of(file: Path, **changes: Any) -> ConcordanceSettings:
    sheet = SheetFile(file=file, name="made up", score="score", set="set", criteria=True)
    told = {"sheets": (sheet,), "folds": 2, "notes": "Written by us."} | changes
    return ConcordanceSettings.model_validate(told)


@pytest.fixture(scope="module", autouse=True)
def one_strength() -> Iterator[None]:
    """Choosing the strength is tested with the fit; here one is enough."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(concordance_train, "STRENGTHS", concordance_train.STRENGTHS[:1])
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("concordance")
    settings = settings_of(write_sheet(folder / "sheet.jsonl", rows()))
    return folder / "out", train_concordance(settings, folder / "out", READER, LexicalAligner())


def test_weights_are_written_that_can_be_read(trained: tuple[Path, dict[str, Any]]) -> None:
    combinations = read_combinations(trained[0] / "combination.json")
    assert set(combinations.criteria) == set(CRITERIA)
    perfect: dict[str, float | None] = {}
    assert combinations.expert(perfect) == 5.0


def test_the_known_order_is_followed_on_cases_that_were_not_seen(
    trained: tuple[Path, dict[str, Any]],
) -> None:
    _, results = trained
    assert results["pairs"] == 4 * results["groups"] == 4 * 2 * len(ORGANS)
    assert set(results["expert"]["sets"]) == {"ours", "theirs"}
    assert results["expert"]["all"]["all"]["spearman"] > 0.8
    assert results["expert"]["all"]["pairs"] == results["pairs"]
    assert results["expert"]["all"]["above_lowest"] == results["pairs"] * 3 // 4
    assert results["criteria"]["overall_equivalence"]["all"]["quadratic_kappa"] > 0.5


def test_results_and_card_say_what_was_fitted_to_what(trained: tuple[Path, dict[str, Any]]) -> None:
    folder, results = trained
    assert json.loads((folder / "results.json").read_text("utf-8")) == results
    card = (folder / "README.md").read_text("utf-8")
    for words in ("sheet.jsonl", "marked by hand", "Written by us.", "ours", "theirs"):
        assert words in card
    assert "{" not in card
    weights = read_combinations(folder / "combination.json").expert.weights
    assert all(term.replace("*", " \N{MULTIPLICATION SIGN} ") in card for term in weights)
    assert str(folder) not in card + json.dumps(results)


def test_the_same_sheet_gives_the_same_weights(
    trained: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    settings = settings_of(write_sheet(tmp_path / "sheet.jsonl", rows()))
    again = train_concordance(settings, tmp_path / "out", READER, LexicalAligner())
    assert again == trained[1]
    written = [
        (folder / "combination.json").read_bytes() for folder in (trained[0], tmp_path / "out")
    ]
    assert written[0] == written[1]


def test_cases_that_share_a_reference_are_one_case(tmp_path: Path) -> None:
    some = rows()[:16]
    twins = [row | {"case": f"twin of {row['case']}"} for row in some]
    file = write_sheet(tmp_path / "sheet.jsonl", some + twins)
    results = train_concordance(settings_of(file), tmp_path / "out", READER, LexicalAligner())
    assert results["pairs"] == 2 * len(some)
    assert results["groups"] == len({row["case"] for row in some})


def refused(file: Path, **changes: Any) -> str:
    with pytest.raises(InputError) as told:
        train_concordance(
            settings_of(file, **changes), file.parent / "out", READER, LexicalAligner()
        )
    assert not (file.parent / "out").exists()
    return str(told.value)


def test_what_cannot_be_fitted_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    file = write_sheet(tmp_path / "sheet.jsonl", rows())
    bare = (SheetFile(file=file, score="score", set="set"),)
    assert "criteria: true" in refused(file, sheets=bare)
    empty = write_sheet(tmp_path / "empty.jsonl", [row | {"score": None} for row in rows()])
    assert "no pair has all of the scores" in refused(empty)
    one = write_sheet(tmp_path / "one.jsonl", rows()[:4])
    assert "too few cases" in refused(one)
    worded = write_sheet(tmp_path / "worded.jsonl", [*rows()[:8], rows()[8] | {"score": "good"}])
    assert "not a number" in refused(worded)


@pytest.mark.parametrize("lowest", [0.0, 1.0])
def test_the_lowest_score_is_not_taken_for_a_higher_one(lowest: float) -> None:
    true = np.array([lowest, lowest, 3.0, 4.0])
    names = np.array(["a"] * 4)
    scored = FitData(np.ones((4, len(TERMS))), true, names, names)
    assert figures_of(scored, true, names == "a")["quadratic_kappa"] == 1.0
