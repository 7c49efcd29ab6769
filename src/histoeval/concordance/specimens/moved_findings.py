"""Specimens that changed places, and findings that stand with another one than in the reference."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from histoeval.concordance.diagnosis import Alike, diagnosis_closeness
from histoeval.concordance.diagnosis_errors import severity_of
from histoeval.concordance.evidence import ErrorKind, ReportError, Severity
from histoeval.concordance.specimens.content import (
    IN_SITU,
    LOW_GRADE,
    MALIGNANT,
    Content,
    SpecimenContents,
    contents_alike,
    entity_of,
)
from histoeval.concordance.specimens.matching import MatchedSpecimens, SpecimenPair
from histoeval.concordance.specimens.statements import moved_statements
from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import FindingFact
from histoeval.facts.specimens.places import place_of
from histoeval.facts.specimens.text import only
from histoeval.report import Entity, EntityType, Report
from histoeval.terms.catalogue import Behaviour, diagnosis_tree
from histoeval.terms.findings import findings as known_findings
from histoeval.terms.sites import site_closeness
from histoeval.terms.values.laterality import Side, side_of

_SAME, _NEARLY, _ALIKE = 0.8, 0.65, 0.45
_SWAPPED, _CROSSWISE = 0.7, 0.3
_TELLING = 2  # from this importance on, a finding that stands with another part is an error


def swapped_specimens(contents: SpecimenContents) -> dict[int, int]:
    ref, cand = contents.reference_sure, contents.candidate_sure
    swapped: dict[int, int] = {}
    for i, j in combinations(contents.clear, 2):
        if not {i, j} & swapped.keys() and _are_swapped(ref, cand, i, j):
            swapped |= {i: j, j: i}
    return swapped


def moved_findings(
    contents: SpecimenContents, swapped: Mapping[int, int], alike: Alike
) -> Iterator[ReportError]:
    """The errors of parts whose contents changed places, and of findings with another part."""
    pairs, ref = contents.matched.pairs, contents.reference_sure
    for i, j in swapped.items():
        if i < j:
            # Less severe where one says in more or fewer words what the other says leads
            is_same = ref[i].gravity == ref[j].gravity and _are_kin(ref[i], ref[j])
            severity = Severity.MAJOR if is_same else SEVERITY[max(ref[i].gravity, ref[j].gravity)]
            yield ReportError(
                ErrorKind.SWAPPED_SPECIMENS,
                PART,
                severity,
                ref[i].lead,
                contents.candidate_sure[i].lead,
                pairs[i].name,
                pairs[j].name,
                specimen=f"{pairs[i].name} / {pairs[j].name}",
            )
    known: list[tuple[str | None, Entity]] = []
    for i in contents.clear:
        if i in swapped:
            continue
        moved = list(_moved_from(contents, i, alike))
        if contents.matched.divided:
            others = [j for j in contents.clear if j != i]
            for here, j, there in moved_statements(contents, i, others):
                moved.append(_moved(contents, (i, here.entity), (j, there.entity), here.severity))
        for error in sorted(moved, key=lambda error: -error.severity):
            words, entity = error.words[0], error.reference
            # Not again, if it is in the words of another error, or about a part of them
            if entity is None or not any(
                words == known_words or (entity.start < e.end and e.start < entity.end)
                for known_words, e in known
            ):
                known += [(words, entity)] if entity else []
                yield error


def _are_kin(first: Content, second: Content) -> bool:
    """True if one says in more or fewer words what the other says leads."""
    first_ids, second_ids = (
        {d.concept.id for d in c.facts.first if d.concept} for c in (first, second)
    )
    tree = diagnosis_tree()
    return (
        not first_ids
        or not second_ids
        or any(tree.are_kin(a, b) for a in first_ids for b in second_ids)
    )


def _are_swapped(ref: Sequence[Content], cand: Sequence[Content], i: int, j: int) -> bool:
    """True if each of two parts says what the other should."""
    straight = contents_alike(ref[i], cand[i]), contents_alike(ref[j], cand[j])
    crosswise = contents_alike(ref[i], cand[j]), contents_alike(ref[j], cand[i])
    gain = sum(crosswise) - sum(straight)
    grave = (
        ref[i].gravity == cand[j].gravity != cand[i].gravity == ref[j].gravity
        and max(ref[i].gravity, ref[j].gravity) >= IN_SITU
    )
    if grave:
        return gain > _SWAPPED / 3
    return gain > _SWAPPED and min(crosswise) > max(_CROSSWISE, *straight)


def _moved_from(contents: SpecimenContents, i: int, alike: Alike) -> Iterator[ReportError]:
    """Errors of what the reference says of one part, and the candidate only of others."""
    others = [j for j in contents.clear if j != i]
    for diagnosis in contents.reference_sure[i].facts.made:
        if diagnosis.hedged or not diagnosis.known or diagnosis.behaviour == Behaviour.NORMAL:
            continue
        if _makes(contents.candidate[i], diagnosis, alike, _ALIKE):
            continue
        for j in others:
            there = _makes(contents.candidate_sure[j], diagnosis, alike, _SAME)
            heading = contents.matched.pairs[j].candidate.heading.casefold()
            if there is None or there.entity.text.casefold() in heading:
                continue  # nothing, or only what the specimen is called: nasal polyp
            if not _makes(contents.reference[j], diagnosis, alike, _NEARLY):
                severity = severity_of(diagnosis)
                yield _moved(contents, (i, diagnosis.entity), (j, there.entity), severity)
                break
    if not contents.matched.divided:
        return
    for finding in contents.reference_sure[i].facts.findings:
        importance = known_findings()[finding.id].importance if finding.id else 0
        if importance < _TELLING or finding.denied or _has(contents.candidate[i], finding):
            continue
        for j in others:
            found = _has(contents.candidate_sure[j], finding)
            if found and not _has(contents.reference[j], finding):
                grave = importance > _TELLING
                severity = Severity.MAJOR if grave else Severity.MODERATE
                yield _moved(contents, (i, finding.entity), (j, found.entity), severity)
                break


def _moved(
    contents: SpecimenContents,
    ref_statement: tuple[int, Entity],
    cand_statement: tuple[int, Entity],
    severity: Severity,
) -> ReportError:
    (i, ref_entity), (j, cand_entity) = ref_statement, cand_statement
    first, second = contents.matched.pairs[i].name, contents.matched.pairs[j].name
    return ReportError(
        ErrorKind.MOVED_FINDING,
        PART,
        severity,
        ref_entity,
        cand_entity,
        f"{ref_entity.text} ({first})",
        f"{cand_entity.text} ({second})",
        specimen=f"{first} \u2192 {second}",
    )


def _makes(content: Content, diagnosis: Diagnosis, alike: Alike, least: float) -> Diagnosis | None:
    def near(candidate: Diagnosis) -> float:
        return diagnosis_closeness(diagnosis, candidate, alike)

    best = max(content.facts.made, key=near, default=None)
    return best if best and near(best) >= least else None


def _has(content: Content, finding: FindingFact) -> FindingFact | None:
    same = (own for own in content.facts.findings if own.id == finding.id and not own.denied)
    return next(same, None)


PART = "specimens"  # what errors between specimens are listed under
_OPPOSITE = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT}
_HEAD = re.compile(r"\S[^\n]*")
# How bad it is to miss a specimen, by how grave what is in it is
SEVERITY = (*(Severity.MAJOR,) * IN_SITU, Severity.CRITICAL, Severity.CRITICAL)
# Up to this nearness two sites are different ones; below the other, of different organs
_OTHER_PLACE, _OF_ONE_ORGAN = 0.6, 0.5
_NODES = re.compile(r"\b(?:nod(?:es?|al)|sentinels?|dissection|lymphadenectomy)\b", re.IGNORECASE)
_NODE = "lymph_node"  # nodes without a region, which may be those of any: neck dissection
# Numbers of places that nobody changes when parts are counted anew
_NUMBERED = ("level", "station", "segment", "clock", "cm")


def unmatched_specimens(
    matched: MatchedSpecimens, ref: Sequence[Content], cand: Sequence[Content]
) -> Iterator[ReportError]:
    for pair, ref_content, cand_content in zip(matched.pairs, ref, cand, strict=True):
        if pair.candidate.absent:
            # Prose may sum up what is benign
            if matched.divided or ref_content.gravity >= LOW_GRADE:
                yield _one_sided(ErrorKind.MISSING_SPECIMEN, ref_content, pair.name)
        elif pair.reference.absent:
            if matched.divided or cand_content.gravity >= LOW_GRADE:
                yield _one_sided(ErrorKind.INVENTED_SPECIMEN, cand_content, pair.name)
        elif pair.candidate.other_side or pair.reference.other_side:
            severity = Severity.CRITICAL if ref_content.gravity >= IN_SITU else Severity.MAJOR
            kind, entities = ErrorKind.WRONG_LATERALITY, (ref_content.site, cand_content.site)
            yield ReportError(kind, PART, severity, *entities, specimen=pair.name)
        elif (near := _nearness(pair)) <= _OTHER_PLACE:
            grave = near < _OF_ONE_ORGAN and ref_content.gravity == MALIGNANT
            severity = Severity.CRITICAL if grave else Severity.MAJOR
            kind, entities = ErrorKind.WRONG_SITE, (ref_content.site, cand_content.site)
            yield ReportError(kind, PART, severity, *entities, specimen=pair.name)


def on_other_side(
    matched: MatchedSpecimens, reference: Report, candidate: Report
) -> Iterator[ReportError]:
    """The side that both reports give above all parts, where it is not the same."""
    named = []
    for report, common, sides in (
        (reference, matched.reference_common, [pair.reference for pair in matched.pairs]),
        (candidate, matched.candidate_common, [pair.candidate for pair in matched.pairs]),
    ):
        first = min((start for side in sides for start, _ in side.spans), default=0)
        above = [span for span in common if span[1] <= first]
        title = only(report, above).text.rstrip()
        head = _HEAD.search(title) if side_of(title) in _OPPOSITE else None
        named.append((head, side_of(title)))
    (here, one), (there, other) = named
    if here and there and one and _OPPOSITE.get(one) == other:
        entities = entity_of(here, EntityType.SITE), entity_of(there, EntityType.SITE)
        yield ReportError(ErrorKind.WRONG_LATERALITY, PART, Severity.CRITICAL, *entities)


def _one_sided(kind: ErrorKind, content: Content, name: str) -> ReportError:
    severity = Severity.MODERATE if content.normal else SEVERITY[content.gravity]
    if kind == ErrorKind.MISSING_SPECIMEN:
        return ReportError(kind, PART, severity, content.lead, None, name, specimen=name)
    return ReportError(kind, PART, severity, None, content.lead, "", name, specimen=name)


def _nearness(pair: SpecimenPair) -> float:
    """Nearness of the sites of two headings; 1 where one of them names none."""
    ref_place, cand_place = place_of(pair.reference.heading), place_of(pair.candidate.heading)
    for kind in _NUMBERED:
        ref_numbers, cand_numbers = (
            {n for k, n in place.numbers if k == kind} for place in (ref_place, cand_place)
        )
        if ref_numbers and cand_numbers and not ref_numbers & cand_numbers:
            return _OTHER_PLACE
    nodal = all(_NODES.search(side.heading) for side in (pair.reference, pair.candidate))
    if nodal and {_NODE} in (ref_place.sites, cand_place.sites):
        return 1.0
    return max(
        (site_closeness(a, b) for a in ref_place.sites for b in cand_place.sites), default=1.0
    )
