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
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from histoeval.align.aligner import Aligner, LexicalAligner
from histoeval.callers import argument
from histoeval.errors import HistoEvalError, Problem
from histoeval.facts.normalise import NormalisedText, normalised
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
    GradedComparison,
    JudgedReport,
    ReportMentions,
    compare,
    mentions_of,
)
from histoeval.reader.reader import Reader
from histoeval.report import (
    HARE_RELATION_TYPES,
    HARE_TYPES,
    Assertion,
    EntityType,
    Pair,
    Relation,
    Report,
)
from histoeval.resources import resource_bytes

PAPER_THRESHOLD = 0.7

UPSTREAM_DECIMALS = 6
"""The published code rounds nothing; its float32 differs between runs in the eighth decimal, which
splits ties, and rank correlations with experts move."""

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
        """The threshold of the paper, where its arithmetic is wanted; otherwise all counts."""
        if self.threshold is None:
            usual = 0.0 if self.mode == "graded" else PAPER_THRESHOLD
            object.__setattr__(self, "threshold", usual)

    @property
    def _threshold(self) -> float:
        return self.threshold or 0.0

    def fingerprint(self) -> dict[str, str]:
        """The models; in graded mode the weights."""
        signed = super().fingerprint()
        if self.mode == "graded":
            signed["weights"] = hashlib.sha256(resource_bytes(SETTINGS)).hexdigest()[:8]
        return signed

    @property
    def range(self) -> tuple[float, float]:
        """A sum of two F1 in paper mode."""
        return (0.0, 2.0) if self.mode == "paper" else (0.0, 1.0)

    def unavailable_reason(self) -> str | None:
        """HARE needs a reader that reads relations, and an aligner."""
        if lacking := super().unavailable_reason():
            return lacking
        if not self.reader.reads_relations:
            way = argument("relations")
            return f"needs a reader that finds relations: name a relation model with {way}"
        if self.mode == "upstream" and self.of != "report":
            return "compares whole reports in mode=upstream: leave out of=conclusion, or the mode"
        in_float32 = getattr(self.reader, "dtype", None) == "float32"
        lexical = isinstance(self.aligner, LexicalAligner)
        if self.mode == "upstream" and (lexical or not in_float32):
            return (
                f"needs Hugging Face models in float32: name them with {argument('reader')}, "
                f"{argument('relations')} and {argument('aligner')} ('hare' for the published "
                f"ones), and {argument('dtype', 'float32')}"
            )
        return None

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """All reports read first, then all entities embedded, then each pair compared."""
        if self.mode == "upstream":
            return [self._score_as_published(pair) for pair in pairs]
        if self.mode == "graded":
            return self._score_graded(pairs)
        reader: Reader = self.reader
        aligner: Aligner = self.aligner
        texts = [text for pair in pairs for text in (pair.reference, pair.candidate)]
        readings = [
            _Reading(report, self._counting(report, HARE_TYPES), self._threshold)
            for report in reader.read(texts)
        ]
        phrases = list(dict.fromkeys(e.text for reading in readings for e in reading.entities))
        vectors = aligner.embed(phrases)
        row = {phrase: i for i, phrase in enumerate(phrases)}
        return [
            self._compare(
                reference,
                candidate,
                vectors[[row[e.text] for e in reference.entities]],
                vectors[[row[e.text] for e in candidate.entities]],
            )
            for reference, candidate in zip(readings[::2], readings[1::2], strict=True)
        ]

    def _counting(self, report: Report, types: Set[EntityType]) -> set[int]:
        """What is compared of a report: what the reader is sure of, all of it or what it concludes.

        The paper's confidence is of words. A reader that gives the chance of a whole phrase has
        many words to get right, so that the mean over words (the geometric one) is compared.
        Of a conclusion everything counts that is not denied, if nothing stands under its heading.
        """
        by_phrase = getattr(self.reader, "sure_of_phrases", False)
        sure = [
            e.score ** (1 / max(1, len(e.text.split()))) if by_phrase else e.score
            for e in report.entities
        ]
        counting = {
            place
            for place, entity in enumerate(report.entities)
            if entity.type in types and sure[place] > self._threshold
        }
        if self.of == "report":
            return counting
        affirmed = {p for p in counting if report.entities[p].assertion != Assertion.ABSENT}
        scope = scope_of(report.text)
        return {p for p in affirmed if scope.concludes(report.entities[p].start)} or affirmed

    def _score_graded(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """Texts are normalised as for concordance, which then reads them only once."""
        reader: Reader = self.reader
        aligner: Aligner = self.aligner
        texts = dict.fromkeys(text for pair in pairs for text in (pair.reference, pair.candidate))
        normal = {text: normalised(text) for text in texts}
        distinct = list(dict.fromkeys(each.text for each in normal.values()))
        every = frozenset(EntityType)
        mentions = {
            text: mentions_of(report, self._counting(report, every))
            for text, report in zip(distinct, reader.read(distinct), strict=True)
        }
        phrases = list(
            dict.fromkeys(m.entity.text for each in mentions.values() for m in each.items)
        )
        vectors = aligner.embed(phrases)
        row = {phrase: i for i, phrase in enumerate(phrases)}
        rows = {
            text: vectors[[row[m.entity.text] for m in each.items]]
            for text, each in mentions.items()
        }
        scores: list[Score | Problem] = []
        for pair in pairs:
            both = normal[pair.reference], normal[pair.candidate]
            one, other = (mentions[each.text] for each in both)
            compared = compare(one, other, *(rows[each.text] for each in both))
            scores.append(self._graded(compared, one, other, *both))
        return scores

    def _graded(
        self,
        compared: GradedComparison,
        reference: ReportMentions,
        candidate: ReportMentions,
        reference_text: NormalisedText,
        candidate_text: NormalisedText,
    ) -> Score:
        parts = _named("entity", compared.entities)
        if compared.relations is not None:
            parts |= _named("relation", compared.relations)
        whole = compared.whole
        return Score(
            value=whole.f1,
            parts={"precision": whole.precision, "recall": whole.recall} | parts,
            evidence={
                "reference": _found(compared.reference, reference, candidate, reference_text),
                "candidate": _found(compared.candidate, candidate, reference, candidate_text),
                "relations": {
                    "shared": _links(compared.reference, reference, agreed=True),
                    "omitted": _links(compared.reference, reference, agreed=False),
                    "invented": _links(compared.candidate, candidate, agreed=False),
                },
            },
            signature=self.signature,
        )

    def _compare(
        self, reference: _Reading, candidate: _Reading, reference_rows: Any, candidate_rows: Any
    ) -> Score:
        entities = entity_agreement(reference_rows, candidate_rows)
        relations = NONE  # a sum without a second term, where neither has relations
        if reference.links or candidate.links:
            relations = relation_agreement(reference.links, candidate.links)
        return Score(
            value=entities.f1 + relations.f1,
            parts=_parts(entities, relations),
            evidence={
                "reference": _matches(reference, candidate, reference_rows, candidate_rows),
                "candidate": _matches(candidate, reference, candidate_rows, reference_rows),
                "relations": {
                    "shared": sorted(reference.links & candidate.links),
                    "omitted": sorted(reference.links - candidate.links),
                    "invented": sorted(candidate.links - reference.links),
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
            return Problem(code="metric_failed", metric=self.name, message=str(error))
        words = [
            [e.word for e in reading.entities if e.score > self._threshold]
            for reading in (reference, candidate)
        ]
        links = [
            {(head, tail) for head, tail, score in reading.relations if score > self._threshold}
            for reading in (reference, candidate)
        ]
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
    """The published F1, which is not held at 0 when cosines are negative, without its noise."""
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    return PrecisionRecall(*(round(each, UPSTREAM_DECIMALS) for each in (precision, recall, f1)))


class _Reading:
    """What HARE sees of a report: the entities that count, and the paper's relations of these."""

    def __init__(self, report: Report, counting: Set[int], threshold: float) -> None:
        def links(relation: Relation) -> bool:
            """Whether a relation is sure, of a kind that counts, between entities that do."""
            return (
                relation.score > threshold
                and report.relation_type(relation) in HARE_RELATION_TYPES
                and relation.head in counting
                and relation.tail in counting
            )

        self.entities = [report.entities[place] for place in sorted(counting)]
        self.links: set[Link] = {_link(report, r) for r in report.relations if links(r)}


def _link(report: Report, relation: Relation) -> Link:
    """Both phrases and the kind of relation; case and spacing do not tell relations apart."""
    head, tail = report.entities[relation.head], report.entities[relation.tail]
    kind = "marker-result" if head.type == "marker" else "diagnosis-descriptor"
    return _plain(head.text), _plain(tail.text), kind


def _plain(phrase: str) -> str:
    return " ".join(phrase.casefold().split())


def _parts(entities: PrecisionRecall, relations: PrecisionRecall) -> dict[str, float]:
    mean = (entities.f1 + relations.f1) / 2
    return _named("entity", entities) | _named("relation", relations) | {"mean": mean}


def _named(kind: str, numbers: PrecisionRecall) -> dict[str, float]:
    return {f"{kind}_{name}": value for name, value in asdict(numbers).items()}


def _matches(
    own: _Reading, other: _Reading, own_rows: Any, other_rows: Any
) -> list[dict[str, Any]]:
    """Each entity of one side with the nearest of the other, for a person to check."""
    rows: list[dict[str, Any]] = [
        {"text": e.text, "type": str(e.type), "start": e.start, "end": e.end} for e in own.entities
    ]
    if own.entities and other.entities:
        best = nearest(own_rows, other_rows)
        for row, position, cosine in zip(rows, best.position, best.cosine, strict=True):
            row |= {"nearest": other.entities[position].text, "cosine": float(cosine)}
    return rows


def _found(
    side: JudgedReport, own: ReportMentions, other: ReportMentions, text: NormalisedText
) -> list[dict[str, Any]]:
    """Each thing of one report with what the other has for it, in the words of the report."""
    rows = []
    for judged, mention in zip(side.entities, own.items, strict=True):
        entity = text.restored(mention.entity)
        row = {"text": entity.text, "type": str(entity.type), "start": entity.start}
        row |= {"end": entity.end, "weight": judged.weight, "similarity": judged.value}
        if judged.nearest is not None:
            row["nearest"] = other.items[judged.nearest].entity.text
        if judged.contradicted:
            row["contradicted"] = True
        rows.append(row)
    return rows


def _links(side: JudgedReport, own: ReportMentions, *, agreed: bool) -> list[Link]:
    """The relations of one report on which the other agrees, or those on which it does not."""
    return [
        (head.plain, tail.plain, f"{head.type}-{tail.type}")
        for judged, (head, tail) in zip(side.links, own.linked(), strict=True)
        if judged.agreed == agreed
    ]
