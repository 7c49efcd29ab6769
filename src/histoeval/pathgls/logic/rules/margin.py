"""Rules: margins that are free and involved, by the reader's findings and in words."""

import re
from collections.abc import Iterator
from itertools import permutations

from histoeval.pathgls.logic.contradiction import both_ways, clash
from histoeval.pathgls.logic.lexicon import pattern
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction
from histoeval.terms.assertion import denies
from histoeval.terms.findings import is_kind_of
from histoeval.terms.values.margins import read_margins

_MARGIN = "margin_involvement"
_ALL = frozenset({"all"})
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


def margin(specimen: Specimen) -> Iterator[Contradiction]:
    """Margins that are free and involved: all of them, or those of one name."""
    margins = [
        each
        for each in specimen.findings
        if is_kind_of(str(each.value.id), _MARGIN)
        and not each.passage.has("margin_of_another")
        and each.passage.has("margin_free" if each.denied else "margin_involved")
    ]
    for yes, no in both_ways(margins, lambda one, other: other.id in (one.id, _MARGIN)):
        all_free = _is_of_all(no.passage) and pattern("all_margins").search(no.clause)
        names = yes.passage.names("margin_names"), no.passage.names("margin_names")
        if (all_free and specimen.is_prose) or (
            yes.value.id == no.value.id and names[0] == names[1]
        ):
            yield clash("margin", yes, no, "the margin is both involved and free")


def margin_by_name(specimen: Specimen) -> Iterator[Contradiction]:
    """One margin, by its name, that is free in one sentence and involved in another."""
    named = [
        ReportMention(value.options, passage.at(value.start, value.end).span, passage)
        for passage in specimen.passages
        if not passage.has("margin_of_another")
        for value in read_margins(passage.text)
    ]
    for one, other in permutations(named, 2):
        shared = any(each.startswith("at ") for each in one.value & other.value)
        opposed = "clear" in one.value and "involved" in other.value
        if opposed and shared and one.passage != other.passage:
            yield clash("margin", one, other, "the margin is both involved and free")


def margin_in_words(specimen: Specimen) -> Iterator[Contradiction]:
    """All margins free and one involved; in prose."""
    if not specimen.is_prose:
        return
    passages = [p for p in specimen.passages if not p.has("margin_of_another")]
    free = [p.found(m) for p in passages if (m := _FREE.search(p.text)) and _is_of_all(p)]
    for passage in passages:
        found = (
            None
            if denies(passage.text) or passage.has("spared", "margin_spared")
            else _INVOLVED.search(passage.text)
        )
        for each in free if found else ():
            if found and each.passage != passage:
                at_edge = passage.found(found)
                why = f"{each.span.text}, and {at_edge.span.text}"
                yield clash("margin", each, at_edge, why)


def _is_of_all(passage: ReportSentence) -> bool:
    """Whether a sentence names no margin more than another."""
    return passage.names("margin_names") <= _ALL
