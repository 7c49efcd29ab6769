"""Variants of metrics, to see the contribution of each part.

Three kinds of variants: HARE with entities and relations that its reader is sure of, not sure of,
or either (table 7 of the paper); concordance without each of its parts; and any grid of
settings that a file gives.
"""

import itertools
import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from histoeval.argument_names import public
from histoeval.concordance.compare import PARTS
from histoeval.errors import HistoEvalError, InputError, Problem, SettingError, did_you_mean
from histoeval.io.files import GUESS
from histoeval.io.results import ScoredMetric
from histoeval.io.tables.columns import Columns
from histoeval.metric import Metric, Score, Signature
from histoeval.metrics.base import MetricBase
from histoeval.metrics.concordance import TOP, Concordance, ReportComparison, weights
from histoeval.metrics.hare import Hare
from histoeval.reader.reader import Reader
from histoeval.report import Pair, Report
from histoeval.run.agree import SHEET, Agreement, StudySettings, conclude, key_of, open_rated
from histoeval.run.models import (
    SCORING,
    Models,
    load_aligner,
    load_entailer,
    load_metrics,
    load_reader,
    metric_names,
)
from histoeval.run.pipeline import answers
from histoeval.run.settings import Encoding, PathLike
from histoeval.runtime.memo import Memory
from histoeval.settings import Option

KINDS = ("hare", "concordance")
PAIR_BATCH = 128
PAPER_THRESHOLD = 0.7

Kept = Literal["all", "sure", "unsure"]  # everything, what is above the threshold, or what is not

# What the paper's table 7 keeps, for entities and for relations.
TABLE_7: tuple[tuple[str, Kept], ...] = (
    ("all", "all"),
    ("above 0.7", "sure"),
    ("inverted", "unsure"),
)


class CachingReader:
    """A reader that reads no text twice."""

    def __init__(self, reader: Reader) -> None:
        self.identity = reader.identity
        self.reads_relations = reader.reads_relations
        self.sure_of_phrases = bool(getattr(reader, "sure_of_phrases", False))
        self._memory: Memory[str, Report] = Memory(reader.read, most=200_000)

    def read(self, texts: Sequence[str]) -> list[Report]:
        return self._memory(texts)


@dataclass(frozen=True)
class SureReader:
    """What `reader` finds, less the entities and relations that are not wanted."""

    # A relation goes with either of its entities. Confidence is of words, as in the paper: of a
    # reader that is sure of whole phrases, the mean over words is compared, as HARE does.

    reader: Reader
    threshold: float = 0.7
    entities: Kept = "sure"
    relations: Kept = "sure"

    @property
    def identity(self) -> str:
        kept = f"entities:{self.entities}+relations:{self.relations}"
        return f"{self.reader.identity}+{kept}+threshold:{self.threshold:g}"

    @property
    def reads_relations(self) -> bool:
        return self.reader.reads_relations

    def read(self, texts: Sequence[str]) -> list[Report]:
        return [self._cut(report) for report in self.reader.read(texts)]

    def _cut(self, report: Report) -> Report:
        is_of_phrases = getattr(self.reader, "sure_of_phrases", False)
        words = [len(e.text.split()) if is_of_phrases else 1 for e in report.entities]
        places = [
            place
            for place, (entity, count) in enumerate(zip(report.entities, words, strict=True))
            if self._is_wanted(entity.score ** (1 / max(1, count)), self.entities)
        ]
        new = {old: place for place, old in enumerate(places)}
        relations = [
            relation.model_copy(update={"head": new[relation.head], "tail": new[relation.tail]})
            for relation in report.relations
            if {relation.head, relation.tail} <= new.keys()
            and self._is_wanted(relation.score, self.relations)
        ]
        entities = tuple(report.entities[place] for place in places)
        return report.model_copy(update={"entities": entities, "relations": tuple(relations)})

    def _is_wanted(self, score: float, kept: Kept) -> bool:
        return kept == "all" or (score > self.threshold) == (kept == "sure")


Compared = Callable[[Sequence[tuple[str, str]]], list[ReportComparison]]


@dataclass(frozen=True)
class WithoutPart(MetricBase):
    """Concordance as though no report ever spoke of one part; `compared` is shared by all."""

    whole: Concordance
    compared: Compared
    part: str | None

    @property
    def name(self) -> str:
        return "concordance" if self.part is None else f"concordance without {self.part}"

    @property
    def signature(self) -> Signature:
        signed = self.whole.signature
        settings = {**signed.settings, "without": self.part or "nothing"}
        return signed.model_copy(update={"settings": settings})

    def unavailable_reason(self) -> str | None:
        return self.whole.unavailable_reason()

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        texts = [(pair.reference, pair.candidate) for pair in pairs]
        scores: list[Score | Problem] = []
        for (reference, candidate), compared in zip(texts, self.compared(texts), strict=True):
            if not compared.says_something and reference != candidate:
                message = "neither report states anything that can be compared"
                scores.append(Problem(code="metric_failed", metric=self.name, message=message))
                continue
            left = {name: value for name, value in compared.values.items() if name != self.part}
            scores.append(Score(value=weights().expert(left) / TOP, signature=self.signature))
        return scores


class Variant(NamedTuple):
    """One row of the table: what it is called, what it says of pairs, and what it varies."""

    name: str
    metric: Metric
    base: str


def variants(
    kinds: Sequence[str], grid: Path | None = None, models: Models | None = None
) -> list[Variant]:
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        guess = did_you_mean(unknown[0], KINDS)
        known = ", ".join(KINDS)
        raise SettingError(f"{unknown[0]!r} cannot be taken apart{guess}; known: {known}")
    if not kinds and grid is None:
        raise SettingError(f"nothing to vary: name {' or '.join(KINDS)}, or give a grid")
    models = models or Models()
    reader = CachingReader(load_reader(models))
    models = models.model_copy(update={"reader": reader, "relations": None, "labels": None})
    aligner = load_aligner(models)
    listed: list[Variant] = []
    if "hare" in kinds:
        for (entities, some), (relations, others) in itertools.product(TABLE_7, repeat=2):
            name = f"hare, entities {entities}, relations {relations}"
            name = f"hare, {entities}" if entities == relations else name
            cut = SureReader(reader, PAPER_THRESHOLD, some, others)
            metric = Hare(name="hare", mode="paper", threshold=0, reader=cut, aligner=aligner)
            listed.append(Variant(name, metric, "hare, above 0.7"))
    if "concordance" in kinds:
        nli = load_entailer(models.nli, models.device)
        whole = Concordance(name="concordance", reader=reader, aligner=aligner, nli=nli)
        compared: Memory[tuple[str, str], ReportComparison] = Memory(
            lambda texts: whole.compare([Pair(id="", reference=r, candidate=c) for r, c in texts]),
            most=200_000,
        )
        for part in (None, *PARTS):
            without = WithoutPart(whole, compared, part)
            listed.append(Variant(without.name, without, "concordance"))
    if grid is not None:
        specs = read_grid(grid)
        metrics = load_metrics(specs, models)
        listed += [Variant(s, metric, specs[0]) for s, metric in zip(specs, metrics, strict=True)]
    return listed


def read_grid(path: Path) -> list[str]:
    """The specifications that a file asks for, in TOML or JSON."""
    # `grid` is a list of tables with a `metric`, and a value or a list of values for each setting;
    # every combination is a variant.
    try:
        text = path.read_text("utf-8")
        content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is neither TOML nor, if it ends so, JSON: {error}") from error
    tables = content.get("grid") if isinstance(content, Mapping) else None
    if not isinstance(tables, list) or not tables:
        raise InputError(f"{path} has no grid: write [[grid]] with a metric and its settings")
    specs: list[str] = []
    for table in tables:
        if not isinstance(table, Mapping) or not isinstance(table.get("metric"), str):
            raise InputError(f"{path}: every part of the grid needs a metric")
        settings = {name: value for name, value in table.items() if name != "metric"}
        values = [value if isinstance(value, list) else [value] for value in settings.values()]
        for combination in itertools.product(*values):
            chosen = zip(settings, combination, strict=True)
            specs.append(":".join([table["metric"], *(f"{n}={value}" for n, value in chosen)]))
    try:
        return metric_names(specs)
    except HistoEvalError as error:
        raise InputError(f"{path}: {error}") from error


def score_variants(
    listed: Sequence[Variant], pairs: Mapping[tuple[str, str], Pair]
) -> tuple[dict[str, ScoredMetric], dict[str, str]]:
    scored: dict[str, ScoredMetric] = {}
    unavailable: dict[str, str] = {}
    for name, metric, _ in listed:
        if reason := metric.unavailable_reason():
            unavailable[name] = reason
            continue
        failed = partial(Problem, "metric_failed", metric=name)
        rows, scores = list(pairs.values()), list[Score | Problem]()
        for first in range(0, len(rows), PAIR_BATCH):
            scores += answers(metric.score, rows[first : first + PAIR_BATCH], failed)
        answered = zip(pairs, scores, strict=True)
        values = {key: score.value for key, score in answered if isinstance(score, Score)}
        low, high = metric.range
        bounds = (low, high) if math.isfinite(low) and math.isfinite(high) else None
        scored[name] = ScoredMetric(values, str(metric.signature), bounds, metric.higher_is_better)
    return scored, unavailable


@dataclass(frozen=True)
class AblateSettings(StudySettings):
    """What `ablate` takes."""

    sheet: Annotated[Any, SHEET]
    kinds: Annotated[
        Sequence[str] | None,
        Option(
            "hare (confidence thresholds of its reader, as in table 7 of the paper) and "
            "concordance (without each of its parts), separated by a comma. Both when neither "
            "this nor --grid is given.",
            name="--of",
            shell=str | None,
            read=lambda names: [name.strip() for name in names.split(",")],
        ),
    ] = None
    _: KW_ONLY
    grid: Annotated[
        PathLike | None,
        Option("TOML or JSON file of metrics and settings; every combination is a row."),
    ] = None
    columns: Annotated[
        Columns | None, Option("of the sheet, where they cannot be guessed.", shell=Columns)
    ] = None
    encoding: Encoding = None
    models: Annotated[Models | None, Option("the models to use.", shell=Models, only=SCORING)] = (
        None
    )


@public(AblateSettings)
def ablate(settings: AblateSettings) -> Agreement:
    """Study variants of metrics on a sheet, as `agree` studies metrics."""
    return run_ablate(settings)


def run_ablate(settings: AblateSettings) -> Agreement:
    source, sheet = open_rated(
        settings.sheet, settings, settings.columns or GUESS, settings.encoding
    )
    grid = None if settings.grid is None else Path(settings.grid)
    usual = KINDS if grid is None else ()
    listed = variants(usual if settings.kinds is None else settings.kinds, grid, settings.models)
    pairs = {key_of(row, sheet.wide): row.pair for row in sheet.rated if row.scores}
    scored, unavailable = score_variants(listed, pairs)
    only = tuple(
        (variant.base, variant.name)
        for variant in listed
        if variant.name != variant.base and {variant.name, variant.base} <= scored.keys()
    )
    return conclude(source, sheet, scored, unavailable, settings, only=only)
