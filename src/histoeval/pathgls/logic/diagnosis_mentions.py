"""The names by which sentences refer to the lesion, diagnosed or not.

Reports return to their lesion by other names ("the squamous carcinoma", "this lymphoma"), outside
of any diagnosis. All names of the lesion itself count; what is denied, considered, or lies beside
it does not.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from histoeval.pathgls.logic.lexicon import listed, pattern
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.results import ReportSpan
from histoeval.terms.assertion import is_denied
from histoeval.terms.catalogue import Concept, concepts
from histoeval.terms.naming import find_diagnoses, refine

_NEAR = 6
"""Words around a name in which it may be called something beside the lesion."""
_DEFINITE = re.compile(
    r"\b(?:the|this|these|such|said|above|our|patient's|her|his)"
    r"(?:\s+(?!an?\b|and\b|with\b|of\b|in\b|is\b|are\b|was\b)[\w-]+){0,4}\s*$",
    re.IGNORECASE,
)
"""The, and up to four words, just before a name."""
_EQUATED = re.compile(
    r"\b(?:this|it|these|(?:the|these) (?:\w+ )?(?:lesion|tumou?r|mass|neoplasm|malignancy|picture"
    r"|growth|appearances?|findings|features|process|nodule|polyp))\b[^.;:]{0,40}?"
    r"\b(?:is|are|represents?|corresponds? to|amounts? to|constitutes?|is classified as)\b"
    r"[^.;:]{0,60}$"
    r"|\b(?:consistent|compatible|in keeping|in accordance) with (?:an? |the )?(?:[\w-]+ ){0,3}$"
    r"|\bdiagnosis of (?:an? |the )?(?:[\w-]+ ){0,3}$",
    re.IGNORECASE,
)
"""The lesion is, before a name."""
_WITH = re.compile(r"\b(?:with|and) an? (?:[\w-]+ ){0,4}$", re.IGNORECASE)
"""Something that is found beside, before a name."""


class DiagnosisMention(NamedTuple):
    """A diagnosis by one of its names, at one place."""

    concept: Concept
    mention: ReportMention[str]
    settled: bool
    """Whether it refers to the lesion of the report: the carcinoma, this is a carcinoma."""

    @property
    def passage(self) -> ReportSentence:
        """The sentence that it stands in."""
        return self.mention.passage

    @property
    def span(self) -> ReportSpan:
        """Where it stands."""
        return self.mention.span


def diagnosis_mentions(
    passages: Iterable[ReportSentence], sent: frozenset[str]
) -> Iterator[DiagnosisMention]:
    """What sentences call the lesion of a specimen, whose sites help to read a name."""
    for passage in passages:
        text = passage.text
        for match in find_diagnoses(text, sent):
            if pattern("supposed").search(_statement(text, match.start)):
                continue
            before = re.split(r"[.;:]", text[: match.start])[-1]
            after = re.split(r"[.;:,]", text[match.end :])[0]
            beside = pattern("beside_before").search(" ".join(before.split()[-_NEAR:])) or pattern(
                "beside_after"
            ).search(" ".join(after.split()[:_NEAR]))
            if beside or is_denied(text, match.start, match.end):
                continue
            again = bool(_DEFINITE.search(before) or _EQUATED.search(before))
            settled = again or (passage.is_conclusion and not _WITH.search(before))
            mention = passage.at(match.start, match.end)
            yield DiagnosisMention(_at(concepts()[match.id], sent), mention, settled)


def _statement(text: str, place: int) -> str:
    """The text around a place, up to a semicolon or a contrast on each side."""
    breaks = [m.span() for m in re.finditer(r";|\b(?:but|however|whereas)\b", text)]
    start = max((end for _, end in breaks if end <= place), default=0)
    return text[start : min((begin for begin, _ in breaks if begin > place), default=len(text))]


def _at(concept: Concept, sent: frozenset[str]) -> Concept:
    """A diagnosis as it is called at a site; umbrella words stay as they are."""
    return concept if concept.id in listed("umbrellas") else refine(concept, sent)
