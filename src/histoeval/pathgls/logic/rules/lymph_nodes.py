"""Rule: lymph nodes counted, called free or involved, and staged.

It holds for a report as a whole: the stage is of the patient, whichever part it stands in.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from histoeval.nli.features.parse import statements
from histoeval.pathgls.logic.contradiction import clash
from histoeval.pathgls.logic.lexicon import listed
from histoeval.pathgls.logic.sentences import ReportSentence
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction, ReportSpan
from histoeval.terms.findings import is_kind_of
from histoeval.terms.sites import find_sites, organ_of
from histoeval.terms.values.nodes import is_on_some_nodes, node_counts, read_nodes

_PERINEURAL = re.compile(r"\bPNI\b")
_METASTASIS = "nodal_metastasis"
_INVOLVED = frozenset("123")
_RULE = "nodes"


class _Count(NamedTuple):
    part: int
    all: int
    span: ReportSpan
    passage: ReportSentence


class _Status(NamedTuple):
    """Nodes that are called free or involved, with the words that tell which nodes."""

    involved: bool
    span: ReportSpan
    passage: ReportSentence
    names: frozenset[str]


def nodes(specimens: Sequence[Specimen]) -> Iterator[Contradiction]:
    """Counts that cannot be, and counts at odds with the stage or with a plain denial."""
    counts = [count for specimen in specimens for count in _counts(specimen)]
    for count in counts:
        if count.part > count.all > 0:
            why = f"{count.part} nodes of only {count.all} are involved"
            yield clash(_RULE, count, count, why)
    possible = [count for count in counts if count.part <= count.all]
    yield from _against_stage(specimens, possible)
    for specimen in specimens:
        yield from _in_words(specimen)
        yield from _against_denial(
            specimen, [c for c in possible if c.passage in specimen.passages]
        )


def _counts(specimen: Specimen) -> Iterator[_Count]:
    for passage in specimen.passages:
        if passage.has("not_counts"):
            continue
        for count in node_counts(passage.text):
            span = passage.at(count.start, count.end).span
            yield _Count(count.part, count.all, span, passage)


def _against_stage(
    specimens: Sequence[Specimen], counts: Sequence[_Count]
) -> Iterator[Contradiction]:
    """Node-free by stage and involved by count, or the reverse."""
    involved = [count for count in counts if count.part > 0]
    for each in (each for specimen in specimens for each in specimen.stages):
        n, staged = each.value.n, each.span.text
        here = (each.value.prefix or "").endswith("p") and not _PERINEURAL.search(staged)
        if not n or not here or each.passage.has("few_cells"):
            continue
        if n == "0" and involved:
            why = f"{staged} is node-negative, {involved[0].span.text} nodes are involved"
            yield clash(_RULE, each, involved[0], why)
        if n in _INVOLVED and counts and not involved:
            why = f"{staged} is node-positive, but {counts[0].span.text} nodes are involved"
            yield clash(_RULE, each, counts[0], why)


def _in_words(specimen: Specimen) -> Iterator[Contradiction]:
    """Nodes that are called free and involved, or differ from the stage."""
    called = list(_called(specimen))
    free, involved = [e for e in called if not e.involved], [e for e in called if e.involved]
    for no, yes in product(free, involved):
        if not no.names or no.names == yes.names:
            why = f"nodes are free: {no.span.text}, and involved: {yes.span.text}"
            yield clash(_RULE, no, yes, why)
    if free and involved:
        return
    for each in specimen.stages:
        n = each.value.n or ""
        every = [status for status in free if not status.names and not _are_some(status.passage)]
        against = involved if n == "0" else every if n[:1] in _INVOLVED else []
        for status in () if each.passage.has("few_cells") else against:
            if status.passage != each.passage:
                yield clash(_RULE, each, status, f"{each.span.text}, but {status.span.text}")


def _are_some(passage: ReportSentence) -> bool:
    """Whether a sentence is on the nodes of one place."""
    return bool(statements(passage.text).labels) or any(
        organ_of(match.id) not in listed("tissues") for match in find_sites(passage.text)
    )


def _called(specimen: Specimen) -> Iterator[_Status]:
    """What a report in prose states of its nodes, a sentence at a time."""
    for passage in specimen.passages if specimen.is_prose else ():
        if passage.has("few_cells"):
            continue
        for value in read_nodes(passage.text):
            free = "free" in value.options
            if len(value.options) > 1 or (free and is_on_some_nodes(passage.text)):
                continue
            span = passage.at(value.start, value.end).span
            yield _Status(not free, span, passage, passage.names("node_names"))


def _against_denial(specimen: Specimen, counts: Sequence[_Count]) -> Iterator[Contradiction]:
    """Nodal metastasis is denied, and some nodes are involved by count."""
    denied = [
        each
        for each in specimen.findings
        if each.denied
        and is_kind_of(str(each.value.id), _METASTASIS)
        and not each.passage.has("node_names")
    ]
    for each in denied[:1]:
        for count in counts:
            if count.part > 0 and count.passage != each.passage:
                why = f"nodal metastasis is denied, {count.span.text} nodes are involved"
                yield clash(_RULE, each, count, why)
