"""Rules: lymph nodes counted, called free or involved, and staged.

These hold for a report as a whole: the stage is of the patient, whichever part it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from histoeval.terms.findings import is_kind_of
from histoeval.trust.logic.lexicon import pattern
from histoeval.trust.logic.rules.lymph_nodes_in_words import called
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import Specimen, span_of
from histoeval.trust.results import Contradiction, ReportSpan

_OF = (
    r"(?P<part>\d{1,2})\s*(?:/|of(?:\sthe)?\s|out of\s)\s*(?P<all>\d{1,3})(?![\d/.]|\s*(?:cm|mm|%))"
)
_COUNTS = re.compile(
    rf"(?<![\d/.#-])(?:{_OF}\)?\s*(?:[a-z-]+,?\s+){{0,4}}(?:lymph\s+)?nodes?\b"
    rf"|(?:lymph\s+)?nodes?\b[^\d.;/]{{0,60}}?[\s(]{_OF.replace('?P<', '?P<late_')})",
    re.IGNORECASE,
)
_METASTASIS = "nodal_metastasis"
_INVOLVED = frozenset("123")


@dataclass(frozen=True, slots=True)
class _Count:
    part: int
    all: int
    span: ReportSpan
    passage: ReportSentence


def nodes(specimens: Sequence[Specimen]) -> Iterator[Contradiction]:
    """Counts that cannot be, and counts at odds with the stage or with a plain denial."""
    counts = [count for specimen in specimens for count in _counts(specimen)]
    for count in counts:
        if count.part > count.all > 0:
            why = f"{count.part} nodes of only {count.all} are said to be involved"
            yield _clash(count.span, count.span, why)
    possible = [count for count in counts if count.part <= count.all]
    yield from _against_stage(specimens, possible)
    for specimen in specimens:
        yield from _in_words(specimen)
        yield from _against_denial(
            specimen, [c for c in possible if c.passage in specimen.passages]
        )


def _counts(specimen: Specimen) -> Iterator[_Count]:
    for passage in specimen.passages:
        if pattern("not_counts").search(passage.text):
            continue
        for found in _COUNTS.finditer(passage.text):
            got = {k.removeprefix("late_"): k for k, v in found.groupdict().items() if v}
            start, end = found.start(got["part"]), found.end(got["all"])
            span = span_of(specimen.text, passage.start + start, passage.start + end)
            yield _Count(int(found[got["part"]]), int(found[got["all"]]), span, passage)


def _against_stage(
    specimens: Sequence[Specimen], counts: Sequence[_Count]
) -> Iterator[Contradiction]:
    """Node-free by stage and involved by count, or the reverse."""
    staged = [
        (each.span, each.value.n, each.passage)
        for specimen in specimens
        for each in specimen.stages
        if each.value.n and (each.value.prefix or "").endswith("p")
    ]
    involved = [count for count in counts if count.part > 0]
    for span, n, passage in staged:
        few = pattern("few_cells").search(passage.text)
        if n == "0" and involved and not few:
            count = involved[0]
            why = f"{span.text} is node-negative, {count.span.text} nodes are involved"
            yield _clash(span, count.span, why)
        if n in _INVOLVED and counts and not involved and not few:
            why = f"{span.text} is node-positive, but {counts[0].span.text} nodes are involved"
            yield _clash(span, counts[0].span, why)


def _in_words(specimen: Specimen) -> Iterator[Contradiction]:
    """Nodes that are called free and involved, or are not what the stage says."""
    told = list(called(specimen))
    free, involved = [e for e in told if not e.involved], [e for e in told if e.involved]
    for no, yes in product(free, involved):
        if not no.names or no.names == yes.names:
            why = f"nodes are free: {no.span.text}, and involved: {yes.span.text}"
            yield _clash(no.span, yes.span, why)
    for each in specimen.stages:
        few = pattern("few_cells").search(each.passage.text)
        against = (
            involved
            if each.value.n == "0"
            else free
            if (each.value.n or "")[:1] in _INVOLVED
            else []
        )
        both = free and involved
        for called_ in () if few or both else [e for e in against if e.passage != each.passage]:
            yield _clash(each.span, called_.span, f"{each.span.text}, but {called_.span.text}")


def _against_denial(specimen: Specimen, counts: Sequence[_Count]) -> Iterator[Contradiction]:
    """No node is involved, it is said, and some are, by count."""
    denied = [
        each
        for each in specimen.findings
        if each.denied
        and is_kind_of(str(each.value.id), _METASTASIS)
        and not pattern("node_names").search(each.passage.text)
    ]
    for each in denied[:1]:
        for count in counts:
            if count.part > 0 and count.passage != each.passage:
                why = f"nodal metastasis is denied, {count.span.text} nodes are involved"
                yield _clash(each.span, count.span, why)


def _clash(one: ReportSpan, other: ReportSpan, why: str) -> Contradiction:
    first, second = sorted((one, other), key=lambda span: (span.start, span.end))
    return Contradiction(first=first, second=second, probability=1.0, source="rule:nodes", why=why)
