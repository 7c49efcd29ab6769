"""25 versions of one generator with their truth, where these lie beside the project."""

from pathlib import Path

import pytest

from histoeval.challenge import init_challenge, rank_teams
from histoeval.challenge.standings import ChallengeRanking
from tests.support.challenges import set_rules
from tests.support.paths import SHARED

SYSTEMS = SHARED / "data" / "reg_systems"
COPY = "v0.4.5"
"""A copy of the truth."""

pytestmark = pytest.mark.skipif(not SYSTEMS.exists(), reason="the systems are not here")


def ranked(place: Path, files: list[Path], **rules: object) -> ChallengeRanking:
    init_challenge(place / "c", SYSTEMS / "truth.json")
    if rules:
        set_rules(place / "c", **rules)
    return rank_teams(place / "c", files).ranking


def is_first_by_all(found: ChallengeRanking) -> bool:
    return all(metric.place == 1 for metric in found[COPY].metrics.values())


def test_the_copy_of_the_truth_is_first_by_every_metric(tmp_path: Path) -> None:
    found = ranked(tmp_path, sorted(SYSTEMS.glob("v*.json")), cases="all")
    assert len(found.teams) == 25
    assert (found.cases, found[COPY].scored) == (199, 100)
    assert (found.teams[0].team, found.teams[1].place) == (COPY, 2)
    assert is_first_by_all(found)
    assert found[COPY].place_shares[0] > 0.99


def test_the_systems_of_one_test_set_share_its_cases(tmp_path: Path) -> None:
    files = [file for file in SYSTEMS.glob("v*.json") if file.stem not in ("v0.2.0", "v0.2.2")]
    files = [file for file in sorted(files) if file.stem != "v0.2.3"]
    found = ranked(tmp_path, files, cases="shared")
    assert (len(found.teams), found.cases) == (22, 100)
    assert found[COPY].score.value == pytest.approx(1)


@pytest.mark.release
def test_so_it_is_by_the_policy_that_init_writes(tmp_path: Path) -> None:
    found = ranked(tmp_path, sorted(SYSTEMS.glob("v*.json")))
    assert set(found.metrics) == {"concordance", "hare", "rouge_l", "bleu_4"}
    assert is_first_by_all(found)
    assert found[COPY].tier == 1
    assert found.teams[1].tier == 2
