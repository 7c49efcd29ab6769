"""Specimens that changed places, and findings that stand with another one than in the reference."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from histoeval.concordance.diagnosis import Alike, diagnosis_closeness
from histoeval.concordance.diagnosis_errors import severity_of
from histoeval.concordance.evidence import ErrorKind, ReportError, Severity
from histoeval.concordance.specimens.content import IN_SITU, Content, contents_alike
from histoeval.concordance.specimens.matching import SpecimenSide
from histoeval.concordance.specimens.misnamed import PART, SEVERITY
from histoeval.concordance.specimens.sides import Sides
from histoeval.concordance.specimens.statements import moved_statements
from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import FindingFact
from histoeval.report import Entity
from histoeval.terms.catalogue import Behaviour, diagnosis_tree
from histoeval.terms.findings import findings as known_findings

_SAME, _NEARLY, _ALIKE = 0.8, 0.65, 0.45
_SWAPPED, _CROSSWISE = 0.7, 0.3
_TELLING = 2  # from this importance on, a finding that stands with another part is an error


def swapped_specimens(sides: Sides) -> dict[int, int]:
    """Parts whose contents changed places, each with the other."""
    ref, cand = sides.reference_sure, sides.candidate_sure
    found: dict[int, int] = {}
    for i, j in combinations(sides.clear, 2):
        if not {i, j} & found.keys() and _are_swapped(ref, cand, i, j):
            found |= {i: j, j: i}
    return found


def misplaced(sides: Sides, swapped: Mapping[int, int], alike: Alike) -> Iterator[ReportError]:
    """The errors of parts whose contents changed places, and of findings with another part."""
    pairs, ref = sides.matched.pairs, sides.reference_sure
    for i, j in swapped.items():
        if i < j:
            yield ReportError(
                ErrorKind.SWAPPED_SPECIMENS,
                PART,
                _severity_of_swap(ref[i], ref[j]),
                ref[i].lead,
                sides.candidate_sure[i].lead,
                pairs[i].name,
                pairs[j].name,
                specimen=f"{pairs[i].name} / {pairs[j].name}",
            )
    told: list[ReportError] = []
    for i in sides.clear:
        if i not in swapped:
            found = (*_moved_from(sides, i, alike), *_moved_words(sides, i))
            for error in sorted(found, key=lambda each: -each.severity):
                if not any(_is_told(error, each) for each in told):
                    told.append(error)
                    yield error


def _is_told(error: ReportError, known: ReportError) -> bool:
    """Whether an error is in the words of another, or about a part of them."""
    here, there = error.reference, known.reference
    if here is None or there is None:
        return False
    return error.words[0] == known.words[0] or (here.start < there.end and there.start < here.end)


def _severity_of_swap(one: Content, other: Content) -> Severity:
    if one.gravity != other.gravity or not _are_kin(one, other):
        return SEVERITY[max(one.gravity, other.gravity)]
    return Severity.MAJOR


def _are_kin(one: Content, other: Content) -> bool:
    """Whether one says in more or fewer words what the other says leads."""
    here, there = ({d.concept.id for d in c.facts.first if d.concept} for c in (one, other))
    tree = diagnosis_tree()
    return not here or not there or any(tree.are_kin(a, b) for a in here for b in there)


def _are_swapped(ref: Sequence[Content], cand: Sequence[Content], i: int, j: int) -> bool:
    """Whether each of two parts says what the other should."""
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


def _moved_from(sides: Sides, i: int, alike: Alike) -> Iterator[ReportError]:
    """What the reference says of one part, and the candidate only of others."""
    others = [j for j in sides.clear if j != i]
    for diagnosis in sides.reference_sure[i].facts.made:
        if diagnosis.hedged or not diagnosis.known or diagnosis.behaviour == Behaviour.NORMAL:
            continue
        if _makes(sides.candidate[i], diagnosis, alike, _ALIKE):
            continue
        for j in others:
            there = _makes(sides.candidate_sure[j], diagnosis, alike, _SAME)
            if there is None or _is_heading(there.entity, sides.matched.pairs[j].candidate):
                continue
            if not _makes(sides.reference[j], diagnosis, alike, _NEARLY):
                yield _moved(
                    sides, (i, diagnosis.entity), (j, there.entity), severity_of(diagnosis)
                )
                break
    if not sides.matched.divided:
        return
    for finding in sides.reference_sure[i].facts.findings:
        importance = known_findings()[finding.id].importance if finding.id else 0
        if importance < _TELLING or finding.denied or _has(sides.candidate[i], finding):
            continue
        for j in others:
            found = _has(sides.candidate_sure[j], finding)
            if found and not _has(sides.reference[j], finding):
                grave = importance > _TELLING
                severity = Severity.MAJOR if grave else Severity.MODERATE
                yield _moved(sides, (i, finding.entity), (j, found.entity), severity)
                break


def _is_heading(entity: Entity, side: SpecimenSide) -> bool:
    """Whether an entity is only what a specimen is called: nasal polyp."""
    return entity.text.casefold() in side.heading.casefold()


def _moved_words(sides: Sides, i: int) -> Iterator[ReportError]:
    """The clauses of one part that stand with others in the candidate, in their words."""
    if not sides.matched.divided:
        return
    others = [j for j in sides.clear if j != i]
    for here, j, there in moved_statements(sides, i, others):
        yield _moved(sides, (i, here.entity), (j, there.entity), here.severity)


def _moved(
    sides: Sides, here: tuple[int, Entity], there: tuple[int, Entity], severity: Severity
) -> ReportError:
    """The error of what stands with one part in the reference, and with another here."""
    (i, one), (j, other) = here, there
    first, second = sides.matched.pairs[i].name, sides.matched.pairs[j].name
    return ReportError(
        ErrorKind.MOVED_FINDING,
        PART,
        severity,
        one,
        other,
        f"{one.text} ({first})",
        f"{other.text} ({second})",
        specimen=f"{first} \u2192 {second}",
    )


def _makes(content: Content, diagnosis: Diagnosis, alike: Alike, least: float) -> Diagnosis | None:
    """The diagnosis of a part that is the same as another, or near enough."""
    best = max(
        content.facts.made,
        key=lambda each: diagnosis_closeness(diagnosis, each, alike),
        default=None,
    )
    if best is None or diagnosis_closeness(diagnosis, best, alike) < least:
        return None
    return best


def _has(content: Content, finding: FindingFact) -> FindingFact | None:
    return next(
        (each for each in content.facts.findings if each.id == finding.id and not each.denied), None
    )
