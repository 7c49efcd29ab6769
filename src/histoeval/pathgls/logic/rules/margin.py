"""Rules: margins that are free and involved, by the reader's findings and in words."""

from collections.abc import Iterator
from itertools import permutations, product

from histoeval.pathgls.logic.contradiction import both_ways, clash
from histoeval.pathgls.logic.lexicon import pattern
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction
from histoeval.terms.findings import is_kind_of
from histoeval.terms.values.margins import read_margins

_MARGIN = "margin_involvement"
_ALL = frozenset({"all"})


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
    for one, other in permutations(_read(specimen), 2):
        shared = any(each.startswith("at ") for each in one.value & other.value)
        opposed = "clear" in one.value and "involved" in other.value
        if opposed and shared and one.passage != other.passage:
            yield clash("margin", one, other, "the margin is both involved and free")


def margin_in_words(specimen: Specimen) -> Iterator[Contradiction]:
    """All margins free and one involved; in prose."""
    read = list(_read(specimen)) if specimen.is_prose else []
    free = [
        each
        for each in read
        if each.value == {"clear"}
        and _is_of_all(each.passage)
        and pattern("all_margins").search(each.span.text)
    ]
    involved = [
        each
        for each in read
        if "involved" in each.value and not each.passage.has("spared", "margin_spared")
    ]
    for one, other in product(free, involved):
        if one.passage != other.passage:
            yield clash("margin", one, other, f"{one.span.text}, and {other.span.text}")


def _read(specimen: Specimen) -> Iterator[ReportMention[frozenset[str]]]:
    """What each sentence says of margins of the specimen."""
    for passage in specimen.passages:
        if not passage.has("margin_of_another"):
            for value in read_margins(passage.text):
                span = passage.at(value.start, value.end).span
                yield ReportMention(value.options, span, passage)


def _is_of_all(passage: ReportSentence) -> bool:
    """Whether a sentence names no margin more than another."""
    return passage.names("margin_names") <= _ALL
