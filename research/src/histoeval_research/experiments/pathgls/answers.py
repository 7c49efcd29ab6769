"""What a model would answer under stain and attack, and the distance between those answers.

No model is asked: an assumption says which text stands for each answer, and it is drawn by seed
from the versions of the case, never from the level of the error. The distance between the report
and its answers is the one that stability uses.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from random import Random
from typing import NamedTuple

from histoeval.errors import Problem
from histoeval.pathgls.stability.distance import Distance
from histoeval.pathgls.stability.score import stability_of
from histoeval.reader.reader import Reader
from histoeval.report import Noun
from histoeval.resources import load_toml
from histoeval.run.trust.case import attempt
from histoeval_research.experiments.edits.registry import CONTROL, perturb
from histoeval_research.experiments.measures import STABILITY, Found
from histoeval_research.experiments.pathgls.published import DATA
from histoeval_research.experiments.rows import PerturbedRow

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
