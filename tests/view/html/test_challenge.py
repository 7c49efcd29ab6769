"""The pages of a ranking: everything is on them, and nothing that quotes a report."""

import re
from pathlib import Path

import pytest

from histoeval.challenge import rank_teams
from histoeval.challenge.standings import ChallengeRanking
from histoeval.statistics.resampling import Estimate
from histoeval.view.html.challenge import Scale, page_names, write_views
from tests.support.challenges import TRUTH, a_challenge, changed, team


@pytest.fixture
def ranking(tmp_path: Path) -> ChallengeRanking:
    files = [
        team(tmp_path, "good", TRUTH),
        team(tmp_path, "bad", changed(4)),
        team(tmp_path, "short", dict(list(TRUTH.items())[:3])),
    ]
    return rank_teams(a_challenge(tmp_path), files, engine="inline").ranking


def test_index_and_teams_link_to_each_other(ranking: ChallengeRanking, tmp_path: Path) -> None:
    write_views(ranking, tmp_path)
    index = (tmp_path / "index.html").read_text("utf-8")
    links = re.findall(r'<th scope="row"><a href="([^"]+)"', index)
    assert links == [f"teams/{each.team}.html" for each in ranking.teams]
    for link, each in zip(links, ranking.teams, strict=True):
        page = (tmp_path / link).read_text("utf-8")
        assert 'href="../index.html"' in page
        places = [n for n, share in enumerate(each.place_shares, 1) if share >= 0.0005]
        shown = re.findall(r'<tr><td class="n">(\d+)</td><td><span class="bar"', page)
        assert [*map(int, shown)] == places


def test_pages_quote_no_report_or_address(ranking: ChallengeRanking, tmp_path: Path) -> None:
    write_views(ranking, tmp_path)
    for file in [*tmp_path.rglob("*.html"), tmp_path / "ranking.md"]:
        text = file.read_text("utf-8")
        assert not any(report in text for report in TRUTH.values())
        assert not re.search(r'(?:src|href)="(?:https?:)?//', text)
    index = (tmp_path / "index.html").read_text("utf-8")
    for heading in ("Ranking", "How firm the order is", "Subgroups", "Rules"):
        assert f"<h2>{heading}</h2>" in index
    assert ranking.policy_hash in index
    short = (tmp_path / "teams" / "short.html").read_text("utf-8")
    assert "case-8.tiff" in short
    assert "missing_report" in short


def test_small_subgroups_are_folded_away(ranking: ChallengeRanking, tmp_path: Path) -> None:
    names = list(ranking.subgroups)
    found = ranking.model_copy(update={"subgroups": dict.fromkeys(names, 4) | {names[0]: 5}})
    write_views(found, tmp_path)
    index = (tmp_path / "index.html").read_text("utf-8")
    before, folded = index[index.index("<h2>Subgroups") :].split("<details>")
    rows = r'<tr><th scope="row">([^<]+)</th>'
    assert re.findall(rows, before) == names[:1]
    assert re.findall(rows, folded.partition("</details>")[0]) == names[1:]


def test_an_axis_has_ticks_around_all_that_is_drawn() -> None:
    scale = Scale([Estimate(value=0.41, low=0.32, high=0.5)])
    assert [name for _, name in scale.ticks] == ["0.3", "0.35", "0.4", "0.45", "0.5"]
    assert scale.bar(Estimate(value=0.4, low=0.3, high=0.5)) == {"from_": 1, "at": 50, "to": 99}


def test_tables_are_scrolled_by_keyboard(ranking: ChallengeRanking, tmp_path: Path) -> None:
    write_views(ranking, tmp_path)
    for file in tmp_path.rglob("*.html"):
        text = file.read_text("utf-8")
        frames = re.findall(
            r'<div class="scroll" tabindex="0" role="region" aria-label="[^"]+">', text
        )
        assert len(frames) == text.count("<table")


def test_names_of_pages_differ(ranking: ChallengeRanking) -> None:
    names = ["a/b", "a_b", "A_B", "..", "é"]
    teams = tuple(ranking.teams[0].model_copy(update={"team": name}) for name in names)
    found = page_names(ranking.model_copy(update={"teams": teams}))
    expected = "a_b.html a_b-2.html A_B-3.html team.html team-2.html"
    assert list(found.values()) == expected.split()
