"""Rule: a lesion that is excised whole, and tumour at the edge, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from histoeval.trust.logic.lexicon import pattern
from histoeval.trust.logic.rules.presence import clash, is_prose
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import Specimen, said_in
from histoeval.trust.results import Contradiction

_FREE = re.compile(
    r"\bmargins [^.;]{0,25}?\b(?:free|clear|negative|uninvolved|not involved)\b"
    r"|\b(?:completely|fully|entirely) (?:excised|removed|resected)\b"
    r"|\bexcision (?:is|appears|was|seems) (?:complete|adequate)\b|\bcomplete excision\b",
    re.IGNORECASE,
)
_INVOLVED = re.compile(
    r"\b(?:tumou?r|carcinoma|melanoma|lesion|cells|neoplasm|sarcoma)\b[^.;]{0,40}?"
    r"\b(?:at|reach\w*|extends? to|transected|touch\w*|involv\w+)\b[^.;]{0,25}?"
    r"\b(?:margins?|edge|ink|inked)\b"
    r"|\bincompletely (?:excised|removed|resected)\b|\bexcision (?:is|was|appears) incomplete\b"
    r"|\bmargins? (?:is|are) (?:positive|involved)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:no|not|without|neither|nor|free|clear|negative|close)\b", re.IGNORECASE)


def margin_in_words(specimen: Specimen) -> Iterator[Contradiction]:
    """All margins free and one involved; in plain prose."""
    if not is_prose(specimen):
        return
    told = [p for p in specimen.passages if not pattern("margin_of_another").search(p.text)]
    free = [said_in(m, p, specimen) for p in told if (m := _FREE.search(p.text)) and _is_of_all(p)]
    for passage in told:
        found = None if _NOT.search(passage.text) else _INVOLVED.search(passage.text)
        for each in free if found else ():
            if found and each.passage != passage:
                at_edge = said_in(found, passage, specimen)
                why = f"{each.span.text}, and {at_edge.span.text}"
                yield clash("margin", each, at_edge, why)


def _is_of_all(passage: ReportSentence) -> bool:
    """Whether a sentence is of no margin more than of another."""
    names = {name.group().lower() for name in pattern("margin_names").finditer(passage.text)}
    return names <= {"all"}
