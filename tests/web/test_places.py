"""The places of the server: what they show is right, and nothing in a run can do harm there."""

import csv
import io
import re
import threading
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from histoeval.api import score
from histoeval.cli.main import app
from histoeval.run.history import about_run, stored_runs
from histoeval.web import runs
from histoeval.web.app import create_app
from histoeval.web.run_index import RunIndex
from tests.support.challenges import TRUTH, a_challenge, changed, team
from tests.support.served_runs import EVIL, REASON, RUBRIC_REASON, write_runs
from tests.web.conftest import HOME, TOKEN, enter


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def client(folder: Path) -> TestClient:
    return enter(TestClient(create_app(folder, token=TOKEN), base_url=HOME))


@pytest.fixture(scope="module")
def ids(folder: Path) -> dict[str, str]:
    return {run.name: run.id for run in RunIndex(folder).runs()}


def addresses(ids: dict[str, str]) -> list[str]:
    first, second = ids["first"], ids["nested/second"]
    return [
        "/",
        "/score",
        f"/runs/{first}/",
        f"/compare?run={first}",
        f"/compare?run={first}&run={second}&metric=chrf",
        "/compare",
        "/leaderboard",
        "/leaderboard?metric=chrf",
        f"/runs/{ids['judged']}/reasons",
        "/review",
        f"/review?run={ids['trust']}&state=all",
        f"/review/{ids['trust']}/3",
    ]


def test_no_text_of_a_run_becomes_part_of_a_page(client: TestClient, ids: dict[str, str]) -> None:
    for address in addresses(ids):
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert "<script>alert" not in answer.text, address
        assert "<img src=x" not in answer.text, address
        assert not re.search("[\u202e\x1b]", answer.text), address


def test_no_page_names_a_folder(client: TestClient, ids: dict[str, str], folder: Path) -> None:
    for address in [*addresses(ids), "/runs/none/", f"/compare?run={ids['first']}&metric=hare"]:
        assert str(folder) not in client.get(address).text, address
    assert "not every file has scores of" in client.get(address).text


@pytest.mark.parametrize("name", ["..", "%2e%2e", "..%2f..%2fetc", "first", "a" * 5000, "%00"])
def test_an_id_that_is_none_leads_nowhere(client: TestClient, name: str) -> None:
    for address in ("/runs/{}/", "/runs/{}/reasons", "/runs/{}/as/csv", "/review/{}/1"):
        answer = client.get(address.format(name))
        assert answer.status_code == 404 or answer.url.path == "/", address


def test_a_picture_is_one_of_the_run(client: TestClient, ids: dict[str, str], folder: Path) -> None:
    evidence = folder / "trust" / "evidence"
    evidence.mkdir(exist_ok=True)
    (evidence / "1_spot.png").write_bytes(b"png")
    place = f"/runs/{ids['trust']}/evidence"
    assert client.get(f"{place}/1_spot.png").content == b"png"
    for name in ("..%2ftrust.jsonl", "2_spot.png"):
        assert client.get(f"{place}/{name}").status_code == 404


def test_the_leaderboard_ranks_all_runs_on_the_same_pairs(client: TestClient) -> None:
    text = client.get("/leaderboard?metric=bleu").text
    assert "8 pairs" in text
    ranks = re.findall(r'<tr[^>]*><td class="n">(\d)</td><td>(alpha|beta)', text)
    assert [rank for rank, _ in ranks] == ["1", "1", "2", "2"]
    assert "History" in text


def test_systems_are_compared_by_wins(client: TestClient, ids: dict[str, str]) -> None:
    text = client.get(f"/compare?run={ids['first']}").text
    assert 'aria-label="8 won, 0 tied, 0 lost"' in text
    assert "Where they differ most" in text
    assert f"/runs/{ids['first']}/#pair-" in text


def test_where_systems_differ_errors_have_their_severity(tmp_path: Path) -> None:
    reference = "Left breast: invasive ductal carcinoma, grade 2. ER positive."
    pair = {"id": "one", "reference": reference, "good": reference, "bad": "Right breast: benign."}
    score([pair], metrics="concordance", candidate=["good", "bad"], output=tmp_path / "run")
    client = enter(TestClient(create_app(tmp_path, token=TOKEN), base_url=HOME))
    (run,) = RunIndex(tmp_path).runs()
    text = client.get(f"/compare?run={run.id}").text
    assert '<span class="severity critical">critical</span> ' in text
    assert "<td>no errors</td>" in text


def test_runs_that_cannot_be_compared_are_not_offered_and_too_few_are_told(tmp_path: Path) -> None:
    for name, id_ in (("one", "a"), ("two", "a"), ("apart", "b")):
        pair = {"id": id_, "reference": "Colon: adenoma.", "candidate": f"Colon: adenoma, {name}."}
        score([pair], metrics="bleu", output=tmp_path / name)
    client = enter(TestClient(create_app(tmp_path, token=TOKEN), base_url=HOME))
    ids = {run.name: run.id for run in RunIndex(tmp_path).runs()}
    text = client.get("/compare").text
    assert all(f'value="{ids[name]}"' in text for name in ("one", "two"))
    assert f'value="{ids["apart"]}"' not in text
    assert "shares no pairs with another run: apart." in text
    assert "Tick a run of two systems" in client.get("/compare?metric=bleu").text
    alone = client.get(f"/compare?run={ids['one']}&metric=bleu").text
    assert "one has one system: tick another run beside it." in alone


def test_judge_and_rubric_stand_side_by_side(client: TestClient, ids: dict[str, str]) -> None:
    text = client.get(f"/runs/{ids['judged']}/reasons").text
    assert REASON in text
    assert RUBRIC_REASON in text
    assert text.index("pair 12</h2>") < text.index("pair 11</h2>")
    assert "Page 1 of 2" in text
    assert "Page 2 of 2" in client.get(f"/runs/{ids['judged']}/reasons?page=99").text


def test_a_run_is_taken_away_as_a_table(client: TestClient, ids: dict[str, str]) -> None:
    answer = client.get(f"/runs/{ids['first']}/as/csv")
    assert answer.headers["content-disposition"] == f'attachment; filename="{ids["first"]}.csv"'
    assert len(list(csv.DictReader(io.StringIO(answer.text)))) == 16
    assert client.get(f"/runs/{ids['first']}/as/exe").status_code == 404


def test_new_runs_appear_and_names_become_plain(tmp_path: Path) -> None:
    run_index = RunIndex(tmp_path)
    assert run_index.new_folder("../../etc/passwd").parent == tmp_path
    assert run_index.new_folder("") == tmp_path / "run"
    assert run_index.new_folder("") == tmp_path / "run-2"
    assert run_index.new_folder(EVIL).parent == tmp_path


def test_a_page_that_takes_long_says_so_until_it_is_there(
    client: TestClient, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def slowly(*_: object) -> str:
        assert go.wait(30)
        return "made"

    monkeypatch.setattr(runs, "run_page", slowly)
    monkeypatch.setattr(runs, "PATIENCE_S", 0.05)
    place = f"/runs/{ids['nested/second']}"
    assert "is being made" in client.get(f"{place}/").text
    assert "hx-refresh" not in client.get(f"{place}/ready").headers
    go.set()
    deadline = time.monotonic() + 30
    while "hx-refresh" not in client.get(f"{place}/ready").headers:
        assert time.monotonic() < deadline
    assert client.get(f"{place}/").text == "made"


def test_a_damaged_run_does_not_close_the_list(tmp_path: Path) -> None:
    run = tmp_path / "torn"
    run.mkdir()
    (run / "scores.jsonl").write_text("{", "utf-8")
    (run / "summary.json").write_text("[", "utf-8")
    client = enter(TestClient(create_app(tmp_path, token=TOKEN), base_url=HOME))
    assert "torn" in client.get("/").text
    (run_id,) = [each.id for each in RunIndex(tmp_path).runs()]
    answer = client.get(f"/runs/{run_id}/")
    assert answer.status_code == 400
    assert str(tmp_path) not in answer.text
    for address in ("/leaderboard", "/compare"):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "torn is left out" in answer.text


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    task = a_challenge(tmp_path_factory.mktemp("task"))
    teams = [team(task.parent, "best", TRUTH), team(task.parent, "worse", changed(6))]
    words = ["challenge", "rank", str(task), *map(str, teams), "--output", str(folder / "ranking")]
    assert CliRunner().invoke(app, words).exit_code == 0
    return folder


@pytest.fixture
def ranked(served: Path) -> TestClient:
    return enter(TestClient(create_app(served, token=TOKEN), base_url=HOME))


def test_a_ranking_is_one_run_and_the_scores_that_it_keeps_are_none(served: Path) -> None:
    (cache,) = (served / "ranking" / "scores").iterdir()
    for top in (served, served / "ranking"):
        assert [run.kind for run in stored_runs(top)] == ["ranking"]
    assert not stored_runs(served / "ranking" / "scores")
    assert not stored_runs(cache)
    listed = CliRunner().invoke(app, ["runs", "list", str(served)], env={"COLUMNS": "200"}).output
    assert "ranking" in listed
    assert "pairs-" not in listed
    assert about_run(*stored_runs(served)) == "2 teams on 8 cases: 1. best, 2. worse"


def test_the_browser_shows_the_ranking_only(served: Path, ranked: TestClient) -> None:
    (run,) = stored_runs(served)
    assert f'href="/runs/{run.id}/"' in ranked.get("/").text
    shown = ranked.get(f"/runs/{run.id}/")
    assert 'href="teams/best.html"' in shown.text
    assert "'unsafe-inline'" in shown.headers["Content-Security-Policy"]
    best = ranked.get(f"/runs/{run.id}/teams/best.html")
    assert 'href="../index.html"' in best.text
    assert ranked.get(f"/runs/{run.id}/index.html").text == shown.text
    assert ranked.get(f"/runs/{run.id}/teams/nobody.html").status_code == 404
    for address in ("/", "/compare", "/leaderboard", f"/runs/{run.id}/"):
        assert "pairs-" not in ranked.get(address).text
