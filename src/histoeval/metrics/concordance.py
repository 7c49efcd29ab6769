"""Concordance: does the candidate say what the reference says, as an expert would judge it?

Both reports are read, their facts compared part by part (`histoeval.concordance`), and the parts
combined with weights that were fitted to experts' scores. docs/concordance.md has the details.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from functools import cache, cached_property
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from histoeval.align.aligner import Aligner, Vectors
from histoeval.concordance.compare import OF_STATEMENTS, restored
from histoeval.concordance.evidence import (
    NONE_IGNORED,
    ComparedPart,
    IgnoredErrors,
    ReportError,
    evidence_of,
    listed,
    without_errors,
)
from histoeval.concordance.reconcile import reconciled
from histoeval.concordance.rubric import CRITERIA, judge, overall, reasoning
from histoeval.concordance.specimens.compare import compare_reports
from histoeval.concordance.verification import Verification, answers_to, questions_about
from histoeval.concordance.verified_errors import entailed_errors, verified_parts
from histoeval.concordance.weights import SAFETY, Combinations, read_combinations
from histoeval.errors import Problem
from histoeval.facts.facts import Facts, facts_of
from histoeval.facts.normalise import normalised
from histoeval.judges.alignment import Alignment, read_alignment
from histoeval.metric import Explanation, PartCost, Score
from histoeval.metrics.base import EnglishMetric, explained
from histoeval.reader.reader import Reader
from histoeval.report import Pair
from histoeval.resources import resource_bytes, resource_path
from histoeval.runtime.memo import Memory
from histoeval.runtime.threads import cores, in_order

TOP = 5.0  # the best score of the experts' scale
_STRANGE, _ALIKE = 0.4, 0.9  # from nothing to everything in common, as cosines

# words up to which reports are verified whatever they have in common, and the score from which on
# longer ones are
_SHORT, _IN_COMMON = 60, 0.3
_BLOCK = 32  # pairs that are compared together
_WEIGHTS = "models/concordance/combination.json"


@plain_dataclass(frozen=True, slots=True)
class ReportComparison:
    reference: Facts
    candidate: Facts
    parts: dict[str, ComparedPart]
    verification: Verification | None = None  # what each says of the other, where asked
    entailed: IgnoredErrors = NONE_IGNORED  # errors that are none: said in other words there

    @property
    def says_something(self) -> bool:
        facts = (part for name, part in self.parts.items() if name not in OF_STATEMENTS)
        return any(part.value is not None for part in facts)

    @property
    def values(self) -> dict[str, float | None]:
        """The parts as numbers, and `safety`, the share of them that the worst error leaves."""
        errors = listed(self.parts.values())[1]
        worst = errors[0].shown.severity if errors else None
        return {name: part.value for name, part in self.parts.items()} | {"safety": SAFETY[worst]}


@dataclass(frozen=True)
class Concordance(EnglishMetric):
    """Agreement of a candidate with its reference, from 0 to 1, with evidence for every part."""

    reader: Any = None
    aligner: Any = None
    nli: Any = None
    verify: bool = True  # ask the NLI model about what catalogues and aligner leave unmatched
    models: ClassVar[tuple[str, ...]] = ("reader", "aligner", "nli")

    @property
    def needed(self) -> tuple[str, ...]:
        return self.models if self.verify else self.models[:2]

    def fingerprint(self) -> dict[str, str]:
        return super().fingerprint() | {"weights": weights_hash()}

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        return list(map(self._answer, pairs, self.compare(pairs)))

    def _answer(self, pair: Pair, comparison: ReportComparison) -> Score | Problem:
        if comparison.says_something or pair.reference == pair.candidate:
            return self.score_compared(comparison)
        return self._failed("neither report states anything that can be compared")

    def explain(self, pair: Pair) -> Explanation | Problem:
        """Leave out each error in turn: compare again as if its entities agreed."""
        self._demand_available()
        if unreadable := self.unreadable(pair):
            return unreadable
        (comparison,) = self.compare([pair])
        score = self._answer(pair, comparison)
        if isinstance(score, Problem):
            return score
        with_all_errors = self._compared_again(comparison)
        errors_of: dict[ReportError, set[ReportError]] = {}
        for name, part in comparison.parts.items():
            for error_shown, raw in zip(
                part.mistakes, with_all_errors.parts[name].mistakes, strict=True
            ):
                errors_of.setdefault(error_shown, set()).add(raw)
        values = []
        for error in listed(comparison.parts.values())[1]:
            ignored = IgnoredErrors(frozenset().union(*map(errors_of.__getitem__, error.counted)))
            comparison_without = self._compared_again(comparison, ignored)
            values.append(self.score_compared(comparison_without).value)
        return explained(score, self.breakdown(comparison), values)

    def breakdown(self, compared: ReportComparison) -> list[PartCost]:
        return [
            PartCost(part=part.part, value=part.value, weight=part.weight, cost=part.cost / TOP)
            for part in weights().expert.breakdown(compared.values)
        ]

    def _compared_again(
        self, comparison: ReportComparison, ignored: IgnoredErrors = NONE_IGNORED
    ) -> ReportComparison:
        sides = comparison.reference, comparison.candidate
        accepted = IgnoredErrors(ignored.errors | comparison.entailed.errors)
        parts = dict(compare_reports(*sides, self._phrases.likeness, accepted))
        if comparison.verification is not None:
            verification = comparison.verification.without(ignored)
            parts = verified_parts(verification, parts, comparison.entailed, sides)
        return replace(
            comparison, parts={name: without_errors(part, accepted) for name, part in parts.items()}
        )

    def compare(self, pairs: Sequence[Pair]) -> list[ReportComparison]:
        """Run thread-safe models on one block of pairs while rules read another."""
        models = [getattr(self, name) for name in self.needed]
        if not all(getattr(model, "concurrent", False) for model in models):
            return self._compare_block(pairs)
        blocks = [pairs[start : start + _BLOCK] for start in range(0, len(pairs), _BLOCK)]
        comparisons = (in_order if cores() > 1 else map)(self._compare_block, blocks)
        return list(chain.from_iterable(comparisons))

    def _compare_block(self, pairs: Sequence[Pair]) -> list[ReportComparison]:
        reader: Reader = self.reader
        texts = dict.fromkeys(text for pair in pairs for text in (pair.reference, pair.candidate))
        normal = {text: normalised(text) for text in texts}
        distinct = list(dict.fromkeys(text.text for text in normal.values()))
        reports = dict(zip(distinct, reader.read(distinct), strict=True))
        sides = [(normal[pair.reference], normal[pair.candidate]) for pair in pairs]
        facts = []
        for side in sides:  # each report is read in the light of the other
            reference, candidate = reconciled(*(reports[text.text] for text in side))
            stated = facts_of(reference)
            facts.append((stated, stated if candidate is reference else facts_of(candidate)))
        if len(facts) > 1:  # many phrases at once are embedded faster than one by one
            self._phrases.embed(phrase for both in facts for phrase in _unknown_phrases(*both))
        items = [
            ReportComparison(*both, dict(compare_reports(*both, self._phrases.likeness)))
            for both in facts
        ]
        if self.verify:
            items = self._verified(items)
        return [  # with their evidence in the reports' own words
            replace(item, parts={name: restored(p, *side) for name, p in item.parts.items()})
            for item, side in zip(items, sides, strict=True)
        ]

    def _verified(self, pairs: Sequence[ReportComparison]) -> list[ReportComparison]:
        """Ask the NLI model about unmatched statements, and compare again with its answers."""
        queries = [
            questions_about(pair.reference, pair.candidate, pair.parts)
            if self._is_worth_asking(pair)
            else None
            for pair in pairs
        ]
        answers = answers_to(self.nli, queries)
        verified = list(pairs)
        for index, (pair, questions) in enumerate(zip(pairs, queries, strict=True)):
            if questions is not None:
                answered = questions.answered(answers)
                errors = [error for part in pair.parts.values() for error in part.mistakes]
                entailed = entailed_errors(errors, answered, (pair.reference, pair.candidate))
                verified_pair = replace(pair, verification=answered, entailed=entailed)
                verified[index] = self._compared_again(verified_pair)
        return verified

    def _is_worth_asking(self, comparison: ReportComparison) -> bool:
        texts = comparison.reference.stated.text, comparison.candidate.stated.text
        is_short = max(len(text.split()) for text in texts) <= _SHORT
        return is_short or weights().expert(comparison.values) / TOP >= _IN_COMMON

    @cached_property
    def _phrases(self) -> PhraseSimilarity:
        return PhraseSimilarity(self.aligner)

    def score_compared(self, compared: ReportComparison) -> Score:
        values = compared.values
        expert = weights().expert(values)
        parts = {name: value for name, value in values.items() if value is not None}
        return Score(
            value=expert / TOP,
            parts={"expert_scale": round(2 * expert) / 2} | parts,
            evidence=evidence_of(compared.parts.values()),
            signature=self.signature,
        )


class PhraseSimilarity:
    """Similarity, by an aligner, of phrases that no catalogue has; each is embedded once."""

    def __init__(self, aligner: Aligner) -> None:
        self._embedded: Memory[str, Vectors] = Memory(
            lambda phrases: list(aligner.embed(phrases)), most=20_000
        )

    def embed(self, phrases: Iterable[str]) -> None:
        self._embedded(list(dict.fromkeys(phrases)))

    def likeness(self, one: str, other: str) -> float:
        """Return a similarity from 0, nothing in common, to 1."""
        if one == other:
            return 1.0
        first, second = self._embedded([one, other])
        cosine = float(np.dot(first, second))
        return min(1.0, max(0.0, (cosine - _STRANGE) / (_ALIKE - _STRANGE)))


def _unknown_phrases(reference: Facts, candidate: Facts) -> Iterator[str]:
    """Yield diagnoses and findings that no catalogue has, and those they are compared with."""
    for firsts, seconds in (
        ((*reference.made, *reference.denied), (*candidate.made, *candidate.denied)),
        (reference.findings, candidate.findings),
        (reference.findings, candidate.mentioned),
        (reference.mentioned, candidate.findings),
    ):
        sides = [{entry.entity.text: entry.known for entry in side} for side in (firsts, seconds)]
        if sides[0].keys() == sides[1].keys():
            continue
        for phrases, counterparts in (sides, sides[::-1]):
            if unknown := [phrase for phrase, is_known in phrases.items() if not is_known]:
                yield from (*unknown, *counterparts)


@cache
def weights() -> Combinations:
    return read_combinations(resource_path(_WEIGHTS))


@cache
def weights_hash() -> str:
    return hashlib.sha256(resource_bytes(_WEIGHTS)).hexdigest()[:12]


@dataclass(frozen=True)
class RubricOffline(Concordance):
    """Four criteria, judged on the comparison that concordance makes.

    They are in `parts`, their mean on a scale from 0 to 1 is the value, and `evidence` says why.
    """

    alignment: str = ""  # a file of `histoeval judge align`; the raw scores stay beside its own

    def __post_init__(self) -> None:
        if self.aligned is not None:
            self.aligned.demand_fit("rubric_offline")

    @cached_property
    def aligned(self) -> Alignment | None:
        return read_alignment(self.alignment) if self.alignment else None

    @property
    def unsigned(self) -> frozenset[str]:
        return super().unsigned | {"alignment"}

    def fingerprint(self) -> dict[str, str]:
        alignment = {} if self.aligned is None else {"alignment": self.aligned.identity}
        return super().fingerprint() | alignment

    def score_compared(self, compared: ReportComparison) -> Score:
        parts = list(compared.parts.values())
        scores = judge(weights().criteria, compared.values, parts)
        score = Score(
            value=overall(scores),
            parts={name: float(score) for name, score in scores.items()},
            evidence={"reasoning": reasoning(scores, parts)} | evidence_of(parts),
            signature=self.signature,
        )
        return score if self.aligned is None else self.aligned.applied(score)

    def breakdown(self, compared: ReportComparison) -> list[PartCost]:
        """The cost of each criterion: a quarter of its distance from its highest score."""
        scores = judge(weights().criteria, compared.values, compared.parts.values())
        share = 1 / len(CRITERIA)
        return [
            PartCost(part=name, value=scores[name], weight=share, cost=share * lack)
            for name, top in CRITERIA.items()
            if (lack := (top - scores[name]) / (top - 1)) > 0
        ]
