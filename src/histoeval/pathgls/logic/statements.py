"""The statements of a report, and the pairs of them that an NLI model compares.

Two kinds: the sentences of the report as they stand, and short ones that are written from its
graph of entities and relations ("The diagnosis is adenocarcinoma of the sigmoid colon.", "CD20 is
positive.", "There is no lymphovascular invasion."), each with the stretch of text it comes from.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from histoeval.facts.facts import FindingFact
from histoeval.pathgls.logic.impression import leaning_of
from histoeval.pathgls.logic.lexicon import listed
from histoeval.pathgls.logic.places import are_by_two_methods, are_of_two_places
from histoeval.pathgls.logic.rules.diagnosis import are_exclusive
from histoeval.pathgls.logic.sentences import ReportMention
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.logic.verbalise import LEANING, Statement, sentence_statement, verbalised
from histoeval.terms.findings import findings

MAX_PAIRS = 60
"""More pairs of a report are not judged by a model: the rest of a long report is skipped."""

_MALIGNANT, _HARMLESS = "malignant", "harmless"
_SUGGESTED = {"malignant": _MALIGNANT, "benign": _HARMLESS, "normal": _HARMLESS}
_MAX_STATEMENTS = 120
"""More statements of one specimen are not paired."""


@dataclass(frozen=True, slots=True)
class StatementPair:
    """Two statements that are compared."""

    first: Statement
    second: Statement

    @property
    def places(self) -> tuple[int, int]:
        """Where the two sentences begin, the earlier one first."""
        starts = self.first.passage.start, self.second.passage.start
        return min(starts), max(starts)

    @property
    def opposed(self) -> bool:
        """Whether they differ on a topic that both have."""
        return not self.are_beside and bool(self.differing)

    @property
    def differing(self) -> frozenset[str]:
        """The topics on which they differ."""
        one, other = self.first.topics, self.second.topics
        return frozenset(each for each in one.keys() & other.keys() if one[each] != other[each])

    @property
    def are_beside(self) -> bool:
        """Whether they are diagnoses that one report may make, or one lies beside the other."""
        both = self.first, self.second
        named = all(each.role == "diagnosis" for each in both)
        one, other = self.first.diagnosis, self.second.diagnosis
        together = one is not None and other is not None and not are_exclusive(one, other)
        return named and (together or any(each.passage.has("beside") for each in both))

    @property
    def of_two_places(self) -> bool:
        """Whether they are about two sides, organs or other places."""
        both = self.first.passage.text, self.second.passage.text
        return are_of_two_places(*both) or (self._is_of_markers and are_by_two_methods(*both))

    @property
    def _is_of_markers(self) -> bool:
        return any(topic.startswith("marker:") for topic in self.differing)


def statements_of(specimen: Specimen) -> tuple[Statement, ...]:
    """All statements of a specimen, in the order of the text."""
    found = [*verbalised(specimen), *_morphology(specimen)]
    distinct = {(each.text.casefold(), each.span.start, each.role): each for each in found}
    return tuple(sorted(distinct.values(), key=lambda each: (each.span.start, each.text)))


def pairs_of(statements: Sequence[Statement]) -> list[StatementPair]:
    """The pairs of one specimen that are worth judging, the most informative first.

    Statements on one topic from two sentences; then what is described and what is concluded; and
    where there is neither, the diagnosis and whatever else is stated.
    """
    kept = statements[:_MAX_STATEMENTS]
    pairs = [*_on_one_topic(kept), *_described_and_concluded(kept)]
    return _distinct(pairs) or _distinct(_whatever(kept))


def _distinct(pairs: Iterable[StatementPair]) -> list[StatementPair]:
    """Each pair of texts once, none of a statement with itself or on another place."""
    kept = {
        frozenset({pair.first.text.casefold(), pair.second.text.casefold()}): pair
        for pair in reversed(list(pairs))
        if pair.first.text.casefold() != pair.second.text.casefold() and not pair.of_two_places
    }
    return list(kept.values())[::-1]


def _on_one_topic(statements: Sequence[Statement]) -> Iterator[StatementPair]:
    written = [each for each in statements if each.topics]
    for one, other in combinations(written, 2):
        shared = one.topics.keys() & other.topics.keys() - {LEANING}
        if one.passage != other.passage and shared:
            yield StatementPair(one, other)


def _described_and_concluded(statements: Sequence[Statement]) -> Iterator[StatementPair]:
    concluded = [each for each in statements if each.role == "diagnosis" and each.passage.concludes]
    concluded = concluded or [each for each in statements if each.role == "diagnosis"]
    described = [each for each in statements if each.role == "morphology"]
    for diagnosis, seen in product(concluded, described):
        if diagnosis.passage != seen.passage:
            yield StatementPair(seen, diagnosis)


def _whatever(statements: Sequence[Statement]) -> Iterator[StatementPair]:
    diagnoses = [each for each in statements if each.role == "diagnosis"][:1] or statements[:1]
    for diagnosis, other in product(diagnoses, statements):
        twice = diagnosis.passage == other.passage and "morphology" in (diagnosis.role, other.role)
        if diagnosis is not other and not twice:
            yield StatementPair(diagnosis, other)


# --- sentences as they stand ---------------------------------------------------------------------


def _morphology(specimen: Specimen) -> Iterator[Statement]:
    """Sentences that describe what is seen, and make no diagnosis."""
    diagnosed = {each.passage for each in specimen.diagnoses}
    for passage in specimen.passages:
        seen = [each for each in specimen.findings if each.passage == passage]
        leaning = leaning_of(passage) if specimen.is_prose else None
        looks = {} if passage.has("node_word") else _leaning(seen)
        if (seen or leaning) and passage not in diagnosed and not passage.concludes:
            topics = looks or ({LEANING: leaning} if leaning else {})
            yield sentence_statement(passage, topics)


def _leaning(seen: Sequence[ReportMention[FindingFact]]) -> dict[str, str]:
    """What the findings of a sentence suggest, where all of them suggest the same."""
    suggested = {_suggested(each) for each in seen} - {""}
    return {LEANING: suggested.pop()} if len(suggested) == 1 else {}


def _suggested(seen: ReportMention[FindingFact]) -> str:
    if seen.denied:
        return _HARMLESS if seen.value.id in listed("denied_is_harmless") else ""
    return _SUGGESTED.get(findings()[str(seen.value.id)].suggests, "")
