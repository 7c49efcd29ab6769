"""The site: the organ, and the place in it."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from histoeval.concordance.evidence import (
    NOT_MENTIONED,
    NOTHING_EXCUSED,
    ComparedPart,
    EntityMatch,
    ErrorKind,
    Excused,
    ReportError,
    Severity,
)
from histoeval.facts.facts import Facts
from histoeval.facts.lexical import distinct_values
from histoeval.facts.sampled import heading_sites, host_of, may_be_graft, tumour_sites
from histoeval.facts.specimens.text import Stretch, meeting
from histoeval.report import Entity, EntityType
from histoeval.terms.matching import NameMatch
from histoeval.terms.sites import (
    contains,
    find_operated,
    find_sites,
    is_everywhere,
    organ_of,
    share_specimens,
    site_closeness,
    site_tree,
)

_SAME_ORGAN, _OTHER_ORGAN = 0.5, 0.3
# The nearness of two parts of one organ, and what is left when one is put for the other
_SIBLINGS, _OTHER_PART = 0.6, 0.7
# The cost of a site that only the candidate mentions, and of all of them
_EXTRA_SITE, _MAX_EXTRA_SITES = 0.25, 0.5
_ONE_SILENT = 0.6  # what a site counts for that one of the two does not name


def compare_sites(
    reference: Facts, candidate: Facts, excused: Excused = NOTHING_EXCUSED
) -> ComparedPart:
    """Whether both are about the same organ, by name or by the diagnosis.

    The organ of each report is looked for in the other. Where one of them does not mention it
    there is nothing to compare; that it was omitted is an error, not a contradiction.
    """
    values = [
        value
        for one, other in ((reference, candidate), (candidate, reference))
        if (value := _found_in(one, other)) is not None
    ]
    if not values:
        return _one_silent(reference, candidate, excused)
    value = sum(values) / len(values)
    matched = tuple(_matched(reference, candidate))
    if (moved := _other_part(reference, candidate)) is not None:
        return ComparedPart(value if excused(moved) else value * _OTHER_PART, matched, (moved,))
    if value >= _OTHER_ORGAN or matched:
        return ComparedPart(value, matched)
    if _anywhere(reference, candidate):
        return ComparedPart(_ONE_SILENT)
    wrong = _wrong(reference, candidate)
    return ComparedPart(1.0 if excused(wrong) else value, (), (wrong,))


def with_specimen(
    site: ComparedPart, reference: Facts, candidate: Facts, excused: Excused = NOTHING_EXCUSED
) -> ComparedPart:
    """The site; less where the reports do not say the same of what was sampled."""
    wrong = next(_other_specimen(reference, candidate), None)
    if wrong is None or any(each.kind == ErrorKind.WRONG_SITE for each in site.mistakes):
        return site
    value = 1.0 if site.value is None else site.value
    left = value if excused(wrong) else value * _OTHER_PART
    return ComparedPart(left, site.matched, (*site.mistakes, wrong))


def _other_specimen(reference: Facts, candidate: Facts) -> Iterator[ReportError]:
    """What both reports say was sampled, where they do not say the same."""
    here, there = reference.stated.text, candidate.stated.text
    for ref, cand in (
        (_sampled(reference), _sampled(candidate)),
        (tumour_sites(here), tumour_sites(there)),
    ):
        if (
            (ref and cand)
            and all(_are_apart(one.id, other.id) for one in ref for other in cand)
            and not _is_named(ref, candidate)
            and not _is_named(cand, reference)
        ):
            spans = [(each[0].start, each[0].end) for each in (ref, cand)]
            yield _wrong_specimen(reference, candidate, *spans)
    hosts = host_of(here), host_of(there)
    kinds = {each[0] for each in hosts if each}
    graft = kinds == {"graft"} and None in hosts
    if len(kinds) == 2 or (graft and not (may_be_graft(here) and may_be_graft(there))):
        yield _wrong_specimen(reference, candidate, *(each[1] if each else None for each in hosts))


def _sampled(facts: Facts) -> list[NameMatch]:
    """The sites that a report names before its diagnosis; regions only where no organ is named."""
    verdict = min((each.entity.start for each in (*facts.made, *facts.denied)), default=0)
    named = [each for each in heading_sites(facts.stated.text) if each.end <= verdict]
    return [each for each in named if not is_everywhere(each.id)] or named


def _is_named(sites: Sequence[NameMatch], facts: Facts) -> bool:
    """Whether a report names one of some sites, or a part of it, other than in a diagnosis."""
    spans = tuple((each.entity.start, each.entity.end) for each in facts.made)
    named = _named_outside(facts.stated.text, spans)
    return any(site_tree().is_a(name, site.id) for name in named for site in sites)


@lru_cache(maxsize=1 << 6)
def _named_outside(text: str, diagnoses: tuple[Stretch, ...]) -> frozenset[str]:
    """The sites that a text names outside of some stretches."""
    meets = meeting(diagnoses)
    found = (*find_sites(text), *find_operated(text))
    return frozenset(match.id for match in found if not meets(match.start, match.end))


def _are_apart(one: str, other: str) -> bool:
    """Whether two sites are clearly not the same: neither is a part of the other, or lies over it.

    Skin, muscle, bone, nerves, vessels and nodes are named after the region that they are in.
    """
    if contains(one, other):
        return False
    organs = {organ_of(one), organ_of(other)}
    if len(organs) == 1:
        return True
    everywhere = is_everywhere(one) or is_everywhere(other)
    return not everywhere and not share_specimens(*organs)


def _wrong_specimen(
    reference: Facts,
    candidate: Facts,
    ref: tuple[int, int] | None,
    cand: tuple[int, int] | None,
) -> ReportError:
    entities = _mention(reference, ref), _mention(candidate, cand)
    return ReportError(ErrorKind.WRONG_SITE, "site", Severity.MAJOR, *entities)


def _mention(facts: Facts, span: tuple[int, int] | None) -> Entity | None:
    """The site at a place as it was read, or else the words themselves."""
    if span is None:
        return None
    for site in facts.sites:
        if site.entity.start < span[1] and span[0] < site.entity.end:
            return site.entity
    start, end = span
    words = facts.stated.text[start:end]
    return Entity(text=words, start=start, end=end, type=EntityType.SITE, score=0.5)


def _other_part(reference: Facts, candidate: Facts) -> ReportError | None:
    """The specimen is from another part of the organ, where each report names just one."""
    ref, cand = (_parts(facts) for facts in (reference, candidate))
    if len(ref) != 1 or len(cand) != 1:
        return None
    (here, one), (there, other) = *ref.items(), *cand.items()
    apart = organ_of(here) == organ_of(there) and not contains(here, there)
    if not apart or site_closeness(here, there) != _SIBLINGS:
        return None
    named = (here, candidate), (there, reference)
    if any(
        contains(part, site)
        for part, facts in named
        for site in facts.organs
        if site != organ_of(part)
    ):
        return None
    return ReportError(ErrorKind.WRONG_SITE, "site", Severity.MAJOR, one, other)


def _parts(facts: Facts) -> dict[str, Entity]:
    """The parts of organs that a report names before its diagnosis: where the specimen is from."""
    verdict = min((each.entity.start for each in facts.made), default=0)
    first = [each for each in facts.sites if each.entity.end <= verdict]
    return {each.value: each.entity for each in first if organ_of(each.value) != each.value}


def _anywhere(reference: Facts, candidate: Facts) -> bool:
    """Whether one of the organs that a report names, or its diagnoses imply, is the other's."""
    ref, cand = ({*facts.organs, *facts.homes} for facts in (reference, candidate))
    return any(_near(one, other) >= _SAME_ORGAN for one in ref for other in cand)


def same_named(reference: Facts, candidate: Facts) -> bool:
    """Whether one names all sites that the other names, whatever their diagnoses imply."""
    ref, cand = set(reference.organs), set(candidate.organs)
    return bool(ref and cand) and (ref <= cand or cand <= ref)


def _found_in(one: Facts, other: Facts) -> float | None:
    """How near the organ of one report comes to those of the other."""
    there = other.homes or other.organs
    if not there:
        return None
    if one.homes:
        return max(_near(home, site) for home in one.homes for site in there)
    if not one.organs:
        return None
    most = max(one.organs.values())
    return max(
        _near(site, place) * min(1.0, 0.5 + 0.5 * count / most)
        for site, count in one.organs.items()
        for place in there
    )


def _near(one: str, other: str) -> float:
    """Nearness of organs: within one organ, a part is as good as the whole."""
    near = site_closeness(one, other)
    return 1.0 if near >= _SAME_ORGAN and organ_of(one) == organ_of(other) else near


def _one_silent(reference: Facts, candidate: Facts, excused: Excused) -> ComparedPart:
    """Nothing to compare: both are silent, or only one says where it is."""
    located = [bool(facts.organs or facts.homes) for facts in (reference, candidate)]
    if not any(located):
        return NOT_MENTIONED
    missed = tuple(
        ReportError(ErrorKind.OMISSION, "site", Severity.MINOR, site.entity, None)
        for site in reference.sites[:1]
    )
    free = located[0] and any(excused(mistake) for mistake in missed)
    return ComparedPart(1.0 if free else _ONE_SILENT, (), missed if located[0] else ())


def _matched(reference: Facts, candidate: Facts) -> Iterable[EntityMatch]:
    """Each site of the reference with the nearest one of the candidate."""
    for ref in distinct_values(reference.sites):
        best = max(
            candidate.sites, key=lambda cand: site_closeness(ref.value, cand.value), default=None
        )
        if best and (value := site_closeness(ref.value, best.value)) >= _SAME_ORGAN:
            yield EntityMatch("site", ref.entity, best.entity, value)


def _wrong(reference: Facts, candidate: Facts) -> ReportError:
    ref = reference.sites[0].entity if reference.sites else _first_diagnosis(reference)
    cand = candidate.sites[0].entity if candidate.sites else _first_diagnosis(candidate)
    both = reference.organs and candidate.organs and ref is not None and cand is not None
    severity = Severity.CRITICAL if both else Severity.MODERATE
    return ReportError(ErrorKind.WRONG_SITE, "site", severity, ref, cand)


def _first_diagnosis(facts: Facts) -> Entity | None:
    return facts.diagnoses[0].entity if facts.diagnoses else None


def extra_sites(
    reference: Facts, candidate: Facts, excused: Excused = NOTHING_EXCUSED
) -> ComparedPart:
    """What is left after sites that only the candidate mentions, where both name some."""
    known = {*reference.organs, *reference.homes}
    if not known or not candidate.sites:
        return NOT_MENTIONED
    known |= {site.value for site in reference.sites}
    mistakes = tuple(
        ReportError(ErrorKind.INVENTION, "no_inventions", Severity.MODERATE, None, site.entity)
        for site in distinct_values(candidate.sites)
        if max(site_closeness(site.value, other) for other in known) < _SAME_ORGAN
        and site.value in candidate.organs
        and not reference.stated.has_word_of(site.entity.text)
    )
    cost = _EXTRA_SITE * sum(not excused(mistake) for mistake in mistakes)
    return ComparedPart(1 - min(_MAX_EXTRA_SITES, cost), (), mistakes)
