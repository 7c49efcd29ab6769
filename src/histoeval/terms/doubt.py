"""Doubt in a text, and the usual words by which it commits itself to a diagnosis."""

import re

from histoeval.terms.assertion import before, denies
from histoeval.terms.catalogue import diagnosis_tree
from histoeval.terms.naming import main_concept
from histoeval.terms.spelling import respelt

# Before a diagnosis: words by which pathologists commit themselves to it
_LIKELY = re.compile(
    r"\b(?:consistent with|compatible with|in keeping with|diagnostic of|typical of|"
    r"favou?r(?:s|ed|ing)?|supports?|supporting|most likely|in line with|represents?|representing)"
    r"(?: (?:a|an|the))?(?: [\w-]+){0,3}\s*$",
    re.IGNORECASE,
)
_FAVOURED = re.compile(
    r"[ ]{1,3}(?:is|are|being)?[ ]{0,3}(?:strongly |most |highly )?"
    r"(?:favou?red|likely|supported|would fit)\b",
    re.IGNORECASE,
)
# Words that leave a diagnosis open all the same
_OPEN = re.compile(
    r"suspicious|suspected|cannot|could|not (?:diagnostic|excluded)|may |might|possib|versus|"
    r"\bvs\b|indefinite|indeterminate|equivocal|at least|\bif\b|not typical|not fully",
    re.IGNORECASE,
)
# What makes of a denial a doubt: suspicious for, but not diagnostic of, carcinoma
_SHORT_OF = re.compile(
    r"suspicious|suspected|worr(?:ying|isome)|short of|not (?:fully |entirely )?"
    r"(?:diagnostic|conclusive|established)|insufficient for|not sufficient for",
    re.IGNORECASE,
)
# After a diagnosis that is not excluded
_NOT_EXCLUDED = re.compile(
    r"[^.;:]{0,20}(?:cannot|can not|could not) be (?:\w+ )?(?:excluded|ruled out)|"
    r"[^.;:]{0,20}\bnot (?:\w+ )?(?:excluded|ruled out)",
    re.IGNORECASE,
)

_OR = r"[ ]?,?[ ](?:or|versus|vs\.?)[ ](?:an?[ ])?"
_OR_AFTER = re.compile(rf"{_OR}(?P<name>[^\s.;:,()][^.;:,()\n]{{0,80}})", re.IGNORECASE)
_OR_BEFORE = re.compile(rf"(?P<name>[^\s.;:,()][^.;:,()\n]{{0,80}}?){_OR}\Z", re.IGNORECASE)
_OR_WITHIN = re.compile(rf"(?<![\w-])(?P<one>[\w-]++){_OR}(?P<other>[\w-]+)", re.IGNORECASE)
_BEHAVIOUR = re.compile(r"benign|malignant|normal|reactive", re.IGNORECASE)
_REACH = 100


def is_committed(text: str, start: int, end: int) -> bool:
    """True if a doubt about a diagnosis is only the usual way to put it."""
    words = before(text, start)
    commitment = _LIKELY.search(words) or _FAVOURED.match(text, end)
    return commitment is not None and not (_OPEN.search(words) or is_one_of_two(text, start, end))


def is_left_open(text: str, end: int) -> bool:
    """True if a text says of what ends at a place that it cannot be excluded."""
    return bool(_NOT_EXCLUDED.match(text, end))


def falls_short(text: str, start: int) -> bool:
    return bool(_SHORT_OF.search(before(text, start)))


def is_one_of_two(text: str, start: int, end: int) -> bool:
    """True if a text leaves open if it is this diagnosis or another: carcinoma or adenoma."""
    diagnosis = text[start:end]
    if denies(diagnosis):
        return False
    names = [diagnosis]
    if within := _OR_WITHIN.search(diagnosis):
        first, last = diagnosis[: within.start()], diagnosis[within.end() :]
        names = [f"{first}{either}{last}" for either in within.groups()]
    following = _OR_AFTER.match(text, end)
    preceding = _OR_BEFORE.search(text, max(0, start - _REACH), start)
    beside = [match["name"] for match in (following, preceding) if match]
    nearest = following["name"].split()[:1] if following else []
    nearest += preceding["name"].split()[-1:] if preceding else []
    if any(map(_BEHAVIOUR.fullmatch, nearest)) and not any(map(main_concept, beside)):
        return True
    names += [name for each in beside for name in (each, f"{each} {diagnosis.split()[-1]}")]
    ids = [concept.id for name in names if (concept := main_concept(respelt(name)))]
    tree = diagnosis_tree()
    return any(not tree.is_a(a, b) and not tree.is_a(b, a) for a in ids for b in ids)
