"""What follows from other markers: the light chain, mismatch repair, a mutated IDH."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from histoeval.terms.values.marker_statements.decisive import (
    LIGHT_CHAIN,
    MISMATCH,
    MISMATCH_LOST,
    MISMATCH_PAIRS,
    decisive_markers,
)
from histoeval.terms.values.stated import StatedValue

_CHAIN = re.compile(r"\b(?P<chain>kappa|lambda|\u03ba|\u03bb)\b", re.IGNORECASE)
_POLYTYPIC = re.compile(
    r"\bpoly(?:typic|clonal)|\bno (?:light[- ]chain )?restriction|\bnot restricted|\bboth\b",
    re.IGNORECASE,
)
_RESTRICTED = re.compile(
    r"\b(?P<chain>kappa|lambda)\b[\s-]*(?:light[- ]chains?[\s-]*)?"
    r"(?:only|restrict\w*|monotyp\w*|monoclon\w*|clonal|positive|\+|type|AL|amyloid)"
    r"|\b(?:restrict\w*|monotyp\w*|monoclon\w*|positive|AL)\b[\w\s(-]{0,24}?\b(?P<chain2>kappa"
    r"|lambda)\b",
    re.IGNORECASE,
)


def light_chain(clause: str, offset: int) -> Iterator[StatedValue]:
    """The light chain that a clause states to be restricted, or that none is."""
    chains = {found["chain"].lower() for found in _CHAIN.finditer(clause)}
    if not chains:
        return
    if _POLYTYPIC.search(clause):
        options = {"polytypic"}
    elif len(chains) == 1:
        options = chains
    else:
        found = _RESTRICTED.search(clause)
        options = {(found["chain"] or found["chain2"]).lower()} if found else set()
    if options:
        first, *_, last = [*_CHAIN.finditer(clause)] * 2
        yield StatedValue(
            LIGHT_CHAIN, frozenset(options), offset + first.start(), offset + last.end()
        )


def mismatch_status(found: Sequence[StatedValue]) -> Iterator[StatedValue]:
    """Whether mismatch repair is deficient: as stated, by a protein lost, by instability."""
    proteins = decisive_markers()["proteins"]
    own = [each for each in found if each.axis in proteins]
    lost = [each for each in own if "negative" in each.options]
    for each in lost or own[:1]:
        yield _status(each, bool(lost))
        if lost:
            pair = next(pair for pair in MISMATCH_PAIRS if each.axis in pair)
            yield replace(each, axis=MISMATCH_LOST, options=frozenset(pair))
    for each in found:
        if each.axis == "mismatch repair" and each.options <= {"positive", "negative"}:
            yield _status(each, "negative" in each.options)
        if each.axis == "microsatellite instability" and each.options <= {"positive", "negative"}:
            yield _status(each, "positive" in each.options)


def mutated_idh(found: Sequence[StatedValue]) -> Iterator[StatedValue]:
    """IDH is mutated where its commonest mutant is found; where that is not, another may be."""
    for each in found:
        if each.axis == "IDH1 R132H" and "positive" in each.options:
            yield replace(each, axis="IDH")


def _status(each: StatedValue, deficient: bool) -> StatedValue:
    status = frozenset({"deficient" if deficient else "proficient"})
    return StatedValue(MISMATCH, status, each.start, each.end)
