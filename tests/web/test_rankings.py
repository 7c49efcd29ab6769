"""A ranking is shown in the browser; the scores that it keeps are no run."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from histoeval.cli.main import app
from histoeval.run.history import about_run, stored_runs
from histoeval.web.app import create_app
from tests.support.challenges import TRUTH, a_challenge, changed, team
from tests.web.conftest import HOME, TOKEN, enter


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    task = a_challenge(tmp_path_factory.mktemp("task"))
    teams = [team(task.parent, "best", TRUTH), team(task.parent, "worse", changed(6))]
    words = ["challenge", "rank", str(task), *map(str, teams), "--output", str(folder / "ranking")]
    assert CliRunner().invoke(app, words).exit_code == 0
    return folder


@pytest.fixture
def client(served: Path) -> TestClient:
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


def test_the_browser_shows_the_ranking_only(served: Path, client: TestClient) -> None:
    (run,) = stored_runs(served)
    assert f'href="/runs/{run.id}/"' in client.get("/").text
    shown = client.get(f"/runs/{run.id}/")
    assert 'href="teams/best.html"' in shown.text
    assert "'unsafe-inline'" in shown.headers["Content-Security-Policy"]
    best = client.get(f"/runs/{run.id}/teams/best.html")
    assert 'href="../index.html"' in best.text
    assert client.get(f"/runs/{run.id}/index.html").text == shown.text
    assert client.get(f"/runs/{run.id}/teams/nobody.html").status_code == 404
    for address in ("/", "/compare", "/leaderboard", f"/runs/{run.id}/"):
        assert "pairs-" not in client.get(address).text
