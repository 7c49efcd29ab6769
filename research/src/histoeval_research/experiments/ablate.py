"""Variants of metrics, to see the contribution of each part.

Three kinds of variants: HARE with entities and relations that its reader is sure of, not sure of,
or either (table 7 of the paper); concordance without each of its parts; and any grid of
settings that a file gives.
"""

from __future__ import annotations

import itertools
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from histoeval.concordance.compare import PARTS
from histoeval.errors import HistoEvalError, InputError, Problem, SettingError, did_you_mean
from histoeval.io.files import GUESS
from histoeval.io.results import ScoredMetric
from histoeval.io.tables.columns import Columns
from histoeval.metric import Metric, Score, Signature
from histoeval.metrics.base import MetricBase
from histoeval.metrics.concordance import TOP, Concordance, ReportComparison, weights
from histoeval.metrics.hare import Hare
from histoeval.report import Pair
from histoeval.run.agree import (
    Agreement,
    StudySettings,
    conclude,
    key_of,
    open_rated,
)
from histoeval.run.models import (
    Models,
    load_aligner,
    load_entailer,
    load_metrics,
    load_reader,
    metric_names,
)
from histoeval.run.pipeline import answers
from histoeval.statistics.correlation import RANKED_BY
from histoeval.statistics.regression import Range
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES
from histoeval_research.experiments.filtered_reader import CachingReader, Kept, SureReader

KINDS = ("hare", "concordance")
PAIR_BATCH = 128
PAPER_THRESHOLD = 0.7

TABLE_7: tuple[tuple[str, Kept], ...] = (
    ("all", "all"),
    ("above 0.7", "sure"),
    ("inverted", "unsure"),
)
"""What the paper's table 7 keeps, for entities and for relations."""


@dataclass(frozen=True)
class Variant:
    """One row of the table: what it is called, what it says of pairs, and what it varies."""

    name: str
    metric: Metric
    base: str


class Comparisons:
    """Concordance's comparisons of pairs, each made once for all that ask for it."""

    def __init__(self, whole: Concordance) -> None:
        self.whole = whole
        self._known: dict[tuple[str, str], ReportComparison] = {}

    def of(self, pairs: Sequence[Pair]) -> list[ReportComparison]:
        """One comparison per pair."""
        keys = [(pair.reference, pair.candidate) for pair in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self._known}
        self._known |= dict(zip(new, self.whole.compare(list(new.values())), strict=True))
        return [self._known[key] for key in keys]


@dataclass(frozen=True)
class WithoutPart(MetricBase):
    """Concordance as though no report ever spoke of one part."""

    comparisons: Comparisons
    part: str | None

    @property
    def name(self) -> str:
        """The part that is missing."""
        return "concordance" if self.part is None else f"concordance without {self.part}"

    @property
    def signature(self) -> Signature:
        """That of concordance, with the part that is missing."""
        signed = self.comparisons.whole.signature
        return signed.model_copy(
            update={"settings": {**signed.settings, "without": self.part or "nothing"}}
        )

    def unavailable_reason(self) -> str | None:
        """As the whole."""
        return self.comparisons.whole.unavailable_reason()

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """One answer per pair."""
        return [
            self._answer(compared, pair)
            for pair, compared in zip(pairs, self.comparisons.of(pairs), strict=True)
        ]

    def _answer(self, compared: ReportComparison, pair: Pair) -> Score | Problem:
        if not compared.says_something and pair.reference != pair.candidate:
            message = "neither report states anything that can be compared"
            return Problem(code="metric_failed", metric=self.name, message=message)
        left = {name: v for name, v in compared.values.items() if name != self.part}
        return Score(value=weights().expert(left) / TOP, signature=self.signature)


def variants(
    kinds: Sequence[str], grid: Path | None = None, models: Models | None = None
) -> list[Variant]:
    """The variants that were requested, the models loaded once and each text read once."""
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        guess = did_you_mean(unknown[0], KINDS)
        raise SettingError(
            f"{unknown[0]!r} cannot be taken apart{guess}; known: {', '.join(KINDS)}"
        )
    models = models or Models()
    reader = CachingReader(load_reader(models)) if kinds or grid else None
    models = models.model_copy(update={"reader": reader, "relations": None, "labels": None})
    aligner = load_aligner(models)
    found: list[Variant] = []
    if "hare" in kinds and reader is not None:
        found += _hare(reader, aligner)
    if "concordance" in kinds:
        nli = load_entailer(models.nli, models.device)
        whole = Concordance(name="concordance", reader=reader, aligner=aligner, nli=nli)
        found += [Variant(each.name, each, "concordance") for each in _parts(whole)]
    if grid is not None:
        specs = read_grid(grid)
        found += [
            Variant(spec, metric, specs[0])
            for spec, metric in zip(specs, load_metrics(specs, models), strict=True)
        ]
    if not found:
        raise SettingError(f"nothing to vary: name {' or '.join(KINDS)}, or give a grid")
    return found


def _hare(reader: CachingReader, aligner: Any) -> Iterator[Variant]:
    """What counts of entities, and of relations: all, what is sure, or what is not."""
    for (entities, some), (relations, others) in itertools.product(TABLE_7, repeat=2):
        name = (
            f"hare, {entities}"
            if entities == relations
            else f"hare, entities {entities}, relations {relations}"
        )
        cut = SureReader(reader, PAPER_THRESHOLD, some, others)
        metric = Hare(name="hare", mode="paper", threshold=0, reader=cut, aligner=aligner)
        yield Variant(name, metric, "hare, above 0.7")


def _parts(whole: Concordance) -> Iterator[WithoutPart]:
    comparisons = Comparisons(whole)
    yield WithoutPart(comparisons, None)
    for part in PARTS:
        yield WithoutPart(comparisons, part)


def read_grid(path: Path) -> list[str]:
    """The specifications that a file asks for, in TOML or JSON.

    `grid` is a list of tables with a `metric`, and a value or a list of values for each setting;
    every combination is a variant.
    """
    content = _content(path)
    tables = content.get("grid") if isinstance(content, Mapping) else None
    if not isinstance(tables, list) or not tables:
        raise InputError(f"{path} has no grid: write [[grid]] with a metric and its settings")
    specs: list[str] = []
    for table in tables:
        if not isinstance(table, Mapping) or not isinstance(table.get("metric"), str):
            raise InputError(f"{path}: every part of the grid needs a metric")
        settings = {name: _several(value) for name, value in table.items() if name != "metric"}
        for values in itertools.product(*settings.values()):
            chosen = zip(settings, values, strict=True)
            specs.append(
                ":".join([table["metric"], *(f"{name}={value}" for name, value in chosen)])
            )
    try:
        return metric_names(specs)
    except HistoEvalError as error:
        raise InputError(f"{path}: {error}") from error


def _content(path: Path) -> Any:
    try:
        text = path.read_text("utf-8")
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is neither TOML nor, if it ends so, JSON: {error}") from error


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def score_variants(
    found: Sequence[Variant], pairs: Mapping[tuple[str, str], Pair]
) -> tuple[dict[str, ScoredMetric], dict[str, str]]:
    """What each variant says of each pair, and why those that cannot run do not."""
    scored: dict[str, ScoredMetric] = {}
    unavailable: dict[str, str] = {}
    keys, own = list(pairs), list(pairs.values())
    for variant in found:
        if reason := variant.metric.unavailable_reason():
            unavailable[variant.name] = reason
            continue
        values = {
            key: score.value
            for key, score in zip(keys, _answers(variant, own), strict=True)
            if isinstance(score, Score)
        }
        low, high = variant.metric.range
        scored[variant.name] = ScoredMetric(
            values,
            str(variant.metric.signature),
            (low, high) if math.isfinite(low) and math.isfinite(high) else None,
            variant.metric.higher_is_better,
        )
    return scored, unavailable


def _answers(variant: Variant, pairs: Sequence[Pair]) -> Iterator[Score | Problem]:
    def failed(message: str) -> Problem:
        """What stands in place of a score where the variant broke."""
        return Problem(code="metric_failed", metric=variant.name, message=message)

    for first in range(0, len(pairs), PAIR_BATCH):
        yield from answers(variant.metric.score, pairs[first : first + PAIR_BATCH], failed)


def ablate(
    sheet: Any,
    kinds: Sequence[str] = KINDS,
    *,
    grid: str | Path | None = None,
    cases: str | Path | None = None,
    raters: Sequence[str] = (),
    group: str = "case",
    positive_only: bool = False,
    scale: Range | None = None,
    coefficient: str = RANKED_BY,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    columns: Columns | None = None,
    encoding: str | None = None,
    models: Models | None = None,
) -> Agreement:
    """Study variants of metrics on a sheet, as `agree` studies metrics.

    Args:
        sheet: pairs that experts have scored.
        kinds: `hare` for the paper's table 7, `concordance` without each of its parts.
        grid: a TOML or JSON file of metrics and settings; every combination is a variant.
        cases: a table of row (from 0) and case, for HARE's layout.
        raters: columns of experts' scores.
        group: what is drawn together and compared within.
        positive_only: leave out what experts give 0.
        scale: lowest and highest score there can be.
        coefficient: what variants are ranked by.
        resamples: for the intervals.
        permutations: for the tests.
        seed: another one draws other resamples.
        columns: of the sheet, where they cannot be guessed.
        encoding: of the sheet, where it cannot be guessed.
        models: the reader and the aligner to use.
    """
    settings = StudySettings(
        cases=cases,
        raters=raters,
        group=group,
        positive_only=positive_only,
        scale=scale,
        coefficient=coefficient,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
    )
    source, read = open_rated(sheet, settings, columns or GUESS, encoding)
    found = variants(kinds, None if grid is None else Path(grid), models)
    pairs = {key_of(row, read.wide): row.pair for row in read.rated if row.scores}
    scored, unavailable = score_variants(found, pairs)
    only = tuple(
        (each.base, each.name)
        for each in found
        if each.name != each.base and {each.name, each.base} <= scored.keys()
    )
    return conclude(source, read, scored, unavailable, settings, only=only)
