"""What stands in for a model under test where none can be asked: its conduct is known."""

from collections.abc import Sequence
from functools import cache
from random import Random

from histoeval.pathgls.fusion import fuse
from histoeval.pathgls.policy.policy import DIMENSIONS, PAPER, read_policy
from histoeval.report import Noun
from histoeval.resources import load_toml
from histoeval.run.trust.rows import TrustRow
from histoeval_research.experiments.edits.registry import CONTROL
from histoeval_research.experiments.measures import STABILITY
from histoeval_research.experiments.pathgls.published import DATA
from histoeval_research.experiments.sensitivity import ScoredReports

GRAVE = 4
"""Errors of at least this level are what a stand-in says where it errs."""


class StandIn(Noun):
    """What stands in for a model: how often it errs, and what it answers under attack."""

    name: str
    errs: float
    answers: str


@cache
def stand_ins() -> tuple[StandIn, ...]:
    """All stand-ins."""
    return tuple(StandIn.model_validate(row) for row in load_toml(DATA)["standin"])


def verdicts_on(stand_in: StandIn, rows: Sequence[ScoredReports], seed: int = 0) -> list[TrustRow]:
    """The verdicts on what a stand-in says of every case.

    A case of which no grave error could be made is left out where the stand-in is to err.
    """
    versions: dict[str, list[ScoredReports]] = {}
    for row in rows:
        versions.setdefault(row.case, []).append(row)
    found = []
    for number, (case, own) in enumerate(versions.items(), 1):
        chance = Random(f"{seed}/{stand_in.name}/{case}")
        errs = chance.random() < stand_in.errs
        pool = [row for row in own if (row.level >= GRAVE if errs else row.group == CONTROL)]
        if pool:
            found.append(_verdict(number, case, chance.choice(pool), stand_in))
    return found


def _verdict(number: int, case: str, said: ScoredReports, stand_in: StandIn) -> TrustRow:
    columns = {name: name for name in DIMENSIONS} | {STABILITY: f"{STABILITY}_{stand_in.answers}"}
    values = {name: said.scores.get(column) for name, column in columns.items()}
    grounding, logic, stability = (values[name] for name in DIMENSIONS)
    trust = fuse(grounding, logic, stability, weights=PAPER, policy=read_policy())
    return TrustRow(id=case, row=number, **values, trust=trust.value, route=trust.route)
