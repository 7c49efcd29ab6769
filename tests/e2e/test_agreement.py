"""From a sheet to a page, as a user goes: score, agree, compare."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.support.command import Outcome, histoeval_here
from tests.support.rating_sheets import rows, write

QUICK = ("--resamples", "100", "--permutations", "20")


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    return partial(histoeval_here, cwd=tmp_path, monkeypatch=monkeypatch, capsys=capsys)


def test_a_sheet_becomes_scores_figures_and_a_ranking(
    here: Callable[..., Outcome], tmp_path: Path
) -> None:
    table = [{**each, "id": f"p{number // 2}"} for number, each in enumerate(rows())]
    write(tmp_path / "sheet.csv", table)
    scored = here("score", "sheet.csv", "--metrics", "bleu,rouge_l", "--output", "scored")
    assert scored.code == 0, scored.err
    agreed = here("agree", "sheet.csv", "--scores", "scored", "--output", "out", "--report", *QUICK)
    assert agreed.code == 0, agreed.err
    content = json.loads((tmp_path / "out" / "agreement.json").read_text("utf-8"))
    assert content["command"].startswith("histoeval agree sheet.csv --scores scored")
    assert content["command"] in (tmp_path / "out" / "report.md").read_text("utf-8")
    compared = here("compare", "scored", "--metric", "bleu", *QUICK)
    assert compared.code == 0, compared.err
    assert "Mean bleu on 12 pairs" in compared.out


def test_what_cannot_be_studied_exits_with_2_and_a_sentence(here: Callable[..., Outcome]) -> None:
    outcome = here("agree", "nowhere.tsv")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "histoeval: nowhere.tsv does not exist\n"
