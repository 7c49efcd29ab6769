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
from histoeval.terms.assertion import denies
from histoeval.terms.findings import is_kind_of
from histoeval.terms.sites import find_sites, organ_of

_OF = (
    r"(?P<part>\d{1,2})\s*(?:/|of(?:\sthe)?\s|out of\s)\s*(?P<all>\d{1,3})(?![\d/.]|\s*(?:cm|mm|%))"
)
_COUNTS = re.compile(
    rf"(?<![\d/.#-])(?:{_OF}\)?\s*(?:[a-z-]+,?\s+){{0,4}}(?:lymph\s+)?nodes?\b"
    rf"|(?:lymph\s+)?nodes?\b[^\d.;/]{{0,60}}?[\s(]{_OF.replace('?P<', '?P<late_')})",
    re.IGNORECASE,
)
_NODES = r"(?:lymph )?nodes?\b"
_CALLED_FREE = re.compile(
    rf"\b{_NODES}(?: sampled| examined| identified| submitted)? ?(?:are|is|were|appear)? ?(?:all )?"
    r"(?:free|negative|clear|uninvolved|not involved|without|show no|contain no|reactive)\b"
    r"|\b(?:no|without)\b[^.;]{0,40}\b(?:metasta\w+|involve\w+|tumou?r|carcinoma)"
    rf"[^.;]{{0,40}}{_NODES}"
    r"|\bno (?:nodal|lymph node) (?:metasta|involve|disease)\w*"
    rf"|\b(?:none|0|zero) (?:out )?of (?:the )?\w+ (?:\w+ ){{0,3}}?{_NODES}"
    rf"|\b{_NODES}[:,]? \(?0 ?(?:/|of|out of) ?\d+"
    rf"|\b{_NODES}[^.;]{{0,40}}\b(?:all|each)(?: of them)?(?: are| were| is)? (?:free|negative)\b"
    rf"|\b{_NODES}[^.;]{{0,40}}\bnone\b"
    r"|\bnode[- ]negative\b",
    re.IGNORECASE,
)
_CALLED_INVOLVED = re.compile(
    r"\b(?:metasta\w+|tumou?r|carcinoma)\b[^.;]{0,60}?\b(?:in|to|involv\w+|within|replac\w+)\b"
    rf"[^.;]{{0,40}}?{_NODES}"
    rf"|\b{_NODES} (?:contains?|shows?|harbou?rs?|with) (?:\w+ ){{0,3}}"
    r"(?:metasta|carcinoma|tumou?r|deposit)"
    rf"|\b{_NODES} (?:are|is) (?:involved|positive|replaced)"
    r"|\b(?:nodal|lymph node) (?:metasta\w+|involvement) (?:is|are) (?:present|seen|identified)"
    rf"|\b{_NODES}[^.;:]{{0,25}}: (?:macro)?metasta"
    r"|\bnode[- ]positive\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b(?:[1-9]\d*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|most|some)"
    r"\s+(?:of|out of|other|others|further)\b",
    re.IGNORECASE,
)
"""Some of the nodes, and not all."""
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
        for found in _COUNTS.finditer(passage.text):
            got = {k.removeprefix("late_"): k for k, v in found.groupdict().items() if v}
            span = passage.at(found.start(got["part"]), found.end(got["all"])).span
            yield _Count(int(found[got["part"]]), int(found[got["all"]]), span, passage)


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
        free = None if _COUNTED.search(passage.text) else _CALLED_FREE.search(passage.text)
        involved = (
            None
            if denies(passage.text) or passage.has("spared", "node_spared")
            else _CALLED_INVOLVED.search(passage.text)
        )
        if found := free or involved:
            span = passage.found(found).span
            yield _Status(free is None, span, passage, passage.names("node_names"))


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
