"""Assertions: which diagnoses a report makes, denies or leaves open, by the words around them."""

import re

from histoeval.facts.scope import before
from histoeval.report import Assertion, Entity, EntityType
from histoeval.terms.assertion import denies

_LIKELY = re.compile(
    r"\b(?:consistent with|compatible with|in keeping with|diagnostic of|typical of|"
    r"favou?r(?:s|ed|ing)?|supports?|supporting|most likely|in line with|represents?|representing)"
    r"(?: (?:a|an|the))?(?: [\w-]+){0,3}\s*$",
    re.IGNORECASE,
)
"""Before a diagnosis: words by which pathologists commit themselves to it."""
_FAVOURED = re.compile(
    r"[ ]{1,3}(?:is|are|being)?[ ]{0,3}(?:strongly |most |highly )?"
    r"(?:favou?red|likely|supported|would fit)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"suspicious|suspected|cannot|could|not (?:diagnostic|excluded)|may |might|possib|versus|"
    r"\bvs\b|indefinite|indeterminate|equivocal|at least|\bif\b|not typical|not fully",
    re.IGNORECASE,
)
"""Words that leave a diagnosis open all the same."""
_SHORT_OF = re.compile(
    r"suspicious|suspected|worr(?:ying|isome)|short of|not (?:fully |entirely )?"
    r"(?:diagnostic|conclusive|established)|insufficient for|not sufficient for",
    re.IGNORECASE,
)
"""What makes of a denial a doubt: suspicious for, but not diagnostic of, carcinoma."""
_PLAIN_NO = re.compile(
    r"(?:^|[\s,(])(?:no|without|negative for|no evidence of|absence of|free of)\s+"
    r"(?:(?:residual|definite|definitive|evidence of|significant|invasive|recurrent|any|associated|"
    r"underlying|high-grade|low-grade|features of|signs of)\s+){0,2}$",
    re.IGNORECASE,
)
"""A denial right before a diagnosis."""
_NO_AND_BRACKET = re.compile(r"\b(?:no|without)\s+(?:[\w-]+\s+){1,4}\(\s*$", re.IGNORECASE)
"""Before a name in brackets of what is denied: no malignant change (carcinoma)."""
_AFTER_COMMA = re.compile(r"\b(?:no|without|negative for)\b[^,]{0,80},[^,]{0,80}$", re.IGNORECASE)
_ANEW_BEFORE = re.compile(
    r"\b(?:no|without|negative for)\b[^,]{0,80},\s{0,3}(?:(?:focal|a|an|single|small)\s{1,3}){0,3}"
    r"(?:(?:low|high)[- ]grade|mild|moderate|severe|focal|subcapsular|a|an)\s{1,3}$",
    re.IGNORECASE,
)
_ANEW_AFTER = re.compile(r"\s*(?:arising|present|seen|identified|measuring|invading|of)\b")
_LIST_ENDS = re.compile(r"^[^.;:]*\b(?:or|nor|and)\b|^[^.;:]*\b(?:not|absent)\b", re.IGNORECASE)
"""After a denial and a comma: words by which a new statement, and no further item, begins."""
_AFTER = 60
_OF_A_TEST = re.compile(r"[\w)]-negative\s+(?:[\w-]+\s+)?$", re.IGNORECASE)
"""Before a diagnosis of which something was tested: fusion-negative rhabdomyosarcoma."""
_NOT_EXCLUDED = re.compile(
    r"[^.;:]{0,20}(?:cannot|can not|could not) be (?:\w+ )?(?:excluded|ruled out)|"
    r"[^.;:]{0,20}\bnot (?:\w+ )?(?:excluded|ruled out)",
    re.IGNORECASE,
)
"""After a diagnosis that is not excluded."""
_FIELD_BEGINS = re.compile(r"(?:\A|\n)[ \t]*(?:[-*\u2022][ \t]*)?[\w ,/-]{0,30}\Z")
_FIELD = re.compile(r"[\w ,/-]{0,30}(?:\([^()\n]{1,40}\))?[ \t]*:[ \t]+(?P<value>[^\n]*\S)")
"""What stands around a heading of one line, and the value after its colon."""
_DENIED_VALUE = re.compile(
    r"(?:no|none|nil|absent|negative|free|clear|uninvolved|[-\u2212]|"
    r"not (?:seen|identified|present|found|detected|involved|evident|invaded|breached))"
    r"(?:[ \t]*[.;,(]|\Z)|no(?:ne| evidence)?\b[^.;,]*\Z",
    re.IGNORECASE,
)
_AFFIRMED_VALUE = re.compile(
    r"(?:yes|present|positive|identified|seen|\+|\d+[ ]?%|\d[\d./]*[ ]?(?:/|per|mm|cm)|mild|"
    r"moderate|severe|marked|extensive|numerous|sparse|focal|patchy|diffuse|few|scattered|occasional|rare|"
    r"many|non-?brisk|brisk|normal|unremarkable|intact|preserved|low|high|grade|type|stage)\b",
    re.IGNORECASE,
)
_JUDGED = re.compile(r"margin|edge|clearance|node|resection|\bends?\b", re.IGNORECASE)
"""What is denied by a distance or a count as well: its value tells only with words."""


def reconsidered(entity: Entity, text: str) -> Entity:
    """What was read as denied or made, where the words around it say something else."""
    if entity.type in (EntityType.DIAGNOSIS, EntityType.FINDING):
        assertion = _as_field(entity, text)
        if assertion is not None:
            return entity.model_copy(update={"assertion": assertion})
    if entity.type != EntityType.DIAGNOSIS:
        return entity
    assertion = _reconsidered(entity, text)
    return entity if assertion is None else entity.model_copy(update={"assertion": assertion})


def _as_field(entity: Entity, text: str) -> Assertion | None:
    """Whether the value of a line affirms or denies its heading, if an entity is one."""
    field = _FIELD.match(text, entity.end)
    if field is None or not _FIELD_BEGINS.search(text[max(0, entity.start - 60) : entity.start]):
        return None
    value = field["value"]
    if _DENIED_VALUE.match(value):
        return Assertion.ABSENT
    if _JUDGED.search(entity.text) or entity.assertion != Assertion.ABSENT:
        return None
    affirmed = _AFFIRMED_VALUE.match(value) and not denies(value)
    return Assertion.PRESENT if affirmed else None


def _reconsidered(entity: Entity, text: str) -> Assertion | None:
    words, after = before(text, entity.start), text[entity.end : entity.end + _AFTER]
    if entity.assertion == Assertion.PRESENT:
        denied = _PLAIN_NO.search(words) or _NO_AND_BRACKET.search(words)
        return Assertion.ABSENT if denied else None
    if entity.assertion != Assertion.ABSENT:
        return None
    if _OF_A_TEST.search(words):
        return Assertion.PRESENT
    if _SHORT_OF.search(words):
        return Assertion.UNCERTAIN
    first_words = words + entity.text.partition(" ")[0] + " "
    anew = _ANEW_BEFORE.search(words) or _ANEW_BEFORE.search(first_words)
    anew = anew or (_AFTER_COMMA.search(words) and _ANEW_AFTER.match(after))
    return Assertion.PRESENT if anew and not _LIST_ENDS.search(after) else None


def is_committed(entity: Entity, text: str) -> bool:
    """Whether a doubt is only the usual way to put a diagnosis."""
    words = before(text, entity.start)
    said = _LIKELY.search(words) or _FAVOURED.match(text, entity.end)
    return said is not None and not _OPEN.search(words)


def is_left_open(entity: Entity, text: str) -> bool:
    """Whether a report says of a diagnosis that it cannot be excluded."""
    return bool(_NOT_EXCLUDED.match(text, entity.end))
