"""Grades of whole texts with where they stand, in any scheme and in words."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from histoeval.terms.values.grades import Grade, read_grade

_RANK = r"(?:[1-5]|I{1,3}|IV)\b(?:\s*(?:/|of|out of|-|to)\s*(?:[1-5]|III|IV)\b)?"
_SCHEMES = (
    r"(?:Nottingham|FIGO|Fuhrman|WHO/ISUP|ISUP|CNS WHO|WHO|FNCLCC|Edmondson(?:-Steiner)?|nucleolar)"
)
# All ways to give a grade that `read_grade` can read
_PHRASE = re.compile(
    r"\bGleason\b[^.;,]{0,25}?\d\s*\+\s*\d(?:\s*=\s*\d+)?"
    r"|\bGleason (?:score |sum )?(?:of )?(?:10|[6-9])\b"
    r"|\bgrade group(?:\s+(?:is|of))?[\s:]*[1-5]\b"
    r"|\b(?:total|score|sum|Nottingham)\b[^.;]{0,20}?\b[3-9]\s*(?:/|out of)\s*9\b"
    rf"|\b{_SCHEMES}(?:[\s-]+(?:histologic(?:al)?|nuclear|nucleolar|combined))?(?:[\s-]+grade)?"
    rf"(?:\s+(?:is|of|as))?[\s:]*{_RANK}"
    rf"|\b(?:histologic(?:al)? |overall |tumou?r )?grade(?:d)?(?:\s+(?:is|of|as|was))?[\s:]*{_RANK}"
    r"|\bG[1-4]\b"
    r"|\b(?:well|moderately|poorly)(?:[\s-]+(?:to|and)[\s-]+(?:moderately|poorly))?[\s-]+differentiated\b"
    r"|\bundifferentiated\b(?! pleomorphic)|\b(?:good|moderate|poor) differentiation\b"
    r"|\bdifferentiation is (?:good|moderate|poor)\b"
    r"|\b(?:low|intermediate|high)(?:[\s-]+to[\s-]+(?:intermediate|high))?[\s-]+grade\b"
    r"|\bgrade(?:\s+(?:is|was))?[\s:]*(?:low|intermediate|high)\b"
    r"|\b(?:mild|moderate|severe) (?:\w+ )?dysplasia\b|\b[HL]G?SIL\b"
    r"|\b(?:CIN|VIN|AIN) ?(?:[1-3]|I{1,3})\b",
    re.IGNORECASE,
)
# Scores of tubules, nuclei and mitoses
_SCORES = re.compile(
    r"\btub\w+\D{0,20}?([1-3])\b\D{1,20}?\b(?:nucle\w+|pleo\w+)\D{0,20}?([1-3])\b"
    r"\D{1,20}?\bmito\w+\D{0,20}?([1-3])\b",
    re.IGNORECASE,
)
_OF_GROUP = re.compile(r"group (?:is|of) ", re.IGNORECASE)


class GradePhrase(NamedTuple):
    """A grade with its place in a text."""

    grade: Grade
    start: int
    end: int
    summed: bool = False  # whether it is the sum of three scores


def find_grades(text: str) -> Iterator[GradePhrase]:
    """The grades that a text gives, that of three scores first; denied ones are among them."""
    if found := _SCORES.search(text):
        total = sum(int(each) for each in found.groups())
        if grade := read_grade(f"Nottingham {total}/9"):
            yield GradePhrase(grade, *found.span(), summed=True)
    for found in _PHRASE.finditer(text):
        if grade := read_grade(_OF_GROUP.sub("group ", found.group())):
            yield GradePhrase(grade, *found.span())
