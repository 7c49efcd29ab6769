"""`histoeval train concordance`: weights of the parts, fitted to what experts score.

Experts say which of two candidates is better more reliably than by how much. So the weights are
those that put pairs of candidates into the experts' order (a logistic loss on differences inside
one set, never between sets), and a rising curve of a few points takes the result to their scale.
All scores are from nested cross-validation: weights are judged on cases they were not fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from histoeval.concordance.rubric import CRITERIA, TERMS_OF, with_coverage
from histoeval.concordance.weights import (
    COVERED,
    TERMS,
    Combination,
    Combinations,
    MonotoneCurve,
    factors_of,
    matrix_of,
    read_combinations,
)
from histoeval.errors import InputError
from histoeval.io.settings_files import FilePath
from histoeval.io.sheets import RatedPair, read_sheet
from histoeval.io.writing import write_json
from histoeval.metrics.concordance import TOP, Concordance
from histoeval.report import Noun
from histoeval.statistics.raters import kappa_of_two
from histoeval_research.train.cards import card
from histoeval_research.train.core.loop import Checkpoint
from histoeval_research.train.core.model_folder import ModelFolder, file_of, sha256_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

WEIGHTS = "combination.json"

# The terms among which the fit chooses, where nothing else is said.
FITTED = tuple(term for term in TERMS if term != COVERED)

STRENGTHS = (0.02, 0.1)  # how strongly large weights are held back; the inner folds choose

# Weights below which details do not fall, though sheets may hold too few of them to be fitted:
# generated reports hardly ever name a side or a marker, and a wrong one must still count.
LEAST: Mapping[str, float] = {
    "diagnosis*behaviour*laterality": 0.3,
    "diagnosis*behaviour*stage": 0.06,
    "diagnosis*behaviour*markers": 0.2,
    "diagnosis*behaviour*findings": 0.2,
    "diagnosis*behaviour*no_inventions": 0.2,
    "diagnosis*behaviour*measurements": 0.12,
    "diagnosis*behaviour*spread": 0.03,
}

# What comes to little more than half a point is a zero: experts who write whole points, or half
# ones, do not tell candidates apart down there. Set by us, not chosen by the inner folds.
FLOOR = 0.6

_INNER = 3
_SHARPNESS = 6.0
_LEAST_APART = 0.25  # scores that are nearer than this are not put into an order
_MOST_APART = 2.0
_KNOTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


class SheetFile(Noun):
    """A sheet of scored pairs, and how it is read."""

    file: FilePath
    name: str = "expert"  # the set that its pairs belong to, where no column says so
    cases: FilePath | None = None
    score: str = "expert"  # the column of the score from 0 to 5
    set: str | None = None
    criteria: bool = False  # whether it has the four criteria of the rubric as well

    def read(self) -> list[RatedPair]:
        wanted = [self.score, *(CRITERIA if self.criteria else ())]
        scores = None if self.cases is not None else wanted
        sheet = read_sheet(self.file, cases=self.cases, scores=scores, set=self.set)
        if sheet.problems:
            raise InputError(f"{self.file}: {sheet.problems[0]}")
        complete = [rated for rated in sheet.rated if all(name in rated.scores for name in wanted)]
        if not complete:
            raise InputError(f"{self.file}: no pair has all of the scores {', '.join(wanted)}")
        return complete


class ConcordanceSettings(Noun):
    """The YAML file of `histoeval train concordance`."""

    sheets: tuple[SheetFile, ...] = Field(min_length=1)
    seed: int = 0
    folds: int = Field(default=10, ge=2)
    output: FilePath | None = None
    notes: str = ""


@dataclass(frozen=True, slots=True)
class FitData:
    """What is fitted to: terms by pair, the experts' scores, and what belongs together."""

    terms: Floats
    scores: Floats
    sets: NDArray[np.str_]
    groups: NDArray[np.str_]
    # What is left of the terms of each pair; nothing is fitted to it, but all is judged with it.
    # The curve is fitted without it, so that it takes off what the experts' curve leaves.
    factors: Floats | None = None
    counted: tuple[str, ...] = FITTED  # the terms that may be given a weight

    def some(self, places: Integers) -> FitData:
        arrays = ("terms", "scores", "sets", "groups") + ("factors",) * (self.factors is not None)
        return replace(self, **{name: getattr(self, name)[places] for name in arrays})


def train_concordance(
    settings: ConcordanceSettings,
    output: Path,
    reader: Any,
    aligner: Any,
    nli: Any = None,
    *,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Fit the weights to the sheets; the scores, all of them cross-validated by case.

    The results at once if they are there already.
    """
    if not any(sheet.criteria for sheet in settings.sheets):
        raise InputError("no sheet has the criteria of the rubric: set `criteria: true`")
    models = {"reader": reader, "aligner": aligner} | ({} if nli is None else {"nli": nli})
    request = {
        "task": "concordance",
        "settings": settings.model_dump(mode="json", exclude={"sheets", "output"}),
        "sheets": [
            sheet.model_dump(mode="json", exclude={"file", "cases"})
            | {"files": [sha256_of(file) for file in (sheet.file, sheet.cases) if file is not None]}
            for sheet in settings.sheets
        ],
        "models": {name: model.identity for name, model in models.items()},
    }
    folder = ModelFolder(output)

    def make(draft: Path, _: Checkpoint) -> dict[str, Any]:
        combinations, results = fit_all(settings, models)
        content = combinations.model_dump(mode="json")
        write_json(draft / WEIGHTS, content, private=False)
        return {
            "settings": request["settings"],
            "sheets": [file_of(sheet.file) for sheet in settings.sheets],
            "models": request["models"],
            **results,
        }

    def described(results: Mapping[str, Any]) -> str:
        combinations = read_combinations(folder.draft / WEIGHTS)
        return card("concordance", results, combinations=combinations)

    return folder.fill(request, make, described, overwrite=overwrite)


def fit_all(
    settings: ConcordanceSettings, models: Mapping[str, Any]
) -> tuple[Combinations, dict[str, Any]]:
    rows = [(sheet, rated) for sheet in settings.sheets for rated in sheet.read()]
    metric = Concordance(name="concordance", verify="nli" in models, **models)
    compared = metric.compare([rated.pair for _, rated in rows])
    groups = joined_groups(
        [f"{sheet.name} {rated.group}" for sheet, rated in rows],
        [rated.pair.reference for _, rated in rows],
    )
    scored = FitData(
        matrix_of([comparison.values for comparison in compared]),
        np.array([rated.scores[sheet.score] for sheet, rated in rows]),
        np.array([rated.set or sheet.name for sheet, rated in rows]),
        np.array(groups),
        factors_of([comparison.values for comparison in compared]),
    )
    expert, figures = _fitted(scored, TOP, FLOOR, settings)
    criteria, agreed = {}, {}
    rubric = np.flatnonzero([sheet.criteria for sheet, _ in rows])
    covered = matrix_of(
        [with_coverage(compared[i].values, compared[i].parts.values()) for i in rubric]
    )
    for criterion, top in CRITERIA.items():
        given = np.array([rows[i][1].scores[criterion] for i in rubric])
        counted = TERMS_OF.get(criterion, FITTED)
        some = FitData(covered, given, scored.sets[rubric], scored.groups[rubric], counted=counted)
        criteria[criterion], agreed[criterion] = _fitted(some, float(top), 0.0, settings)
    return Combinations(expert=expert, criteria=criteria), {
        "pairs": len(rows),
        "groups": len(set(groups)),
        "expert": figures,
        "criteria": agreed,
    }


def joined_groups(groups: Sequence[str], references: Sequence[str]) -> list[str]:
    """Groups that share a reference text are one: what was fitted on one would know the other."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    for group, reference in zip(groups, references, strict=True):
        one, other = root(f"group {group}"), root(f"text {' '.join(reference.split())}")
        parent[max(one, other)] = min(one, other)
    return [root(f"group {group}") for group in groups]


def _fitted(
    scored: FitData, top: float, floor: float, settings: ConcordanceSettings
) -> tuple[Combination, dict[str, Any]]:
    values = cross_validated(
        scored, top, floor, folds=settings.folds, inner=_INNER, seed=settings.seed
    )
    strength = choose(scored, top, _INNER, settings.seed)
    return fit(scored, strength, top, floor), {
        "strength": strength,
        "floor": floor,
        "sets": {
            str(name): figures_of(scored, values, scored.sets == name)
            for name in np.unique(scored.sets)
        },
        "all": figures_of(scored, values, np.ones(len(values), dtype=bool)),
    }


def figures_of(scored: FitData, values: Floats, inside: NDArray[np.bool_]) -> dict[str, Any]:
    """How values follow the scores of some pairs: of all, and of those above the lowest score."""
    from scipy.stats import kendalltau, pearsonr, spearmanr

    above = inside & (scored.scores > float(scored.scores.min()))
    figures: dict[str, Any] = {"pairs": int(inside.sum()), "above_lowest": int(above.sum())}
    for label, chosen in (("all", inside), ("above", above)):
        predicted, true = values[chosen], scored.scores[chosen]
        if len(predicted) > 2 and np.ptp(predicted) and np.ptp(true):
            coefficients = {
                "spearman": spearmanr(predicted, true),
                "kendall": kendalltau(predicted, true),
                "kendall_half_points": kendalltau(np.round(2 * predicted), true),
                "pearson": pearsonr(predicted, true),
            }
            figures[label] = {
                name: round(float(result[0]), 4) for name, result in coefficients.items()
            }
    whole = np.round(values[inside])
    figures["quadratic_kappa"] = round(kappa_of_two(whole, scored.scores[inside]), 4)
    return figures


def cross_validated(
    scored: FitData,
    top: float,
    floor: float = 0.0,
    *,
    folds: int = 10,
    inner: int = 3,
    seed: int = 0,
) -> Floats:
    """A value for each pair from a fit that has seen nothing of its group."""

    def nested(some: FitData) -> Combination:
        return fit(some, choose(some, top, inner, seed), top, floor)

    return _held_out(scored, fold_of(scored.groups, folds, seed), nested)


def choose(scored: FitData, top: float, folds: int, seed: int) -> float:
    """The strength with which cross-validated values follow the scores best, all sets alike."""
    if len(np.unique(scored.groups)) < 2:
        raise InputError("too few cases for cross-validation: more are needed, or more folds")
    fold = fold_of(scored.groups, folds, seed + 1)
    followed = {
        strength: _followed(scored, _held_out(scored, fold, lambda s: fit(s, strength, top)))  # noqa: B023
        for strength in STRENGTHS
    }
    return max(followed, key=lambda strength: followed[strength])


def fold_of(groups: NDArray[np.str_], folds: int, seed: int) -> Integers:
    names, places = np.unique(groups, return_inverse=True)
    dealt: Integers = np.random.default_rng(seed).permutation(len(names)) % folds
    return dealt[places]


def _held_out(scored: FitData, fold: Integers, fitted: Callable[[FitData], Combination]) -> Floats:
    values = np.zeros(len(scored.scores))
    for number in np.unique(fold):
        held, rest = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        values[held] = predict(fitted(scored.some(rest)), scored.some(held))
    return values


def predict(combination: Combination, scored: FitData) -> Floats:
    factors = np.ones(len(scored.terms)) if scored.factors is None else scored.factors
    return combination.of_terms(scored.terms, factors)


def _followed(scored: FitData, values: Floats) -> float:
    from scipy.stats import spearmanr

    correlations = []
    for name in np.unique(scored.sets):
        inside = scored.sets == name
        for chosen in (inside, inside & (scored.scores > scored.scores.min())):
            if chosen.sum() > 2 and np.ptp(values[chosen]) and np.ptp(scored.scores[chosen]):
                correlations.append(float(spearmanr(values[chosen], scored.scores[chosen])[0]))
    return float(np.mean(correlations)) if correlations else 0.0


def fit(scored: FitData, strength: float, top: float, floor: float = 0.0) -> Combination:
    """The weights and the curve for these pairs; a perfect candidate gets `top`."""
    weights = fit_weights(scored, strength)
    means = scored.terms @ weights / weights.sum()
    curve = fit_curve(means, scored.scores, float(scored.scores.min()), top)
    rounded = {term: round(float(w), 4) for term, w in zip(TERMS, weights, strict=True) if w > 5e-4}
    factored = scored.factors is not None
    return Combination(weights=rounded, curve=curve, floor=floor, factored=factored)


def fit_weights(scored: FitData, strength: float) -> Floats:
    """The weights, none of them negative, that put candidates into the experts' order."""
    from scipy.optimize import minimize

    better, worse, share = _ordered(scored)
    places = [TERMS.index(term) for term in scored.counted]
    differences = (scored.terms[better] - scored.terms[worse])[:, places]

    def loss(weights: Floats) -> tuple[float, Floats]:
        """How unsure the order of pairs is, with its slope; large weights cost too."""
        ahead = differences @ weights * _SHARPNESS
        chance = 1 / (1 + np.exp(np.clip(ahead, -30, 30)))
        slope = -(share * chance) @ differences * _SHARPNESS + 2 * strength * weights
        return float(share @ np.logaddexp(0, -ahead) + strength * weights @ weights), slope

    start = np.full(len(places), 0.1)
    bounds = [(LEAST.get(term, 0.0), None) for term in scored.counted]
    weights = np.zeros(len(TERMS))
    weights[places] = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    if not weights.sum() > 0:
        raise InputError("the scores do not follow any part of the comparison")
    return weights


def _ordered(scored: FitData) -> tuple[Integers, Integers, Floats]:
    """All pairs of one set of which one is better, and how much each counts."""
    # Sets count alike, however large; a zero says less than the rest, since it is given for many
    # reasons, so the order among those above it counts once more by half.
    better, worse, share = [], [], []
    for name in np.unique(scored.sets):
        inside = np.flatnonzero(scored.sets == name)
        above = inside[scored.scores[inside] > scored.scores[inside].min()]
        for places, counts in ((inside, 1.0), (above, 0.5)):
            apart = scored.scores[places][:, None] - scored.scores[places][None, :]
            one, other = np.nonzero(apart > _LEAST_APART)
            if len(one):
                better.append(places[one])
                worse.append(places[other])
                weight = np.minimum(apart[one, other], _MOST_APART)
                share.append(counts * weight / len(one))
    if not better:
        raise InputError("no two candidates have scores that differ: there is nothing to fit")
    return np.concatenate(better), np.concatenate(worse), np.concatenate(share)


def fit_curve(means: Floats, scores: Floats, bottom: float, top: float) -> MonotoneCurve:
    """The rising line through a few points that is nearest to the scores; it ends at the top."""
    from scipy.optimize import nnls

    knots = np.array(_KNOTS)
    rises = np.clip((means[:, None] - knots[:-1]) / np.diff(knots), 0, 1)
    short = 1 - rises  # below the top by what has not risen yet
    steps, _ = nnls(short, top - scores)
    heights = np.maximum(top - np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]]), bottom)
    values = (bottom, *(float(height) for height in heights[1:]))
    return MonotoneCurve(at=_KNOTS, value=tuple(round(height, 4) for height in values))
