"""The site: the organ, and the place in it."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from histoeval.concordance.evidence import (
    NONE_IGNORED,
    NOT_MENTIONED,
    ComparedPart,
    EntityMatch,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
)
from histoeval.facts.facts import Facts
from histoeval.facts.lexical import ValueMention, distinct_values
from histoeval.facts.sampled import heading_sites, host_of, may_be_graft, tumour_sites
from histoeval.facts.specimens.text import Span, meeting
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
from histoeval.terms.values.laterality import Side, side_of

_SAME_ORGAN, _OTHER_ORGAN = 0.5, 0.3
# The nearness of two parts of one organ, and what is left when one is put for the other
_SIBLINGS, _OTHER_PART = 0.6, 0.7
# The cost of a site that only the candidate mentions, and of all of them
_EXTRA_SITE, _MAX_EXTRA_SITES = 0.25, 0.5
_ONE_SILENT = 0.6  # what a site counts for that one of the two does not name


def compare_sites(reference: Facts, candidate: Facts, ignored: IgnoredErrors) -> ComparedPart:
    """Compare the organ, by name or by the diagnosis.

    The organ of each report is looked for in the other. Where one of them does not mention it
    there is nothing to compare; that it was omitted is an error, not a contradiction.
    """
    values = [
        value
        for one, other in ((reference, candidate), (candidate, reference))
        if (value := _found_in(one, other)) is not None
    ]
    if not values:  # both are silent, or only one says where it is
        located = [bool(facts.organs or facts.homes) for facts in (reference, candidate)]
        if not any(located):
            return NOT_MENTIONED
        missed = tuple(
            ReportError(ErrorKind.OMISSION, "site", Severity.MINOR, site.entity, None)
            for site in reference.sites[: int(located[0])]
        )
        return ComparedPart(1.0 if any(map(ignored, missed)) else _ONE_SILENT, (), missed)
    value = sum(values) / len(values)
    matched = tuple(_matched(reference, candidate))
    if (moved := _other_part(reference, candidate)) is not None:
        return ComparedPart(value if ignored(moved) else value * _OTHER_PART, matched, (moved,))
    if value >= _OTHER_ORGAN or matched:
        return ComparedPart(value, matched)
    # One of the organs that a report names, or its diagnoses imply, may be the other's
    organs, others = ({*facts.organs, *facts.homes} for facts in (reference, candidate))
    if any(_near(one, other) >= _SAME_ORGAN for one in organs for other in others):
        return ComparedPart(_ONE_SILENT)
    ref, cand = (
        next(iter([*(s.entity for s in facts.sites), *(d.entity for d in facts.diagnoses)]), None)
        for facts in (reference, candidate)
    )
    both = reference.organs and candidate.organs and ref is not None and cand is not None
    severity = Severity.CRITICAL if both else Severity.MODERATE
    wrong = ReportError(ErrorKind.WRONG_SITE, "site", severity, ref, cand)
    return ComparedPart(1.0 if ignored(wrong) else value, (), (wrong,))


def with_specimen(
    site: ComparedPart, reference: Facts, candidate: Facts, ignored: IgnoredErrors
) -> ComparedPart:
    """The site; less where the reports do not say the same of what was sampled."""
    wrong = next(_other_specimen(reference, candidate), None)
    if wrong is None or any(error.kind == ErrorKind.WRONG_SITE for error in site.mistakes):
        return site
    value = 1.0 if site.value is None else site.value
    left = value if ignored(wrong) else value * _OTHER_PART
    return ComparedPart(left, site.matched, (*site.mistakes, wrong))


def _other_specimen(reference: Facts, candidate: Facts) -> Iterator[ReportError]:
    """Yield an error where the sampled sites disagree."""
    reference_text, candidate_text = reference.stated.text, candidate.stated.text

    def wrong(ref: tuple[int, int] | None, cand: tuple[int, int] | None) -> ReportError:
        entities = _mention(reference, ref), _mention(candidate, cand)
        return ReportError(ErrorKind.WRONG_SITE, "site", Severity.MAJOR, *entities)

    for ref, cand in (
        (_sampled(reference), _sampled(candidate)),
        (tumour_sites(reference_text), tumour_sites(candidate_text)),
    ):
        if (
            (ref and cand)
            and all(_are_apart(ref_site.id, cand_site.id) for ref_site in ref for cand_site in cand)
            and not _is_named(ref, candidate)
            and not _is_named(cand, reference)
        ):
            yield wrong((ref[0].start, ref[0].end), (cand[0].start, cand[0].end))
    hosts = host_of(reference_text), host_of(candidate_text)
    kinds = {host[0] for host in hosts if host}
    graft = kinds == {"graft"} and None in hosts
    if len(kinds) == 2 or (
        graft and not (may_be_graft(reference_text) and may_be_graft(candidate_text))
    ):
        yield wrong(*(host[1] if host else None for host in hosts))


def _sampled(facts: Facts) -> list[NameMatch]:
    """The sites that a report names before its diagnosis; regions only where no organ is named."""
    verdict = min((d.entity.start for d in (*facts.made, *facts.denied)), default=0)
    heading = [site for site in heading_sites(facts.stated.text) if site.end <= verdict]
    return [site for site in heading if not is_everywhere(site.id)] or heading


def _is_named(sites: Sequence[NameMatch], facts: Facts) -> bool:
    """True if a report names one of some sites, or a part of it, other than in a diagnosis."""
    spans = tuple((d.entity.start, d.entity.end) for d in facts.made)
    named = _named_outside(facts.stated.text, spans)
    return any(site_tree().is_a(name, site.id) for name in named for site in sites)


@lru_cache(maxsize=1 << 6)
def _named_outside(text: str, diagnoses: tuple[Span, ...]) -> frozenset[str]:
    meets = meeting(diagnoses)
    mentions = (*find_sites(text), *find_operated(text))
    return frozenset(match.id for match in mentions if not meets(match.start, match.end))


def _are_apart(first: str, second: str) -> bool:
    """True if two sites are clearly not the same: neither is a part of the other, or lies over it.

    Skin, muscle, bone, nerves, vessels and nodes are named after the region that they are in.
    """
    if contains(first, second):
        return False
    organs = {organ_of(first), organ_of(second)}
    if len(organs) == 1:
        return True
    everywhere = is_everywhere(first) or is_everywhere(second)
    return not everywhere and not share_specimens(*organs)


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
    verdict = min((d.entity.start for d in facts.made), default=0)
    first = [site for site in facts.sites if site.entity.end <= verdict]
    return {site.value: site.entity for site in first if organ_of(site.value) != site.value}


def same_named(reference: Facts, candidate: Facts) -> bool:
    """True if one names all sites that the other names, whatever their diagnoses imply."""
    ref, cand = set(reference.organs), set(candidate.organs)
    return bool(ref and cand) and (ref <= cand or cand <= ref)


def _found_in(facts: Facts, other: Facts) -> float | None:
    there = other.homes or other.organs
    if not there:
        return None
    if facts.homes:
        return max(_near(home, site) for home in facts.homes for site in there)
    if not facts.organs:
        return None
    most = max(facts.organs.values())
    return max(
        _near(site, place) * min(1.0, 0.5 + 0.5 * count / most)
        for site, count in facts.organs.items()
        for place in there
    )


def _near(first: str, second: str) -> float:
    """Nearness of organs: within one organ, a part is as good as the whole."""
    near = site_closeness(first, second)
    return 1.0 if near >= _SAME_ORGAN and organ_of(first) == organ_of(second) else near


def _matched(reference: Facts, candidate: Facts) -> Iterable[EntityMatch]:
    """Each site of the reference with the nearest one of the candidate."""
    for ref in distinct_values(reference.sites):
        best = max(
            candidate.sites, key=lambda cand: site_closeness(ref.value, cand.value), default=None
        )
        if best and (value := site_closeness(ref.value, best.value)) >= _SAME_ORGAN:
            yield EntityMatch("site", ref.entity, best.entity, value)


def extra_sites(reference: Facts, candidate: Facts, ignored: IgnoredErrors) -> ComparedPart:
    """Part that is left after sites that only the candidate mentions, where both name some."""
    reference_sites = {*reference.organs, *reference.homes}
    if not reference_sites or not candidate.sites:
        return NOT_MENTIONED
    reference_sites |= {site.value for site in reference.sites}
    mistakes = tuple(
        ReportError(ErrorKind.INVENTION, "no_inventions", Severity.MODERATE, None, site.entity)
        for site in distinct_values(candidate.sites)
        if max(site_closeness(site.value, site_known) for site_known in reference_sites)
        < _SAME_ORGAN
        and site.value in candidate.organs
        and not reference.stated.has_word_of(site.entity.text)
    )
    cost = _EXTRA_SITE * sum(not ignored(mistake) for mistake in mistakes)
    return ComparedPart(1 - min(_MAX_EXTRA_SITES, cost), (), mistakes)


_ONE_OF_BOTH = 0.5


def compare_sides(
    reference: Facts, candidate: Facts, ignored: IgnoredErrors = NONE_IGNORED
) -> ComparedPart:
    """Left or right: of the leading diagnosis where both say, else organ by organ, else at all."""
    leading = _by_side(reference.leading_sides), _by_side(candidate.leading_sides)
    if all(leading):
        compared = _one_side(*leading, ignored)
        if compared.value != _ONE_OF_BOTH:
            return compared
        near, beside = _nearest_sides(reference), _nearest_sides(candidate)
        both = sorted(set(near) & set(beside))
        if not both:
            return compared
        sides = _by_side(near[c] for c in both), _by_side(beside[c] for c in both)
        return _one_side(*sides, ignored)
    ref, cand = _by_organ(reference.sides), _by_organ(candidate.sides)
    organs = sorted(set(ref) & set(cand))
    pairs = [(ref[organ], cand[organ]) for organ in organs] or [
        (_by_side(reference.sides), _by_side(candidate.sides))
    ]
    parts = [_one_side(*pair, ignored) for pair in pairs if all(pair)]
    if not parts:
        return _side_missing(reference, candidate)
    return ComparedPart(
        min(part.value for part in parts if part.value is not None),
        tuple(match for part in parts for match in part.matched),
        tuple(mistake for part in parts for mistake in part.mistakes),
    )


def _side_missing(reference: Facts, candidate: Facts) -> ComparedPart:
    """A side that the candidate does not name, though it names the site: told, not counted."""
    sides = _by_side(reference.sides)
    said = candidate.sides or side_of(candidate.stated.text)
    if len(sides) != 1 or said or not candidate.sites:
        return NOT_MENTIONED
    (entity,) = sides.values()
    return ComparedPart(
        None, (), (ReportError(ErrorKind.OMISSION, "laterality", Severity.MODERATE, entity, None),)
    )


def _nearest_sides(facts: Facts) -> dict[str, ValueMention[Side]]:
    """The side that stands next to each diagnosis, by its concept; before it rather than after."""
    nearest = {}
    for diagnosis in facts.diagnoses:
        before = [side for side in facts.sides if side.entity.start <= diagnosis.entity.start]
        if diagnosis.concept and facts.sides:
            nearest[diagnosis.concept.id] = before[-1] if before else facts.sides[0]
    return nearest


_Sides = dict[Side, Entity]


def _one_side(ref: _Sides, cand: _Sides, ignored: IgnoredErrors) -> ComparedPart:
    shared = sorted(set(ref) & set(cand))
    matched = tuple(EntityMatch("laterality", ref[side], cand[side], 1.0) for side in shared)
    if set(ref) == set(cand):
        return ComparedPart(1.0, matched)
    wrong = ReportError(
        ErrorKind.WRONG_LATERALITY,
        "laterality",
        _severity(ref, cand, bool(shared)),
        next((ref[side] for side in ref if side not in cand), next(iter(ref.values()))),
        next((cand[side] for side in cand if side not in ref), next(iter(cand.values()))),
    )
    value = 1.0 if ignored(wrong) else _ONE_OF_BOTH if shared else 0.0
    return ComparedPart(value, matched, (wrong,))


def _severity(ref: _Sides, cand: _Sides, shared: bool) -> Severity:
    """Severity of a wrong side; less where one report only says more of both sides."""
    if not shared:
        return Severity.CRITICAL
    both = any(sides.get(Side.LEFT) is sides.get(Side.RIGHT, 0) for sides in (ref, cand))
    return Severity.MODERATE if both else Severity.MAJOR


def _by_organ(sides: Iterable[ValueMention[Side]]) -> dict[str, _Sides]:
    organs: dict[str, list[ValueMention[Side]]] = {}
    for sited in sides:
        for match in find_sites(sited.entity.text):
            organs.setdefault(organ_of(match.id), []).append(sited)
    return {organ: _by_side(those) for organ, those in organs.items()}


def _by_side(sides: Iterable[ValueMention[Side]]) -> _Sides:
    by_side: _Sides = {}
    for sited in sides:
        both = (Side.LEFT, Side.RIGHT) if sited.value == Side.BILATERAL else (sited.value,)
        for side in both:
            by_side.setdefault(side, sited.entity)
    return by_side
