"""From a sheet to a page, as a user goes: score, agree, compare, in processes of their own."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command import histoeval
from tests.support.rating_sheets import rows, write


def test_a_sheet_becomes_scores_figures_and_a_ranking(tmp_path: Path) -> None:
    table = [{**each, "id": f"p{number // 2}"} for number, each in enumerate(rows())]
    write(tmp_path / "sheet.csv", table)
    scored = histoeval(
        "score", "sheet.csv", "--metrics", "bleu,rouge_l", "--output", "scored", cwd=tmp_path
    )
    assert scored.code == 0, scored.err
    quick = ("--resamples", "100", "--permutations", "20")
    agreed = histoeval(
        "agree", "sheet.csv", "--scores", "scored", "--output", "out", "--report", *quick,
        cwd=tmp_path,
    )  # fmt: skip
    assert agreed.code == 0, agreed.err
    content = json.loads((tmp_path / "out" / "agreement.json").read_text("utf-8"))
    assert content["command"].startswith("histoeval agree sheet.csv --scores scored")
    assert content["command"] in (tmp_path / "out" / "report.md").read_text("utf-8")
    compared = histoeval("compare", "scored", "--metric", "bleu", *quick, cwd=tmp_path)
    assert compared.code == 0, compared.err
    assert "Mean bleu on 12 pairs" in compared.out


def test_what_cannot_be_studied_exits_with_2_and_a_sentence(tmp_path: Path) -> None:
    outcome = histoeval("agree", "nowhere.tsv", cwd=tmp_path)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "histoeval: nowhere.tsv does not exist\n"
