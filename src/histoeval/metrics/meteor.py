"""METEOR, with the rules of nltk."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import nltk
from nltk.tokenize import wordpunct_tokenize
from pydantic import Field
from pydantic.dataclasses import dataclass

from histoeval.errors import MissingDependency
from histoeval.metric import Score
from histoeval.metrics import wordnet
from histoeval.metrics.base import STRICT, PairMetric
from histoeval.metrics.stems import stem

NO_WORDNET = (
    "matches synonyms, and WordNet was found neither in NLTK_DATA and nltk's data path nor "
    f"in {wordnet.DEBIAN}. Get it with `apt install wordnet-base`, or with `python -m "
    "nltk.downloader wordnet` where there is a network, or set NLTK_DATA to the folder that holds "
    "corpora/wordnet; or do without synonyms: meteor:matchers=exact+stem"
)

Share = Annotated[float, Field(ge=0, le=1)]


class MeteorStage(NamedTuple):
    """One round of matching: the form that the words left over take, and the forms one equals."""

    form: Callable[[str], str]
    equals: Callable[[str], Collection[str]]


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

    @cached_property
    def _stages(self) -> list[MeteorStage]:
        if obstacle := self.unavailable_reason():
            raise MissingDependency(obstacle)
        stages = {"exact": MeteorStage(str.lower, _alone), "stem": MeteorStage(stem, _alone)}
        if self._wordnet is not None:
            stages["synonym"] = MeteorStage(str, partial(wordnet.synonyms, self._wordnet))
        return [stages[matcher] for matcher in self.matchers.split("+")]

    def unavailable_reason(self) -> str | None:
        return NO_WORDNET if "synonym" in self.matchers and self._wordnet is None else None

    def fingerprint(self) -> dict[str, str]:
        pins = {"tok": "wordpunct", "nltk": nltk.__version__}
        if "synonym" in self.matchers:
            pins["wordnet"] = wordnet.identity(self._wordnet) if self._wordnet else "missing"
        return pins

    def score_pair(self, reference: str, candidate: str) -> Score:
        """METEOR of one pair, and the matches it was counted from."""
        stages = self._stages
        ours, theirs = wordpunct_tokenize(candidate), wordpunct_tokenize(reference)
        matches = align(ours, theirs, stages)
        chunks = count_chunks(matches)
        value = precision = recall = penalty = 0.0
        if matches:
            precision, recall = len(matches) / len(ours), len(matches) / len(theirs)
            penalty = self.gamma * (chunks / len(matches)) ** self.beta
            mean = precision * recall / (self.alpha * precision + (1 - self.alpha) * recall)
            value = (1 - penalty) * mean
        parts = {"precision": precision, "recall": recall, "penalty": penalty, "chunks": chunks}
        parts["matches"] = len(matches)
        return Score(value=value, parts=parts, signature=self.signature)


def align(
    candidate: Sequence[str], reference: Sequence[str], stages: Sequence[MeteorStage]
) -> list[tuple[int, int]]:
    """Pairs of a word of the candidate and its match in the reference, in the candidate's order."""
    ours, theirs = dict(enumerate(candidate)), dict(enumerate(reference))
    matches = []
    for stage in stages:
        ours = {place: stage.form(word) for place, word in ours.items()}
        theirs = {place: stage.form(word) for place, word in theirs.items()}
        for place, other in _matches(ours, theirs, stage.equals):
            del ours[place], theirs[other]
            matches.append((place, other))
    return sorted(matches)


def _matches(
    ours: dict[int, str], theirs: dict[int, str], equals: Callable[[str], Collection[str]]
) -> list[tuple[int, int]]:
    """From the candidate's last word to its first, each takes the last equal word still free.

    nltk compares every word with every other for this (before its version 3.10); a stack of
    places for each word of the reference gives the same matches in linear time.
    """
    free: defaultdict[str, list[int]] = defaultdict(list)
    for place, word in theirs.items():
        free[word].append(place)
    matches = []
    for place in reversed(ours):
        stacks = [free[word] for word in equals(ours[place]) if free.get(word)]
        if stacks:
            matches.append((place, max(stacks, key=itemgetter(-1)).pop()))
    return matches


def count_chunks(matches: Sequence[tuple[int, int]]) -> int:
    """The number of pieces that the matches, in order, form in both texts."""
    breaks = sum((a + 1, b + 1) != following for (a, b), following in pairwise(matches))
    return breaks + 1 if matches else 0


def _alone(word: str) -> tuple[str]:
    return (word,)
