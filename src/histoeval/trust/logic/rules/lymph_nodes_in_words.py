"""Lymph nodes that a sentence calls free or involved, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from histoeval.trust.logic.lexicon import pattern
from histoeval.trust.logic.rules.presence import is_prose
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import Specimen, span_of
from histoeval.trust.results import ReportSpan

_NODES = r"(?:lymph )?nodes?\b"
_FREE = re.compile(
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
_INVOLVED = re.compile(
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
_NOT = re.compile(r"\b(?:no|not|none|without|free|negative|neither|nor|0|zero)\b", re.IGNORECASE)


class NodeStatus(NamedTuple):
    """Nodes that are called free or involved, with the words that tell which nodes."""

    involved: bool
    span: ReportSpan
    passage: ReportSentence
    names: frozenset[str]


def called(specimen: Specimen) -> Iterator[NodeStatus]:
    """What a report in plain prose says of its nodes, a sentence at a time."""
    for passage in specimen.passages if is_prose(specimen) else ():
        if pattern("few_cells").search(passage.text):
            continue
        found = _FREE.search(passage.text)
        involved = None if _NOT.search(passage.text) else _INVOLVED.search(passage.text)
        if told := found or involved:
            start = passage.start + told.start()
            span = span_of(specimen.text, start, start + len(told.group()))
            names = frozenset(
                each.group().lower() for each in pattern("node_names").finditer(passage.text)
            )
            yield NodeStatus(found is None, span, passage, names)
