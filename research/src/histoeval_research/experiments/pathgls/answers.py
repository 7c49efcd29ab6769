"""What the paper published and left open, and what stands in for a model under test."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from random import Random
from typing import NamedTuple

from histoeval.errors import Problem
from histoeval.pathgls.fusion import fuse
from histoeval.pathgls.policy.policy import DIMENSIONS, PAPER, read_policy
from histoeval.pathgls.stability.distance import Distance
from histoeval.pathgls.stability.score import stability_of
from histoeval.reader.reader import Reader
from histoeval.report import Noun
from histoeval.resources import load_toml
from histoeval.run.trust.case import attempt
from histoeval.run.trust.rows import TrustRow
from histoeval_research.experiments.edits.registry import CONTROL, perturb
from histoeval_research.experiments.measures import STABILITY, Found, PerturbedRow
from histoeval_research.experiments.sensitivity import ScoredReports

DATA = "histoeval_research/experiments/pathgls/data/pathgls.toml"


class PublishedDrop(Noun):
    """A row of table 1; `ours` is the measure that stands beside it."""

    measure: str
    ours: str
    focus: str
    control: float
    visual: float
    visual_drop: float
    logic: float
    logic_drop: float


class PublishedMeans(NamedTuple):
    """A row of table 2."""

    dataset: str
    model: str
    scale: str
    means: Mapping[str, float]


class PublishedGap(Noun):
    """A row of table 3."""

    model: str
    inside: float
    outside: float
    drop: float


class PublishedRanks(Noun):
    """Figure 3 and section 4.2: rank correlations with the error hierarchy, and repeats."""

    spread: float
    """The standard deviation of PathGLS between repeats."""
    trust: float
    judge: float
    """The coefficient of the best judge, Gemini 3.0 Pro."""
    lost: Mapping[str, float]
    """Per cent of the coefficient that is lost without each dimension."""


@cache
def published_drops() -> tuple[PublishedDrop, ...]:
    """Table 1."""
    return tuple(PublishedDrop.model_validate(row) for row in load_toml(DATA)["table1"])


@cache
def published_means() -> tuple[PublishedMeans, ...]:
    """Table 2."""
    return tuple(
        PublishedMeans(
            block["dataset"],
            row["model"],
            block["scale"],
            {name: value for name, value in row.items() if name != "model"},
        )
        for block in load_toml(DATA)["table2"]
        for row in block["models"]
    )


@cache
def published_gaps() -> tuple[PublishedGap, ...]:
    """Table 3."""
    return tuple(PublishedGap.model_validate(row) for row in load_toml(DATA)["table3"])


@cache
def published_ranks() -> PublishedRanks:
    """Figure 3."""
    return PublishedRanks.model_validate(load_toml(DATA)["figure3"])


def differences(table: str) -> Sequence[str]:
    """In which data and models our table differs from the paper's."""
    notes: Sequence[str] = load_toml(DATA)["notes"][table]
    return notes


REWORDING = "rewording"
ATTACKS = ("stain", "prompt")
EVEN = 0.5
"""The share of answers that are wrong where they are drawn anew."""

Versions = Sequence[PerturbedRow]
"""The true report of a case and its edits."""


class AnswerAssumption(Noun):
    """What a model is assumed to answer under stain and attack."""

    name: str
    about: str

    @property
    def column(self) -> str:
        """The column that holds stability by it."""
        return f"{STABILITY}_{self.name}"


@cache
def assumptions() -> tuple[AnswerAssumption, ...]:
    """All of them, the one that figure 3 is drawn by first."""
    return tuple(AnswerAssumption.model_validate(row) for row in load_toml(DATA)["answers"])


def is_error(row: PerturbedRow) -> bool:
    """Whether a version says something else than the true report."""
    return row.group not in (CONTROL, REWORDING)


class AnswerContext(NamedTuple):
    """What an answer can depend on: the report, the versions of its case, a reader and chance."""

    row: PerturbedRow
    versions: Versions
    reader: Reader
    chance: Random


def redrawn(asked: AnswerContext) -> str:
    """Any version of the case: true or wrong, one as likely as the other."""
    wrong = [each for each in asked.versions if is_error(each)]
    right = [each for each in asked.versions if not is_error(each)]
    errs = asked.chance.random() < EVEN
    return _text(asked.chance.choice(wrong if wrong and errs else right))


def repeats(asked: AnswerContext) -> str:
    """The report itself in other words; as it is where no rewording can be made."""
    (read,) = asked.reader.read([_text(asked.row)])
    seed = asked.chance.randrange(2**32)
    made, _ = perturb(read, asked.row.id, seed=seed, chosen=(REWORDING,))
    return made[-1].text


def truth(asked: AnswerContext) -> str:
    """The true report."""
    return asked.row.reference or ""


ANSWERS: Mapping[str, Callable[[AnswerContext], str]] = {
    "redrawn": redrawn,
    "repeats": repeats,
    "truth": truth,
}


def _text(row: PerturbedRow) -> str:
    return row.report or ""


class MemoDistance:
    """A distance that measures no two texts twice."""

    def __init__(self, distance: Distance) -> None:
        self._distance = distance
        self._known: dict[tuple[str, str], float | Problem] = {}
        self.identity = distance.identity

    def between(self, first: str, second: str) -> float | Problem:
        """That of the distance, which is the same in both directions."""
        key = (min(first, second), max(first, second))
        if key not in self._known:
            self._known[key] = self._distance.between(*key)
        return self._known[key]

    def changed(self, first: str, second: str) -> tuple[str, ...]:  # noqa: ARG002 - as all distances
        """Nothing: only numbers are wanted here."""
        return ()


class ByAssumedAnswers:
    """Stability of a report with answers by one assumption."""

    def __init__(
        self,
        assumption: AnswerAssumption,
        rows: Sequence[PerturbedRow],
        reader: Reader,
        distance: Distance,
        seed: int = 0,
    ) -> None:
        self._assumption, self._reader, self._distance = assumption, reader, distance
        self._seed = seed
        self._versions: dict[str, list[PerturbedRow]] = {}
        for row in rows:
            self._versions.setdefault(row.case, []).append(row)
        self.name = assumption.column
        self.signature = (
            f"stability|answers={assumption.name},seed={seed}|{distance.identity}|{reader.identity}"
        )

    def measure(self, rows: Sequence[PerturbedRow]) -> list[Found]:
        """Equation (3) of each report."""
        return [attempt(partial(self._one, row)) for row in rows]

    def answer(self, row: PerturbedRow, attack: str) -> str:
        """What the model is taken to answer under an attack."""
        chance = Random(f"{self._seed}/{row.id}/{attack}")
        asked = AnswerContext(row, self._versions[row.case], self._reader, chance)
        return ANSWERS[self._assumption.name](asked)

    def _one(self, row: PerturbedRow) -> Found:
        stain, prompt = ((attack, self.answer(row, attack)) for attack in ATTACKS)
        found = stability_of(_text(row), [stain], [prompt], self._distance)
        return found if isinstance(found, Problem) else found.value


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
