"""Does a sentence suggest a benign or a malignant lesion?

Only for short reports in prose, where the diagnosis rests on what is described.
"""

import re
from typing import Literal

from histoeval.pathgls.logic.lexicon import pattern
from histoeval.pathgls.logic.sentences import ReportSentence
from histoeval.terms.assertion import affirmed_text

Leaning = Literal["malignant", "harmless"]

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


def signs_of(passage: ReportSentence, leaning: Leaning) -> frozenset[str]:
    """The words of a sentence that suggest one of the two; none of what lies around the lesion."""
    if passage.has("around"):
        return frozenset()
    if leaning == "harmless":
        return passage.names("looks_harmless")
    affirmed = affirmed_text(passage.text)
    if pattern("inflamed").search(affirmed):
        return frozenset()
    return frozenset(each.group().lower() for each in pattern("looks_malignant").finditer(affirmed))


def leaning_of(passage: ReportSentence) -> Leaning | None:
    """What the words of a sentence suggest, where they suggest one thing only."""
    malignant = bool(signs_of(passage, "malignant"))
    if normal_at(passage) or signs_of(passage, "harmless"):
        return None if malignant or mentions_tumour(passage) else "harmless"
    return "malignant" if malignant else None


def mentions_tumour(passage: ReportSentence) -> bool:
    """Whether a sentence affirms a tumour."""
    return bool(pattern("of_tumour").search(affirmed_text(passage.text)))


def normal_at(passage: ReportSentence) -> re.Match[str] | None:
    """Where a sentence calls what was sent normal."""
    if passage.has("around"):
        return None
    words = _NORMAL, pattern("called_normal"), pattern("looks_normal")
    return next((found for each in words if (found := each.search(passage.text))), None)
