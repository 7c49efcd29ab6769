"""What a sentence speaks for: that all is well, or that there is a malignancy; and a rule on it.

Only in short reports in plain prose, where what is described is what the diagnosis is made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from histoeval.facts.diagnoses import Diagnosis
from histoeval.terms.catalogue import Behaviour
from histoeval.trust.logic.lexicon import pattern
from histoeval.trust.logic.rules.presence import HARMLESS, behaviour_of, clash, is_prose, organs_of
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import ReportMention, Specimen, said_in
from histoeval.trust.results import Contradiction

Leaning = Literal["malignant", "harmless"]

_TOLD = HARMLESS | {Behaviour.MALIGNANT}

_NORMAL = re.compile(
    r"\b(?:normal|unremarkable|healthy|benign)(?:[\s-]+(?!and|but|with|the)[a-z-]+){0,3}?[\s-]+"
    r"(?:mucosa|tissue|parenchyma|epithelium|glands?|ducts?|lobules?|crypts?|skin|liver|breast|kidney"
    r"|lung|thyroid|endometrium|myometrium|histology|morphology|appearances?|findings?)\b"
    r"|\b(?:mucosa|tissue|parenchyma|epithelium|glands|crypts|follicles|architecture|histology)"
    r"(?: (?:is|are|appears?|looks?))?(?: (?:entirely|completely|histologically))? "
    r"(?:normal|unremarkable)\b",
    re.IGNORECASE,
)
"""Words by which what was sent is normal."""
_DENIED = re.compile(
    r"\b(?:no|not|without|absence of|lacks?|lacking|free of|negative for|nor)\b[^.;:]*?"
    r"(?=[.;:]|, (?!or\b|and no\b|nor\b)|\bbut\b|$)",
    re.IGNORECASE,
)
_HEAD = re.compile(r"[A-Z][^.:;]{2,90}:\s+\S")
"""Site and procedure, and then what it is."""
_ENOUGH = 2
"""So many signs together speak for something; one may stand in any report."""


def concludes(passage: ReportSentence) -> bool:
    """Whether a sentence says what it is, after a site or in so many words."""
    return passage.concludes or bool(_HEAD.match(passage.text))


def signs_of(passage: ReportSentence, leaning: Leaning) -> frozenset[str]:
    """The words of a sentence that speak for something; not of what lies around the lesion."""
    if pattern("around").search(passage.text):
        return frozenset()
    if leaning == "harmless":
        found = pattern("looks_harmless").finditer(passage.text)
        return frozenset(each.group().lower() for each in found)
    affirmed = _DENIED.sub(" ", passage.text)
    if pattern("inflamed").search(affirmed):
        return frozenset()
    return frozenset(each.group().lower() for each in pattern("looks_malignant").finditer(affirmed))


def leaning_of(passage: ReportSentence) -> Leaning | None:
    """What the words of a sentence speak for, where they speak for one thing only."""
    malignant = bool(signs_of(passage, "malignant"))
    if normal_at(passage) or signs_of(passage, "harmless"):
        return None if malignant or _tells_of_tumour(passage) else "harmless"
    return "malignant" if malignant else None


def _tells_of_tumour(passage: ReportSentence) -> bool:
    return bool(pattern("of_tumour").search(_DENIED.sub(" ", passage.text)))


def normal_at(passage: ReportSentence) -> re.Match[str] | None:
    """Where a sentence calls what was sent normal."""
    if pattern("around").search(passage.text):
        return None
    words = _NORMAL, pattern("called_normal"), pattern("looks_normal")
    return next((found for each in words if (found := each.search(passage.text))), None)


def morphology(specimen: Specimen) -> Iterator[Contradiction]:
    """All that is described is harmless, and a malignancy is concluded; or the reverse.

    Also two conclusions of which one is harmless: after the site at the head, and in the end.
    """
    if not is_prose(specimen) or len(organs_of(specimen)) > 1:
        return
    concluded = [e for e in specimen.made if not e.value.hedged and concludes(e.passage)]
    for final in (e for e in concluded if behaviour_of(e) in _TOLD):
        others = [p for p in specimen.passages if p != final.passage]
        if behaviour_of(final) == Behaviour.MALIGNANT:
            spread = "metasta" in final.passage.text.lower()
            seen = () if spread else _harmless(others, specimen)
            signs = [*_called_harmless(others, concluded, specimen), *seen]
        elif all(behaviour_of(each) in HARMLESS for each in concluded):
            signs = [*_grave(others, specimen)]
        else:
            continue
        for sign in signs[:1]:
            why = f"{sign.span.text} does not go with {final.span.text}"
            yield clash("morphology", final, sign, why)


def _called_harmless(
    others: Sequence[ReportSentence],
    concluded: Sequence[ReportMention[Diagnosis]],
    specimen: Specimen,
) -> Iterator[ReportMention[Any]]:
    """A harmless diagnosis at the head of a report whose last word is another."""
    first = [e for e in concluded if e.passage == specimen.passages[0] and e.passage in others]
    if first and not _is_beside(specimen) and all(behaviour_of(each) in HARMLESS for each in first):
        yield first[0]


def _is_beside(specimen: Specimen) -> bool:
    """Whether any sentence puts one lesion beside or within another."""
    return any(pattern("beside").search(passage.text) for passage in specimen.passages)


def _harmless(
    described: Sequence[ReportSentence], specimen: Specimen
) -> Iterator[ReportMention[Any]]:
    """Signs that all is well, where nothing that is described speaks for a tumour."""
    told = [p for p in described if not pattern("around").search(p.text)]
    if any(map(_tells_of_tumour, told)):
        return
    if not _is_beside(specimen):
        yield from (
            e for e in specimen.made if behaviour_of(e) == Behaviour.BENIGN and e.passage in told
        )
    for passage in told:
        if found := normal_at(passage):
            yield said_in(found, passage, specimen)
    signs = {sign for passage in told for sign in signs_of(passage, "harmless")}
    for passage in told if len(signs) >= _ENOUGH else ():
        if found := pattern("looks_harmless").search(passage.text):
            yield said_in(found, passage, specimen)


def _grave(described: Sequence[ReportSentence], specimen: Specimen) -> Iterator[ReportMention[str]]:
    """Signs of a malignancy, where there are several."""
    signs = {sign for passage in described for sign in signs_of(passage, "malignant")}
    for passage in described if len(signs) >= _ENOUGH else ():
        for found in pattern("looks_malignant").finditer(passage.text):
            if found.group().lower() in signs_of(passage, "malignant"):
                yield said_in(found, passage, specimen)
