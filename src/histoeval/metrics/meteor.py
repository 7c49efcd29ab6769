"""METEOR, with the rules of nltk."""

from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Literal

import nltk
from nltk.tokenize import wordpunct_tokenize
from nltk.translate.meteor_score import align_words
from pydantic import Field
from pydantic.dataclasses import dataclass

from histoeval.errors import MissingDependency
from histoeval.metric import Score
from histoeval.metrics import stems, wordnet
from histoeval.metrics.base import STRICT, PairMetric

NO_WORDNET = (
    "matches synonyms, and WordNet was found neither in NLTK_DATA and nltk's data path nor "
    f"in {wordnet.DEBIAN}. Get it with `apt install wordnet-base`, or with `python -m "
    "nltk.downloader wordnet` where there is a network, or set NLTK_DATA to the folder that holds "
    "corpora/wordnet; or do without synonyms: meteor:matchers=exact+stem"
)

Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, config=STRICT)
class Meteor(PairMetric):
    """Words matched as they are, then by stem, then by synonym; fewer pieces in order score more.

    `alpha` weighs recall against precision, `beta` and `gamma` shape the penalty for fragments.
    Equal to nltk's `meteor_score`, and so to two habits of it: a text scores just under 1 against
    itself (it is one fragment), and it is the stems, not the words, that are sought in WordNet.
    """

    matchers: Literal["exact+stem+synonym", "exact+stem", "exact"] = "exact+stem+synonym"
    alpha: Share = 0.9
    beta: Annotated[float, Field(ge=0)] = 3.0
    gamma: Share = 0.5

    @cached_property
    def _wordnet(self) -> Path | None:
        return wordnet.find() if "synonym" in self.matchers else None

    def unavailable_reason(self) -> str | None:
        return NO_WORDNET if "synonym" in self.matchers and self._wordnet is None else None

    def fingerprint(self) -> dict[str, str]:
        pins = {"tok": "wordpunct", "nltk": nltk.__version__}
        if "synonym" in self.matchers:
            pins["wordnet"] = wordnet.identity(self._wordnet) if self._wordnet else "missing"
        return pins

    def score_pair(self, reference: str, candidate: str) -> Score:
        if obstacle := self.unavailable_reason():
            raise MissingDependency(obstacle)
        words, targets = wordpunct_tokenize(candidate), wordpunct_tokenize(reference)
        stemmer = SimpleNamespace(stem=str) if self.matchers == "exact" else stems
        matches, _, _ = align_words(
            words, targets, stemmer=stemmer, wordnet=synonyms_of(self._wordnet)
        )
        steps = pairwise(matches)
        breaks = sum((a + 1, b + 1) != following for (a, b), following in steps)
        chunks = breaks + bool(matches)
        value = precision = recall = penalty = 0.0
        if matches:
            precision, recall = len(matches) / len(words), len(matches) / len(targets)
            penalty = self.gamma * (chunks / len(matches)) ** self.beta
            mean = precision * recall / (self.alpha * precision + (1 - self.alpha) * recall)
            value = (1 - penalty) * mean
        parts = {"precision": precision, "recall": recall, "penalty": penalty, "chunks": chunks}
        parts["matches"] = len(matches)
        return Score(value=value, parts=parts, signature=self.signature)


def synonyms_of(place: Path | None) -> SimpleNamespace:
    """Return a WordNet with nltk's interface; without a place it has only the words themselves."""

    def synsets(word: str) -> list[SimpleNamespace]:
        names = wordnet.synonyms(place, word) if place else ()
        lemmas = [SimpleNamespace(name=name.__str__) for name in names]
        return [SimpleNamespace(lemmas=lambda: lemmas)]

    return SimpleNamespace(synsets=synsets)
