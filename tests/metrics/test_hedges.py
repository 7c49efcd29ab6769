"""What a policy could write to please a reward: to leave open or repeat what it should state."""

import runpy
from pathlib import Path

import pytest

import histoeval
from tests.support.tables import from_table

_REWARD = Path(__file__).parents[2] / "examples" / "reward" / "grpo_reward.py"
_RIGHT = (
    "Breast, left, core biopsy: invasive ductal carcinoma, grade 2. "
    "ER positive, PR positive, HER2 negative."
)
_ALL = (
    "Left and right breast: ductal and lobular carcinoma, grade 1, grade 2, grade 3, ER positive, "
    "ER negative, PR positive, PR negative, HER2 positive, HER2 negative."
)


@pytest.fixture(scope="module")
def concordance() -> histoeval.Metric:
    return histoeval.load("concordance")


@from_table
def test_what_is_left_open_earns_less(
    concordance: histoeval.Metric, stated: str, left_open: str, wrong: str
) -> None:
    right, hedged, other = (
        float(concordance(_RIGHT, _RIGHT.replace(stated, words)))
        for words in (stated, left_open, wrong)
    )
    assert right == 1.0
    assert other <= hedged < 0.9


def test_to_state_everything_or_the_same_again_earns_less_than_an_honest_doubt() -> None:
    reward = runpy.run_path(str(_REWARD))["ReportReward"](workers=1)
    honest = _RIGHT.replace("invasive", "possible invasive")
    tried = [honest, _ALL, " ".join([_RIGHT] * 20)]
    doubt, everything, repeated = reward(tried, reference=[_RIGHT] * 3)
    assert everything < doubt
    assert repeated < 0.2
    reward.metric.close()
