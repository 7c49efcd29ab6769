"""Specimens that only one report has, and those from another site or side in the candidate."""

import re
from collections.abc import Iterator, Sequence

from histoeval.concordance.evidence import ErrorKind, ReportError, Severity
from histoeval.concordance.specimens.content import (
    IN_SITU,
    LOW_GRADE,
    MALIGNANT,
    Content,
    entity_of,
)
from histoeval.concordance.specimens.matching import MatchedSpecimens, SpecimenPair
from histoeval.facts.specimens.places import place_of
from histoeval.facts.specimens.text import only
from histoeval.report import EntityType, Report
from histoeval.terms.sites import site_closeness
from histoeval.terms.values.laterality import Side, side_of

PART = "specimens"  # what errors between specimens are listed under
_OPPOSITE = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT}
_HEAD = re.compile(r"\S[^\n]*")
# How bad it is to miss a specimen, by how grave what is in it is
SEVERITY = (*(Severity.MAJOR,) * IN_SITU, Severity.CRITICAL, Severity.CRITICAL)
# Up to this nearness two sites are different ones; below the other, of different organs
_OTHER_PLACE, _SAME_ORGAN = 0.6, 0.5
_NODES = re.compile(r"\b(?:nod(?:es?|al)|sentinels?|dissection|lymphadenectomy)\b", re.IGNORECASE)
_NODE = "lymph_node"  # nodes without a region, which may be those of any: neck dissection
# Numbers of places that nobody changes when parts are counted anew
_NUMBERED = ("level", "station", "segment", "clock", "cm")


def misnamed(
    matched: MatchedSpecimens, ref: Sequence[Content], cand: Sequence[Content]
) -> Iterator[ReportError]:
    """Parts that only one report has, and parts from another site or side in the candidate."""
    for pair, here, there in zip(matched.pairs, ref, cand, strict=True):
        if pair.candidate.absent:
            if matched.divided or here.gravity >= LOW_GRADE:  # prose may sum up what is benign
                yield _one_sided(ErrorKind.MISSING_SPECIMEN, here, pair.name)
        elif pair.reference.absent:
            if matched.divided or there.gravity >= LOW_GRADE:
                yield _one_sided(ErrorKind.INVENTED_SPECIMEN, there, pair.name)
        elif pair.candidate.other_side or pair.reference.other_side:
            severity = Severity.CRITICAL if here.gravity >= IN_SITU else Severity.MAJOR
            yield ReportError(
                ErrorKind.WRONG_LATERALITY,
                PART,
                severity,
                here.site,
                there.site,
                specimen=pair.name,
            )
        elif (near := _nearness(pair)) <= _OTHER_PLACE:
            grave = near < _SAME_ORGAN and here.gravity == MALIGNANT
            severity = Severity.CRITICAL if grave else Severity.MAJOR
            entities = here.site, there.site
            yield ReportError(ErrorKind.WRONG_SITE, PART, severity, *entities, specimen=pair.name)


def on_other_side(
    matched: MatchedSpecimens, reference: Report, candidate: Report
) -> Iterator[ReportError]:
    """The side that both reports give above all parts, where it is not the same."""
    named = []
    for report, common, sides in (
        (reference, matched.reference_common, [pair.reference for pair in matched.pairs]),
        (candidate, matched.candidate_common, [pair.candidate for pair in matched.pairs]),
    ):
        first = min((start for side in sides for start, _ in side.stretches), default=0)
        above = [stretch for stretch in common if stretch[1] <= first]
        title = only(report, above).text.rstrip()
        found = _HEAD.search(title) if side_of(title) in _OPPOSITE else None
        named.append((found, side_of(title)))
    (here, one), (there, other) = named
    if here and there and one and _OPPOSITE.get(one) == other:
        yield ReportError(
            ErrorKind.WRONG_LATERALITY,
            PART,
            Severity.CRITICAL,
            entity_of(here, EntityType.SITE),
            entity_of(there, EntityType.SITE),
        )


def _one_sided(kind: ErrorKind, content: Content, name: str) -> ReportError:
    severity = Severity.MODERATE if content.normal else SEVERITY[content.gravity]
    if kind == ErrorKind.MISSING_SPECIMEN:
        return ReportError(kind, PART, severity, content.lead, None, name, specimen=name)
    return ReportError(kind, PART, severity, None, content.lead, "", name, specimen=name)


def _nearness(pair: SpecimenPair) -> float:
    """How near the sites of two headings are; 1 where one of them names none."""
    here, there = place_of(pair.reference.heading), place_of(pair.candidate.heading)
    for kind in _NUMBERED:
        one, other = ({n for k, n in each.numbers if k == kind} for each in (here, there))
        if one and other and not one & other:
            return _OTHER_PLACE
    nodal = all(_NODES.search(each.heading) for each in (pair.reference, pair.candidate))
    if nodal and {_NODE} in (here.sites, there.sites):
        return 1.0
    return max((site_closeness(a, b) for a in here.sites for b in there.sites), default=1.0)
