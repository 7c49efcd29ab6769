"""`histoeval train concordance CONFIG`: from scored sheets to weights, scores and a card."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from histoeval.concordance.rubric import CRITERIA, TERMS_OF, with_coverage
from histoeval.concordance.weights import Combination, Combinations, factors_of, matrix_of
from histoeval.errors import InputError
from histoeval.io.settings_files import FilePath
from histoeval.io.sheets import RatedPair, read_sheet
from histoeval.io.writing import write_json
from histoeval.metrics.concordance import TOP, Concordance
from histoeval.report import Noun
from histoeval.statistics.raters import kappa_of_two
from histoeval_research.train.concordance.card import concordance_card
from histoeval_research.train.concordance.fit import (
    FITTED,
    FitData,
    choose,
    cross_validated,
    fit,
    joined_groups,
)
from histoeval_research.train.core.checkpoint import Checkpoint
from histoeval_research.train.core.model_folder import ModelFolder
from histoeval_research.train.core.provenance import file_of, sha256_of

FLOOR = 0.6
"""What comes to little more than half a point is a zero: experts who write whole points, or half
ones, do not tell candidates apart down there. Set by us, not chosen by the inner folds."""

_INNER = 3


class SheetFile(Noun):
    """A sheet of scored pairs, and how it is read."""

    file: FilePath
    name: str = "expert"
    """The set that its pairs belong to, where no column says so."""
    cases: FilePath | None = None
    score: str = "expert"
    """The column of the score from 0 to 5."""
    set: str | None = None
    criteria: bool = False
    """Whether it has the four criteria of the rubric as well."""


class ConcordanceSettings(Noun):
    """The YAML file of `histoeval train concordance`."""

    sheets: tuple[SheetFile, ...] = Field(min_length=1)
    seed: int = 0
    folds: int = Field(default=10, ge=2)
    output: FilePath | None = None
    notes: str = ""


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
    request = concordance_request(settings, models)
    fitted: list[Combinations] = []

    def make(draft: Path, _: Checkpoint) -> dict[str, Any]:
        """The results of weights that are written to a draft folder."""
        combinations, results = _fit_all(settings, models)
        content = combinations.model_dump(mode="json")
        write_json(draft / "combination.json", content, private=False)
        fitted.append(combinations)
        return {
            "settings": request["settings"],
            "sheets": [file_of(sheet.file) for sheet in settings.sheets],
            "models": request["models"],
            **results,
        }

    return ModelFolder(output).fill(
        request, make, lambda results: concordance_card(fitted[0], results), overwrite=overwrite
    )


def _fit_all(
    settings: ConcordanceSettings, models: Mapping[str, Any]
) -> tuple[Combinations, dict[str, Any]]:
    """The weights for the score and for each criterion, and their cross-validated scores."""
    rated = [(sheet, each) for sheet in settings.sheets for each in _read(sheet)]
    metric = Concordance(name="concordance", verify="nli" in models, **models)
    compared = metric.compare([each.pair for _, each in rated])
    terms = matrix_of([each.values for each in compared])
    sets = [each.set or sheet.name for sheet, each in rated]
    groups = joined_groups(
        [f"{sheet.name} {each.group}" for sheet, each in rated],
        [each.pair.reference for _, each in rated],
    )
    scores = [each.scores[sheet.score] for sheet, each in rated]
    factors = factors_of([each.values for each in compared])
    scored = FitData(terms, np.array(scores), np.array(sets), np.array(groups), factors)
    expert, figures = _fitted(scored, TOP, FLOOR, settings)
    criteria, agreed = {}, {}
    rubric = np.flatnonzero([sheet.criteria for sheet, _ in rated])
    covered = matrix_of(
        [with_coverage(compared[i].values, compared[i].parts.values()) for i in rubric]
    )
    for criterion, top in CRITERIA.items():
        given = np.array([rated[i][1].scores[criterion] for i in rubric])
        counted = TERMS_OF.get(criterion, FITTED)
        some = FitData(covered, given, scored.sets[rubric], scored.groups[rubric], counted=counted)
        criteria[criterion], agreed[criterion] = _fitted(some, float(top), 0.0, settings)
    return Combinations(expert=expert, criteria=criteria), {
        "pairs": len(rated),
        "groups": len(set(groups)),
        "expert": figures,
        "criteria": agreed,
    }


def concordance_request(settings: ConcordanceSettings, models: Mapping[str, Any]) -> dict[str, Any]:
    """What makes two trainings the same, without a word on where files lie."""
    return {
        "task": "concordance",
        "settings": settings.model_dump(mode="json", exclude={"sheets", "output"}),
        "sheets": [
            sheet.model_dump(mode="json", exclude={"file", "cases"})
            | {"files": [sha256_of(file) for file in (sheet.file, sheet.cases) if file is not None]}
            for sheet in settings.sheets
        ],
        "models": {name: model.identity for name, model in models.items()},
    }


def _read(sheet: SheetFile) -> Sequence[RatedPair]:
    wanted = [sheet.score, *(CRITERIA if sheet.criteria else ())]
    wide = sheet.cases is not None
    found = read_sheet(
        sheet.file, cases=sheet.cases, scores=None if wide else wanted, set=sheet.set
    )
    if found.problems:
        raise InputError(f"{sheet.file}: {found.problems[0]}")
    complete = [each for each in found.rated if all(name in each.scores for name in wanted)]
    if not complete:
        raise InputError(f"{sheet.file}: no pair has all of the scores {', '.join(wanted)}")
    return complete


def _fitted(
    scored: FitData, top: float, floor: float, settings: ConcordanceSettings
) -> tuple[Combination, dict[str, Any]]:
    """The weights from all pairs, and how well such weights do on cases they have not seen."""
    values = cross_validated(
        scored, top, floor, folds=settings.folds, inner=_INNER, seed=settings.seed
    )
    strength = choose(scored, top, _INNER, settings.seed)
    return fit(scored, strength, top, floor), {
        "strength": strength,
        "floor": floor,
        "sets": {str(name): _figures(scored, values, name) for name in np.unique(scored.sets)},
        "all": _figures(scored, values, None),
    }


def _figures(scored: FitData, values: Any, name: Any) -> dict[str, Any]:
    from scipy.stats import kendalltau, pearsonr, spearmanr

    inside = np.ones(len(values), dtype=bool) if name is None else scored.sets == name
    lowest = float(scored.scores.min())
    above = inside & (scored.scores > lowest)
    found: dict[str, Any] = {"pairs": int(inside.sum()), "above_lowest": int(above.sum())}
    for label, those in (("all", inside), ("above", above)):
        predicted, true = values[those], scored.scores[those]
        if len(predicted) > 2 and np.ptp(predicted) and np.ptp(true):
            found[label] = {
                "spearman": round(float(spearmanr(predicted, true)[0]), 4),
                "kendall": round(float(kendalltau(predicted, true)[0]), 4),
                "kendall_half_points": round(
                    float(kendalltau(np.round(2 * predicted), true)[0]), 4
                ),
                "pearson": round(float(pearsonr(predicted, true)[0]), 4),
            }
    whole = np.round(values[inside])
    found["quadratic_kappa"] = round(kappa_of_two(whole, scored.scores[inside]), 4)
    return found
