"""HARE: do both reports name the same things, and link them in the same way?

`mode=graded` weighs what is named and knows parents, siblings and contradictions (see
`histoeval.metrics.hare_graded`). `mode=paper` is our reading of section 3.3 of the paper.
`mode=upstream` repeats the arithmetic of the published code (see `histoeval.reader.upstream`).
docs/hare.md sets them side by side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence, Set
from dataclasses import asdict
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field
from pydantic.dataclasses import dataclass

from histoeval.align.aligner import Aligner, LexicalAligner, Vectors
from histoeval.argument_names import argument
from histoeval.errors import HistoEvalError, Problem
from histoeval.facts.normalise import normalised
from histoeval.facts.scope import scope_of
from histoeval.metric import Score
from histoeval.metrics.base import EnglishMetric
from histoeval.metrics.hare_f1 import (
    NONE,
    PrecisionRecall,
    entity_agreement,
    nearest,
    relation_agreement,
)
from histoeval.metrics.hare_graded import (
    SETTINGS,
    JudgedReport,
    ReportMentions,
    compare,
    mentions_of,
    weighted_agreement,
)
from histoeval.reader.reader import Reader
from histoeval.report import (
    HARE_RELATION_TYPES,
    HARE_TYPES,
    Assertion,
    Entity,
    EntityType,
    Pair,
    Report,
)
from histoeval.resources import resource_bytes
from histoeval.terms.rewriting import RewrittenText

PAPER_THRESHOLD = 0.7

# the published code rounds nothing; its float32 differs between runs in the eighth decimal, which
# splits ties, and rank correlations with experts move
UPSTREAM_DECIMALS = 6

Link = tuple[str, str, str]


@dataclass(frozen=True)
class Hare(EnglishMetric):
    """Agreement on the entities and relations of two reports.

    In graded mode, from 0 to 1, all that was read counts by its type, matched through catalogues
    and aligner. In paper mode an entity or a relation counts when its confidence is above the
    threshold (0.7), a relation only when both its entities do; the value is the sum of entity F1
    and relation F1, from 0 to 2, with the mean beside it. In upstream mode it is the mean, as the
    published code returns it.

    The paper compares all that the reports name. With `of=conclusion` only what they conclude
    counts: entities under the heading of the diagnosis, if there is one, that are not denied.
    """

    mode: Literal["graded", "paper", "upstream"] = "graded"
    threshold: Annotated[float | None, Field(ge=0, lt=1)] = None
    of: Literal["report", "conclusion"] = "report"
    reader: Any = None
    aligner: Any = None
    models: ClassVar[tuple[str, ...]] = ("reader", "aligner")

    def __post_init__(self) -> None:
        if self.threshold is None:
            default = 0.0 if self.mode == "graded" else PAPER_THRESHOLD
            object.__setattr__(self, "threshold", default)

    @property
    def _threshold(self) -> float:
        return self.threshold or 0.0

    def fingerprint(self) -> dict[str, str]:
        settings = super().fingerprint()
        if self.mode == "graded":
            settings["weights"] = hashlib.sha256(resource_bytes(SETTINGS)).hexdigest()[:8]
        return settings

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, 2.0) if self.mode == "paper" else (0.0, 1.0)

    def unavailable_reason(self) -> str | None:
        if reason := super().unavailable_reason():
            return reason
        if not self.reader.reads_relations:
            way = argument("relations")
            return f"needs a reader that finds relations: name a relation model with {way}"
        if self.mode == "upstream" and self.of != "report":
            return "compares whole reports in mode=upstream: leave out of=conclusion, or the mode"
        is_float32 = getattr(self.reader, "dtype", None) == "float32"
        is_lexical = isinstance(self.aligner, LexicalAligner)
        if self.mode == "upstream" and (is_lexical or not is_float32):
            return (
                f"needs Hugging Face models in float32: name them with {argument('reader')}, "
                f"{argument('relations')} and {argument('aligner')} ('hare' for the published "
                f"ones), and {argument('dtype', 'float32')}"
            )
        return None

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        if self.mode == "upstream":
            return [self._score_as_published(pair) for pair in pairs]
        if self.mode == "graded":
            return self._score_graded(pairs)
        reader: Reader = self.reader
        texts = [text for pair in pairs for text in (pair.reference, pair.candidate)]
        readings = [self._reading(report) for report in reader.read(texts)]
        rows = self._embedded([[e.text for e in reading.entities] for reading in readings])
        sides = [side._replace(rows=vectors) for side, vectors in zip(readings, rows, strict=True)]
        return list(map(self._compare, sides[::2], sides[1::2]))

    def _embedded(self, phrases: Sequence[Sequence[str]]) -> list[Vectors]:
        aligner: Aligner = self.aligner
        distinct = list(dict.fromkeys(chain.from_iterable(phrases)))
        vectors = aligner.embed(distinct)
        row = {phrase: number for number, phrase in enumerate(distinct)}
        return [vectors[[row[phrase] for phrase in group]] for group in phrases]

    def _counting(self, report: Report, types: Set[EntityType]) -> set[int]:
        """Return the entities to compare: confident ones, of the whole report or its conclusion.

        The paper's confidence is of words. A reader that gives the chance of a whole phrase has
        many words to get right, so that the mean over words (the geometric one) is compared.
        Of a conclusion everything counts that is not denied, if nothing stands under its heading.
        """
        by_phrase = getattr(self.reader, "sure_of_phrases", False)
        counting = set()
        for position, entity in enumerate(report.entities):
            root = 1 / max(1, len(entity.text.split())) if by_phrase else 1
            if entity.type in types and entity.score**root > self._threshold:
                counting.add(position)
        if self.of == "report":
            return counting
        affirmed = {p for p in counting if report.entities[p].assertion != Assertion.ABSENT}
        scope = scope_of(report.text)
        return {p for p in affirmed if scope.concludes(report.entities[p].start)} or affirmed

    def _reading(self, report: Report) -> _Reading:
        counting = self._counting(report, HARE_TYPES)
        links: set[Link] = set()
        for relation in report.relations:
            is_sure = relation.score > self._threshold
            is_known = report.relation_type(relation) in HARE_RELATION_TYPES
            if is_sure and is_known and {relation.head, relation.tail} <= counting:
                head, tail = report.entities[relation.head], report.entities[relation.tail]
                kind = "marker-result" if head.type == "marker" else "diagnosis-descriptor"
                links.add((_plain(head.text), _plain(tail.text), kind))
        return _Reading([report.entities[position] for position in sorted(counting)], links)

    def _compare(self, reference: _Reading, candidate: _Reading) -> Score:
        entities = entity_agreement(reference.rows, candidate.rows)
        relations = NONE  # a sum without a second term, where neither has relations
        if reference.links or candidate.links:
            relations = relation_agreement(reference.links, candidate.links)
        return Score(
            value=entities.f1 + relations.f1,
            parts=_parts(entities, relations),
            evidence={
                "reference": _matches(reference, candidate),
                "candidate": _matches(candidate, reference),
                "relations": {
                    "shared": sorted(reference.links & candidate.links),
                    "omitted": sorted(reference.links - candidate.links),
                    "invented": sorted(candidate.links - reference.links),
                },
            },
            signature=self.signature,
        )

    def _score_graded(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """Normalise texts as concordance does, so that both metrics share one reading."""
        reader: Reader = self.reader
        texts = dict.fromkeys(text for pair in pairs for text in (pair.reference, pair.candidate))
        normal = {text: normalised(text) for text in texts}
        distinct = list(dict.fromkeys(text.text for text in normal.values()))
        all_types = frozenset(EntityType)
        mentions = {
            text: mentions_of(report, self._counting(report, all_types))
            for text, report in zip(distinct, reader.read(distinct), strict=True)
        }
        phrases = [
            [m.entity.text for m in report_mentions.items] for report_mentions in mentions.values()
        ]
        rows = dict(zip(mentions, self._embedded(phrases), strict=True))
        scores: list[Score | Problem] = []
        for pair in pairs:
            reference, candidate = normal[pair.reference], normal[pair.candidate]
            pair_mentions = mentions[reference.text], mentions[candidate.text]
            judgements = compare(*pair_mentions, rows[reference.text], rows[candidate.text])
            scores.append(self._graded(judgements, pair_mentions, (reference, candidate)))
        return scores

    def _graded(
        self,
        judgements: tuple[JudgedReport, JudgedReport],
        mentions: tuple[ReportMentions, ReportMentions],
        texts: tuple[RewrittenText, RewrittenText],
    ) -> Score:
        reference, candidate = judgements
        overall = weighted_agreement(
            reference.entities + reference.links, candidate.entities + candidate.links
        )
        parts = {"precision": overall.precision, "recall": overall.recall}
        parts |= _named("entity", weighted_agreement(reference.entities, candidate.entities))
        if reference.links or candidate.links:
            parts |= _named("relation", weighted_agreement(reference.links, candidate.links))
        return Score(
            value=overall.f1,
            parts=parts,
            evidence={
                "reference": _judged_entities(reference, *mentions, texts[0]),
                "candidate": _judged_entities(candidate, *mentions[::-1], texts[1]),
                "relations": {
                    "shared": _links(reference, mentions[0], agreed=True),
                    "omitted": _links(reference, mentions[0], agreed=False),
                    "invented": _links(candidate, mentions[1], agreed=False),
                },
            },
            signature=self.signature,
        )

    @cached_property
    def _upstream(self) -> Any:
        from histoeval.reader.upstream import UpstreamReader

        return UpstreamReader(self.reader)

    def _score_as_published(self, pair: Pair) -> Score | Problem:
        try:
            reference, candidate = self._upstream.read([pair.reference, pair.candidate])
        except HistoEvalError as error:
            return self._failed(str(error))
        words, links = [], []
        for reading in (reference, candidate):
            words.append([e.word for e in reading.entities if e.score > self._threshold])
            pairs = {
                (head, tail) for head, tail, score in reading.relations if score > self._threshold
            }
            links.append(pairs)
        entities = NONE
        if all(words):
            vectors = [self.aligner.embed(side) for side in words]
            recall = float(nearest(vectors[0], vectors[1]).cosine.mean())
            precision = float(nearest(vectors[1], vectors[0]).cosine.mean())
            entities = _agreement_as_published(precision, recall)
        shared = len(links[0] & links[1])
        relations = _agreement_as_published(
            shared / (len(links[1]) + 1e-9), shared / (len(links[0]) + 1e-9)
        )
        return Score(
            value=round(0.5 * entities.f1 + 0.5 * relations.f1, UPSTREAM_DECIMALS),
            parts=_parts(entities, relations),
            signature=self.signature,
        )


def _agreement_as_published(precision: float, recall: float) -> PrecisionRecall:
    """The published F1, which can be negative where cosines are, rounded."""
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    return PrecisionRecall(*(round(share, UPSTREAM_DECIMALS) for share in (precision, recall, f1)))


class _Reading(NamedTuple):
    entities: list[Entity]
    links: set[Link]
    rows: Any = None  # the vectors of the entities


def _plain(phrase: str) -> str:
    return " ".join(phrase.casefold().split())


def _parts(entities: PrecisionRecall, relations: PrecisionRecall) -> dict[str, float]:
    mean = (entities.f1 + relations.f1) / 2
    return _named("entity", entities) | _named("relation", relations) | {"mean": mean}


def _named(kind: str, numbers: PrecisionRecall) -> dict[str, float]:
    return {f"{kind}_{name}": value for name, value in asdict(numbers).items()}


def _matches(report: _Reading, opposite: _Reading) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"text": e.text, "type": str(e.type), "start": e.start, "end": e.end}
        for e in report.entities
    ]
    if report.entities and opposite.entities:
        best = nearest(report.rows, opposite.rows)
        for row, position, cosine in zip(rows, best.position, best.cosine, strict=True):
            row |= {"nearest": opposite.entities[position].text, "cosine": float(cosine)}
    return rows


def _judged_entities(
    side: JudgedReport, mentions: ReportMentions, opposite: ReportMentions, text: RewrittenText
) -> list[dict[str, Any]]:
    """List the entities of one report, in its own words, with their nearest in the other."""
    rows = []
    for judgement, mention in zip(side.entities, mentions.items, strict=True):
        entity = text.restored(mention.entity)
        row = {"text": entity.text, "type": str(entity.type), "start": entity.start}
        row |= {"end": entity.end, "weight": judgement.weight, "similarity": judgement.value}
        if judgement.nearest is not None:
            row["nearest"] = opposite.items[judgement.nearest].entity.text
        if judgement.contradicted:
            row["contradicted"] = True
        rows.append(row)
    return rows


def _links(side: JudgedReport, mentions: ReportMentions, *, agreed: bool) -> list[Link]:
    """List the relations of one report that the other shares, or those that it does not."""
    links = []
    for judgement, (head, tail) in zip(side.links, mentions.links, strict=True):
        if judgement.agreed == agreed:
            first, second = mentions.items[head], mentions.items[tail]
            links.append((first.plain, second.plain, f"{first.type}-{second.type}"))
    return links
