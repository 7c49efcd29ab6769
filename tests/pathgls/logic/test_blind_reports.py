"""Logic on reports of other hands, which neither the rules nor the NLI model have learned from."""

from functools import cache
from typing import NamedTuple

import pytest

from histoeval.errors import Problem
from histoeval.pathgls.fusion import fuse
from histoeval.pathgls.logic.score import logic_of
from histoeval.pathgls.policy.policy import read_policy
from histoeval.pathgls.results import Logic
from tests.support.logic_reports import read, rows
from tests.support.shipped_models import shipped_entailer

pytestmark = pytest.mark.release

CONTRADICTORY = 0.5


class Floors(NamedTuple):
    """What the values of a file must keep to; a little looser than what was measured."""

    drop: float
    """Of the mean value, at least, where a contradiction is added."""
    rewording_drop: float
    """At most, where the same is said in other words."""
    true_alarms: int
    """True reports below 0.5, at most."""
    rewording_alarms: int


@cache
def judged(file: str) -> dict[tuple[str, str], Logic]:
    """What logic finds in each report that it can judge, by its case and its group."""
    entailer = shipped_entailer()
    found = {
        (row["case"], row["group"]): logic_of(read(row["report"]), entailer) for row in rows(file)
    }
    return {key: logic for key, logic in found.items() if not isinstance(logic, Problem)}


@pytest.mark.parametrize(
    ("file", "floors"),
    [("logic_blind", Floors(0.40, 0.03, 4, 6)), ("logic_blind_second", Floors(0.29, 0.05, 7, 15))],
)
def test_contradictions_lower_the_value_and_rewording_does_not(file: str, floors: Floors) -> None:
    found = {key: logic.value for key, logic in judged(file).items()}

    def drop(group: str) -> float:
        cases = [case for case, of in found if of == group and (case, "control") in found]
        true = sum(found[case, "control"] for case in cases)
        return 1 - sum(found[case, group] for case in cases) / true

    def alarms(group: str) -> int:
        return sum(value < CONTRADICTORY for (_, of), value in found.items() if of == group)

    assert drop("logic") >= floors.drop
    assert drop("rewording") <= floors.rewording_drop
    assert alarms("control") <= floors.true_alarms
    assert alarms("rewording") <= floors.rewording_alarms


def test_without_an_image_contradictions_are_rejected_and_hardly_anything_else() -> None:
    policy = read_policy("text_only")
    rejected = [
        group
        for (_, group), logic in judged("logic_blind_second").items()
        if fuse(
            None, logic.value, None, policy.weights, policy, contradictions=logic.contradictions
        ).route
        == "reject"
    ]
    assert rejected.count("logic") >= 57
    assert len(rejected) - rejected.count("logic") <= 8
