"""One number for one question: on the page of a run, in the terminal, and in the browser."""

import random
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

import histoeval
from histoeval.cli.main import app
from histoeval.view.terminal.agreement import interval, p_text
from histoeval.web.app import create_app
from histoeval.web.run_index import RunIndex
from tests.web.conftest import HOME, TOKEN, enter

REFERENCE = "Left breast, core biopsy: invasive ductal carcinoma of grade 2, 24 mm, ER positive."


def records(draw: random.Random) -> list[dict[str, Any]]:
    """Two systems that leave words out, the first named less often."""
    words = REFERENCE.split()
    made = [
        {
            "id": f"case {number}",
            "reference": REFERENCE,
            **{
                system: " ".join(word for word in words if draw.random() < share)
                for system, share in (("poor", 0.6), ("good", 0.75))
            },
        }
        for number in range(30)
    ]
    draw.shuffle(made)
    return made


def plain(page: str) -> str:
    """The words of a page."""
    page = re.sub(r"<(svg|script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_a_run_has_one_interval_and_one_p_wherever_it_is_shown(tmp_path: Path) -> None:
    made = records(random.Random(4))
    run = tmp_path / "run"
    histoeval.score(made, metrics="rouge_l", candidate=["poor", "good"], output=run)
    found = histoeval.compare(run).contest
    page = plain(histoeval.write_report(run).read_text("utf-8"))
    client = enter(TestClient(create_app(tmp_path, token=TOKEN), base_url=HOME))
    (stored,) = RunIndex(tmp_path).runs()
    served = plain(client.get(f"/runs/{stored.id}/").text)
    board = plain(client.get("/leaderboard?metric=rouge_l").text)
    beside = plain(client.get(f"/compare?run={stored.id}&metric=rouge_l").text)
    command = ["compare", str(run), "--format", "markdown"]
    terminal = plain(CliRunner().invoke(app, command).output.replace("|", " "))
    for each in found.systems:
        mean, low, high = (f"{x:.3f}" for x in (each.mean.value, each.mean.low, each.mean.high))
        for text in (page, served):
            assert f"{each.system} {mean} {low} to {high} 30 of 30" in text
        assert f"{each.system} run {mean} ({low} to {high})" in board
        for text in (page, served, terminal, beside):
            assert f"{each.system} {each.rank} {interval(each.mean)}" in text
    (duel,) = found.duels
    p = p_text(duel.p)
    assert p == "1.0e-04"
    for text in (page, served, terminal, beside):
        assert f"{interval(duel.difference)} {p} {p_text(duel.holm)}" in text


def test_the_order_of_pairs_and_of_systems_changes_no_number(tmp_path: Path) -> None:
    made = records(random.Random(4))
    results = []
    for place, pairs in enumerate((made, made[::-1])):
        for system in ("poor", "good")[:: 1 - 2 * place]:
            run = tmp_path / str(place) / system
            histoeval.score(pairs, metrics="rouge_l", candidate=[system], output=run)
        runs = list((tmp_path / str(place)).iterdir())
        results.append(histoeval.compare(sorted(runs, reverse=bool(place))).contest)
    one, other = results
    for each in one.systems:
        (again,) = (same.mean for same in other.systems if same.system == each.system)
        assert (again.low, again.high) == pytest.approx((each.mean.low, each.mean.high))
    assert one.duels[0].p == other.duels[0].p


def test_systems_stand_in_one_order_on_the_whole_page(tmp_path: Path) -> None:
    pairs = [
        {
            "id": str(number),
            "reference": "Left breast: invasive ductal carcinoma, grade 2. ER positive.",
            "wrong": "Right breast: fibroadenoma.",
            "right": "Left breast: invasive ductal carcinoma, grade 2. ER positive.",
        }
        for number in range(4)
    ]
    run = tmp_path / "run"
    histoeval.score(pairs, metrics="bleu,concordance", candidate=["wrong", "right"], output=run)
    page = histoeval.write_report(run).read_text("utf-8")
    named = re.findall(r"<(?:dt|th scope=\"row\"|td)>(right|wrong)<", page)
    assert len(named) >= 8
    assert named == ["right", "wrong"] * (len(named) // 2)
