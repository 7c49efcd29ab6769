"""ROUGE, by Google's rouge-score."""

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Literal

from pydantic.dataclasses import dataclass
from rapidfuzz.distance import LCSseq
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.scoring import fmeasure
from rouge_score.tokenize import tokenize

from histoeval.metric import Score
from histoeval.metrics import stems
from histoeval.metrics.base import STRICT, PairMetric


@dataclass(frozen=True, config=STRICT)
class Rouge(PairMetric):
    """F-measure of what two texts share: single words, word pairs, or a subsequence of words.

    Words are runs of a-z and 0-9 after lower-casing, as rouge-score cuts them; with `stem` those
    of more than three letters are stemmed. A text without such a word scores 0 against any other.
    """

    kind: Literal["1", "2", "l"]
    stem: bool = False

    @cached_property
    def _scorer(self) -> RougeScorer:
        return RougeScorer([f"rouge{self.kind}"], tokenizer=self)

    def fingerprint(self) -> dict[str, str]:
        stemmer = {"nltk": version("nltk")} if self.stem else {}
        return {"tok": "rouge_score", "rouge_score": version("rouge-score")} | stemmer

    def tokenize(self, text: str) -> list[str]:
        """Split a text into words as rouge-score does, with a faster stemmer."""
        return list(tokenize(text, stems if self.stem else None))

    def score_pair(self, reference: str, candidate: str) -> Score:
        precision, recall, value = self._shares(reference, candidate)
        return Score(
            value=value, parts={"precision": precision, "recall": recall}, signature=self.signature
        )

    def _shares(self, reference: str, candidate: str) -> tuple[float, float, float]:
        if self.kind == "l":
            return subsequence_shares(self.tokenize(reference), self.tokenize(candidate))
        shares = self._scorer.score(reference, candidate)[f"rouge{self.kind}"]
        return shares.precision, shares.recall, shares.fmeasure


def subsequence_shares(
    reference: Sequence[str], candidate: Sequence[str]
) -> tuple[float, float, float]:
    """Precision, recall and F-measure of the longest common subsequence of two lists of words.

    rouge-score fills a table of all pairs of words for it, which a report of a megabyte does not
    survive. Only the length is needed, and rapidfuzz counts it bit by bit in linear memory.
    """
    if not reference or not candidate:
        return 0.0, 0.0, 0.0
    numbers: dict[str, int] = {}
    length = LCSseq.similarity(
        [numbers.setdefault(word, len(numbers)) for word in reference],
        [numbers.setdefault(word, len(numbers)) for word in candidate],
    )
    precision, recall = length / len(candidate), length / len(reference)
    return precision, recall, float(fmeasure(precision, recall))
