"""The distance between two reports: 0 where they state the same, 1 where they share nothing.

Three measures, each symmetric: by concordance (the default), by NLI, by embedding. Whatever the
measure, a report that states nothing has no distance, and what changed is taken from the comparison
of facts, since that is what a reader can check.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from statistics import fmean
from typing import Any, Protocol

import numpy as np

from histoeval.align.aligner import Aligner, unit
from histoeval.align.builtin import BuiltinAligner
from histoeval.errors import Problem, SettingError, did_you_mean
from histoeval.metric import Score
from histoeval.metrics.concordance import Concordance
from histoeval.nli.builtin import BuiltinEntailer
from histoeval.nli.entailer import Entailer, NliPair
from histoeval.reader.builtin import BuiltinReader
from histoeval.reader.reader import Reader
from histoeval.reader.sentences import sentences
from histoeval.report import Pair

NAMES = ("concordance", "nli", "embedding")

# Of a report for NLI, since each sentence is compared with each of the other report
MAX_SENTENCES = 300

Both = tuple[Score, Score]  # a comparison in both directions


class Distance(Protocol):
    @property
    def identity(self) -> str: ...
    def between(self, first: str, second: str) -> float | Problem:
        """From 0 to 1, the same in both directions; or why there is none."""

    def changed(self, first: str, second: str) -> tuple[str, ...]:
        """Differences in the second report, as human-readable lines, the worst first."""


class ConcordanceDistance:
    def __init__(self, reader: Reader | None = None, aligner: Aligner | None = None) -> None:
        self._given = (reader, aligner)
        self.compared = lru_cache(maxsize=256)(self._compare)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConcordanceDistance, self._given

    @cached_property
    def metric(self) -> Concordance:
        reader, aligner = self._given
        return Concordance(
            name="concordance",
            reader=reader or BuiltinReader(),
            aligner=aligner or BuiltinAligner(),
            verify=False,
        )

    @property
    def identity(self) -> str:
        pins = (f"{name}={value}" for name, value in self.metric.fingerprint().items())
        return ",".join(["concordance", *pins])

    def between(self, first: str, second: str) -> float | Problem:
        scores = self.compared(first, second)
        if isinstance(scores, Problem):
            return scores
        return 0.0 if first == second else _bounded(1 - fmean(score.value for score in scores))

    def changed(self, first: str, second: str) -> tuple[str, ...]:
        scores = self.compared(first, second)
        if isinstance(scores, Problem):
            return ()
        return tuple(dict.fromkeys(_line(error) for error in scores[0].evidence["errors"]))

    def _compare(self, first: str, second: str) -> Both | Problem:
        """The comparison in both directions; a problem where neither report states anything."""
        pairs = [
            Pair(id="there", reference=first, candidate=second),
            Pair(id="back", reference=second, candidate=first),
        ]
        forward, backward = self.metric.compare(pairs)
        if not forward.says_something:
            return Problem("no_claims", "neither report states anything that can be compared")
        return self.metric.score_compared(forward), self.metric.score_compared(backward)


class _ModelDistance(ABC):
    def __init__(self, identity: str, facts: ConcordanceDistance) -> None:
        self.identity = identity
        self._facts = facts

    def between(self, first: str, second: str) -> float | Problem:
        facts = self._facts.compared(first, second)
        return facts if isinstance(facts, Problem) else self._between(first, second)

    @abstractmethod
    def _between(self, first: str, second: str) -> float | Problem: ...
    def changed(self, first: str, second: str) -> tuple[str, ...]:
        return self._facts.changed(first, second)


class NliDistance(_ModelDistance):
    """1 minus the mean support of each sentence by the other report, in both directions."""

    def __init__(
        self, entailer: Entailer | None = None, facts: ConcordanceDistance | None = None
    ) -> None:
        self.entailer = entailer or BuiltinEntailer()
        super().__init__(f"nli,model={self.entailer.identity}", facts or ConcordanceDistance())

    def _between(self, first: str, second: str) -> float | Problem:
        left, right = sentences_of(first), sentences_of(second)
        if (most := max(len(left), len(right))) > MAX_SENTENCES:
            reason = f"a report of {most:,} sentences is too long for NLI, which takes"
            return Problem("too_long", f"{reason} {MAX_SENTENCES}")
        return _bounded(1 - fmean([self._support(left, right), self._support(right, left)]))

    def _support(self, stated: Sequence[str], premises: Sequence[str]) -> float:
        if not stated or not premises:
            return 0.0
        doubtful = [sentence for sentence in stated if sentence not in premises]
        pairs = [NliPair(premise, sentence) for sentence in doubtful for premise in premises]
        judged = [answer.entailment for answer in self.entailer.judge(pairs)]
        width = len(premises)
        best = [max(judged[at : at + width]) for at in range(0, len(judged), width)]
        return fmean([*best, *[1.0] * (len(stated) - len(doubtful))])


class EmbeddingDistance(_ModelDistance):
    """1 minus the cosine of the mean vectors of the sentences, at most 1."""

    def __init__(
        self, aligner: Aligner | None = None, facts: ConcordanceDistance | None = None
    ) -> None:
        self.aligner = aligner or BuiltinAligner()
        identity = f"embedding,aligner={self.aligner.identity},pooling=mean"
        super().__init__(identity, facts or ConcordanceDistance(aligner=aligner))

    def _between(self, first: str, second: str) -> float | Problem:
        parts = [sentences_of(text) for text in (first, second)]
        if not all(parts):
            return 1.0
        left, right = (unit(self.aligner.embed(part).mean(axis=0)) for part in parts)
        return 0.0 if first == second else _bounded(1 - float(np.dot(left, right)))


def open_distance(
    spec: str,
    *,
    reader: Reader | None = None,
    aligner: Aligner | None = None,
    entailer: Entailer | None = None,
) -> Distance:
    facts = ConcordanceDistance(reader, aligner)
    if spec == "concordance":
        return facts
    if spec == "nli":
        return NliDistance(entailer, facts)
    if spec == "embedding":
        return EmbeddingDistance(aligner, facts)
    guess = did_you_mean(spec, NAMES)
    raise SettingError(f"there is no distance {spec!r}{guess}; known: {', '.join(NAMES)}")


def sentences_of(text: str) -> list[str]:
    stripped = (" ".join(sentence.of(text).split()) for sentence in sentences(text))
    return list(dict.fromkeys(sentence for sentence in stripped if any(map(str.isalpha, sentence))))


def _line(error: Mapping[str, Any]) -> str:
    def quoted(mention: Mapping[str, Any] | None) -> str | None:
        if mention is None:
            return None
        phrase, assertion = " ".join(mention["text"].split()), mention["assertion"]
        return f"'{phrase}'" if assertion == "present" else f"'{phrase}' ({assertion})"

    reference, candidate = quoted(error["reference"]), quoted(error["candidate"])
    if reference is None:
        return f"new: {candidate}"
    if candidate is None:
        return f"gone: {reference}"
    return f"{reference} became {candidate} ({str(error['kind']).replace('_', ' ')})"


def _bounded(distance: float) -> float:
    return min(1.0, max(0.0, distance))
