"""Diagnoses as a sentence names them, read from its words.

Reports come back to their lesion by other names ("the squamous carcinoma", "this lymphoma"), which
stand where nothing is diagnosed. Here all names count that are said of the lesion itself; what is
denied, thought of, or lies beside it does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from histoeval.terms.catalogue import Concept, concepts
from histoeval.terms.naming import find_diagnoses, refine
from histoeval.terms.sites import find_operated, find_sites
from histoeval.trust.logic.impression import concludes
from histoeval.trust.logic.lexicon import listed, pattern
from histoeval.trust.logic.rules.presence import is_prose
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import ReportMention, Specimen, span_of

_NEAR = 6
"""What says that a name is of something beside the lesion stands within so many words of it."""
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
_OF_ONE = re.compile(r"\b(?:lymphoepithelial|skip) lesions\b", re.IGNORECASE)
"""Lesions of one disease."""
_ABSENT = re.compile(
    r"(?:,? (?:or|and) [\w -]{1,30})?\s*(?:is|are|was|were|:)\s*"
    r"(?:absent|excluded|ruled out|lacking|none"
    r"|not (?:seen|identified|present|found|detected|confirmed|evident|demonstrated|made))\b",
    re.IGNORECASE,
)
"""Is not there, just after a name."""


class DiagnosisMention(NamedTuple):
    """A diagnosis by one of its names, at one place."""

    concept: Concept
    said: ReportMention[str]
    settled: bool
    """Whether it is said of the lesion of the report: the carcinoma, this is a carcinoma."""

    @property
    def passage(self) -> ReportSentence:
        """The sentence that it stands in."""
        return self.said.passage


def is_of_one_lesion(specimen: Specimen) -> bool:
    """Whether a report is plain, and has no word for more than one lesion."""
    return is_prose(specimen) and not any(
        pattern("several_lesions").search(_OF_ONE.sub("", passage.text))
        for passage in specimen.passages
    )


def sites_sent(specimen: Specimen) -> frozenset[str]:
    """The sites that the first sentence names, or what was done."""
    text = specimen.passages[0].text if specimen.passages else ""
    return frozenset(match.id for match in (*find_sites(text), *find_operated(text)))


def named_in(specimen: Specimen) -> list[DiagnosisMention]:
    """What the sentences of a report call its lesion, in their order."""
    sent = sites_sent(specimen)
    return [named for passage in specimen.passages for named in _named(passage, specimen, sent)]


def _named(
    passage: ReportSentence, specimen: Specimen, sent: frozenset[str]
) -> Iterator[DiagnosisMention]:
    text = passage.text
    for match in find_diagnoses(text, sent):
        if pattern("supposed").search(_statement(text, match.start)):
            continue
        before = re.split(r"[.;:]", text[: match.start])[-1]
        after = re.split(r"[.;:,]", text[match.end :])[0]
        near = " ".join(before.split()[-_NEAR:]), " ".join(after.split()[:_NEAR])
        beside = pattern("beside_before").search(near[0]) or pattern("beside_after").search(near[1])
        if beside or is_denied(text, match.start, match.end):
            continue
        span = span_of(specimen.text, passage.start + match.start, passage.start + match.end)
        said = ReportMention(span.text, span, passage)
        again = bool(_DEFINITE.search(before) or _EQUATED.search(before))
        settled = again or (concludes(passage) and not _WITH.search(before))
        yield DiagnosisMention(_at(concepts()[match.id], sent), said, settled)


def _statement(text: str, place: int) -> str:
    """What stands around a place up to the next semicolon or contrast on each side."""
    breaks = [m.span() for m in re.finditer(r";|\b(?:but|however|whereas)\b", text)]
    start = max((end for _, end in breaks if end <= place), default=0)
    return text[start : min((begin for begin, _ in breaks if begin > place), default=len(text))]


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether a sentence says that something is not there."""
    before = re.split(r"[.;:]", text[:start])[-1]
    return bool(pattern("not_so").search(before) or _ABSENT.match(text[end:]))


def _at(concept: Concept, sent: frozenset[str]) -> Concept:
    """A diagnosis as it is called at a site; umbrella words stay what they are."""
    return concept if concept.id in listed("umbrellas") else refine(concept, sent)
