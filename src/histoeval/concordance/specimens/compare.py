"""Two reports compared specimen by specimen.

Where both are written part by part, facts are compared within the parts that match, and what stands
outside of the parts as a whole. A report in prose is compared as a whole; but where its sentences
name the sites of the other's parts, a finding that stands with the wrong one is found all the same.
Where both are in prose, they are compared as wholes, and what stands with another place in the
candidate than in the reference is found too. One part against one part is compared as ever.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from histoeval.concordance.compare import compare
from histoeval.concordance.diagnosis import Alike
from histoeval.concordance.evidence import (
    NONE_IGNORED,
    NOT_MENTIONED,
    ComparedPart,
    EntityMatch,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
    without_errors,
)
from histoeval.concordance.specimens.content import IN_SITU, Content, said_in, specimen_contents
from histoeval.concordance.specimens.matching import (
    MatchedSpecimens,
    SpecimenPair,
    SpecimenSide,
    match_prose,
    match_specimens,
)
from histoeval.concordance.specimens.moved_findings import (
    PART,
    moved_findings,
    on_other_side,
    swapped_specimens,
    unmatched_specimens,
)
from histoeval.facts.facts import Facts
from histoeval.facts.lexical import lexical_facts
from histoeval.facts.scope import stance_at
from histoeval.facts.specimens.text import Span, meeting, only
from histoeval.report import Assertion, Entity, EntityType
from histoeval.terms.values.laterality import Side

# How much the worst part pulls all of them down, by how grave its content is
_IMPORTANCE = (0.5, 0.6, 0.85, 1.0, 1.0)
# What is wrong of necessity where two parts are swapped
_PLACED = ("site", "laterality", "no_inventions")
# What is said outside of the parts is not said of each of them
_GLOBAL = frozenset({EntityType.DIAGNOSIS, EntityType.SITE, EntityType.PROCEDURE})


def compare_reports(
    reference: Facts, candidate: Facts, alike: Alike, ignored: IgnoredErrors = NONE_IGNORED
) -> Mapping[str, ComparedPart]:
    if reference.report is candidate.report:
        return compare(reference, candidate, alike, ignored)
    matched = match_specimens(reference.report.text, candidate.report.text)
    if matched is None:
        return _compare_prose(reference, candidate, alike, ignored)
    contents = specimen_contents(reference, candidate, matched)
    ref, cand = contents.reference, contents.candidate
    swapped = swapped_specimens(contents)
    errors = [
        *unmatched_specimens(matched, ref, cand),
        *on_other_side(matched, reference.report, candidate.report),
        *moved_findings(contents, swapped, alike),
    ]
    if matched.divided:
        # Specimens that were swapped count as if they were not: that is one error
        pairs = tuple(
            replace(pair, candidate=matched.pairs[swapped[i]].candidate, swapped=True)
            if i in swapped
            else pair
            for i, pair in enumerate(matched.pairs)
        )
        crossed = replace(matched, pairs=pairs)
        parts = _by_specimen(reference, candidate, crossed, (ref, cand), alike, ignored)
    else:
        parts = _in_prose(reference, candidate, matched, (ref, cand), alike, ignored)
    headings = tuple(
        EntityMatch(PART, ref_content.head, cand_content.head, 1.0, pair.name)
        for pair, ref_content, cand_content in zip(
            matched.pairs, contents.reference_sure, contents.candidate_sure, strict=True
        )
        if ref_content.head and cand_content.head
    )
    return with_errors(parts, errors, headings, ignored)


def _compare_prose(
    reference: Facts, candidate: Facts, alike: Alike, ignored: IgnoredErrors
) -> Mapping[str, ComparedPart]:
    """Two reports that are not written part by part, and what stands with another place in one."""
    parts = compare(reference, candidate, alike, ignored)
    matched = match_prose(reference.report.text, candidate.report.text)
    if matched is None:
        return parts
    contents = specimen_contents(reference, candidate, matched)
    errors = [*moved_findings(contents, swapped_specimens(contents), alike)]
    return with_errors(parts, errors, (), ignored) if errors else parts


def _with_common(facts: Facts, side: SpecimenSide, common: tuple[Span, ...]) -> Facts:
    """Facts of a part, with the details that the report gives for all of them."""
    report, own = facts.report, side.spans
    part = said_in(report, own)
    if not common:
        return part
    rest = said_in(report, common)
    return replace(
        part,
        grades=(*part.grades, *rest.grades),
        stages=(*part.stages, *rest.stages),
        markers={**rest.markers, **part.markers},
        findings=(*part.findings, *rest.findings),
        mentioned=(*part.mentioned, *rest.mentioned),
        measurements=(*part.measurements, *rest.measurements),
        stated=lexical_facts(only(report, (*own, *common)).text),
    )


def _inside(entity: Entity, spans: Iterable[Span]) -> bool:
    return any(start <= entity.start < end for start, end in spans)


def _in_prose(
    reference: Facts,
    candidate: Facts,
    matched: MatchedSpecimens,
    contents: tuple[Sequence[Content], Sequence[Content]],
    alike: Alike,
    ignored: IgnoredErrors,
) -> dict[str, ComparedPart]:
    """The reports as wholes; what they say of different specimens is no difference.

    Where the prose speaks of every specimen, only what is wrong in both views counts: as a whole,
    a specimen is set against another; specimen by specimen, a sentence may count for the wrong one.
    """
    parts = _as_wholes(reference, candidate, matched, alike, ignored)
    if not all(pair.reference.known and pair.candidate.known for pair in matched.pairs):
        return parts
    apart = _by_specimen(reference, candidate, matched, contents, alike, ignored)
    wrong = [error for part in apart.values() for error in part.mistakes]
    return {name: in_both_views(part, apart[name], wrong) for name, part in parts.items()}


def _as_wholes(
    reference: Facts,
    candidate: Facts,
    matched: MatchedSpecimens,
    alike: Alike,
    ignored: IgnoredErrors,
) -> dict[str, ComparedPart]:
    first = compare(reference, candidate, alike, ignored)
    across = frozenset(
        error
        for part in first.values()
        for error in part.mistakes
        if _is_across(error, matched.pairs)
    )
    parts = dict(first)
    if across:
        parts = {
            name: without_errors(part, IgnoredErrors(across))
            for name, part in compare(
                reference, candidate, alike, IgnoredErrors(ignored.errors | across)
            ).items()
        }
    sides = [{mention.value for mention in facts.sides} for facts in (reference, candidate)]
    if all(side_values >= {Side.LEFT, Side.RIGHT} for side_values in sides):
        parts["laterality"] = replace(parts["laterality"], value=1.0, mistakes=())
    return parts


def _is_across(error: ReportError, pairs: Sequence[SpecimenPair]) -> bool:
    """True if an error sets what is said of one specimen against what is said of another."""
    if error.reference is None or error.candidate is None:
        return False
    ref_specimens = [
        i for i, pair in enumerate(pairs) if _inside(error.reference, pair.reference.sure)
    ]
    if error.part == "laterality":  # a side above several parts is of those below it
        return bool(ref_specimens) and not any(
            _inside(error.candidate, pairs[i].candidate.spans) for i in ref_specimens
        )
    cand_specimens = [
        i for i, pair in enumerate(pairs) if _inside(error.candidate, pair.candidate.sure)
    ]
    return bool(ref_specimens and cand_specimens) and not set(ref_specimens) & set(cand_specimens)


def _by_specimen(
    reference: Facts,
    candidate: Facts,
    matched: MatchedSpecimens,
    contents: tuple[Sequence[Content], Sequence[Content]],
    alike: Alike,
    ignored: IgnoredErrors,
) -> dict[str, ComparedPart]:
    """The parts of the comparison within each pair of specimens, and of all of them together."""
    views: list[tuple[float, Mapping[str, ComparedPart]]] = []
    for pair, ref, cand in zip(matched.pairs, *contents, strict=True):
        if pair.reference.known and pair.candidate.known:
            ref_facts = _with_common(reference, pair.reference, matched.reference_common)
            cand_facts = _with_common(candidate, pair.candidate, matched.candidate_common)
            compared = _without_common(ref_facts, cand_facts, pair, alike, ignored)
            if pair.swapped:
                compared |= dict.fromkeys(_PLACED, NOT_MENTIONED)
            gravity = max(ref.gravity, cand.gravity)
            views.append((_IMPORTANCE[gravity], by_severity(by_gravity(compared, gravity))))
    views.append((_IMPORTANCE[0], _common(reference, candidate, matched, alike, ignored)))
    names = views[-1][1]
    return {name: together([(weight, view[name]) for weight, view in views]) for name in names}


def _without_common(
    reference: Facts, candidate: Facts, pair: SpecimenPair, alike: Alike, ignored: IgnoredErrors
) -> dict[str, ComparedPart]:
    """One part against one part; what is wrong outside of it is counted elsewhere, and once."""
    own = pair.reference.spans, pair.candidate.spans

    def is_own(error: ReportError) -> bool:
        return any(
            entity is not None and _inside(entity, spans)
            for entity, spans in zip((error.reference, error.candidate), own, strict=True)
        )

    first = compare(reference, candidate, alike, ignored)
    elsewhere = frozenset(
        error
        for part in first.values()
        for error in part.mistakes
        if not is_own(error) or says_the_same(error, reference, candidate)
    )
    parts = first
    if elsewhere:
        parts = compare(reference, candidate, alike, IgnoredErrors(ignored.errors | elsewhere))
    return {
        name: ComparedPart(
            part.value,
            tuple(replace(match, specimen=pair.name) for match in part.matched),
            tuple(
                replace(error, specimen=pair.name)
                for error in part.mistakes
                if is_own(error) and not says_the_same(error, reference, candidate)
            ),
        )
        for name, part in parts.items()
    }


def _common(
    reference: Facts,
    candidate: Facts,
    matched: MatchedSpecimens,
    alike: Alike,
    ignored: IgnoredErrors,
) -> dict[str, ComparedPart]:
    """The reports as wholes, as far as what is outside of the parts is wrong."""
    common = matched.reference_common, matched.candidate_common

    def is_common(error: ReportError) -> bool:
        return all(
            entity is None or (_inside(entity, spans) and entity.type not in _GLOBAL)
            for entity, spans in zip((error.reference, error.candidate), common, strict=True)
        )

    first = compare(reference, candidate, alike, ignored)
    inside = frozenset(
        error for part in first.values() for error in part.mistakes if not is_common(error)
    )
    parts = compare(reference, candidate, alike, IgnoredErrors(ignored.errors | inside))
    return {
        name: ComparedPart(
            part.value if any(map(is_common, first[name].mistakes)) else None,
            (),
            tuple(filter(is_common, first[name].mistakes)),
        )
        for name, part in parts.items()
    }


# Errors that a reader makes who overlooks a phrase
_MISSED = frozenset(
    {ErrorKind.OMISSION, ErrorKind.INVENTION, ErrorKind.WRONG_DIAGNOSIS, ErrorKind.UNDERCALL}
)
_ONE_SIDED = frozenset({ErrorKind.OMISSION, ErrorKind.INVENTION})
_POSITIVE_NODES = re.compile(
    r"\bnod(?:es?|al)\b[^.\n]{0,60}?\b(?:[1-9]\d? ?(?:/|of|out of) ?\d{1,2}\b|[1-9]\d? positive)"
    r"|\b[1-9]\d? ?(?:/|of|out of) ?\d{1,2} (?:lymph )?nodes?\b",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.;](?=\s|\Z)|\n")


def says_the_same(error: ReportError, reference: Facts, candidate: Facts) -> bool:
    """True if each report has the very words of the other in this error, or their meaning."""
    ref_entity, cand_entity = error.reference, error.candidate
    if _has_sentence(candidate, reference, ref_entity) and _has_sentence(
        reference, candidate, cand_entity
    ):
        return True
    if _counts_positive(candidate, ref_entity) or _counts_positive(reference, cand_entity):
        return error.kind in _ONE_SIDED or error.part == "spread"
    return error.kind in _MISSED and (
        _has_words(candidate, ref_entity) or _has_words(reference, cand_entity)
    )


# Where the statements of a text end, which is asked for by each error of a pair
_stops = lru_cache(maxsize=1 << 4)(lambda text: [stop.end() for stop in _STOP.finditer(text)])


def _has_sentence(facts: Facts, own: Facts, entity: Entity | None) -> bool:
    """True if a report has the very sentence that an entity of the other stands in."""
    if entity is None:
        return True
    text = own.stated.text
    stops = _stops(text)
    before = bisect_right(stops, entity.start)
    start = stops[before - 1] if before else 0
    if text[max(0, entity.start - 1) : entity.start] in (".", ";"):
        start = entity.start
    stop = _STOP.search(text, entity.end)
    sentence = text[start : stop.start() if stop else len(text)]
    return bool(sentence.strip()) and _folded(sentence) in _folded(facts.stated.text)


@lru_cache(maxsize=1 << 6)
def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _counts_positive(facts: Facts, entity: Entity | None) -> bool:
    """True if a report has nodes with tumour by their number, as the other has by name."""
    return (
        entity is not None
        and entity.assertion == Assertion.PRESENT
        and "metasta" in entity.text.casefold()
        and bool(_POSITIVE_NODES.search(facts.report.text))
    )


def _has_words(facts: Facts, entity: Entity | None) -> bool:
    """True if a report has the words of an entity of the other, and denies them as that does."""
    at = facts.stated.text.lower().find(entity.text.lower()) if entity else -1
    if entity is None or at < 0:
        return False
    stance = stance_at(facts.stated.text, at, at + len(entity.text))
    return (stance is False) == (entity.assertion == Assertion.ABSENT)


# What an error between the parts leaves of the parts that it concerns
_LEFT = {
    Severity.CRITICAL: 0.35,
    Severity.MAJOR: 0.65,
    Severity.MODERATE: 0.94,
    Severity.MINOR: 0.98,
}
_CONCERNED = ("diagnosis", "behaviour", "completeness", "soundness")
_WORDED = (*_CONCERNED, "site", "spread")
_PLACING = ("site", "laterality")
# How much of what is lost in one part counts, by its worst error
_SHARE = (0.1, 0.1, 0.3, 1.0, 1.0)


def by_gravity(parts: Mapping[str, ComparedPart], gravity: int) -> dict[str, ComparedPart]:
    """A part of a report; the wrong side of what is benign is not critical."""
    if gravity >= IN_SITU:
        return dict(parts)
    placed = {
        name: replace(
            parts[name],
            mistakes=tuple(
                replace(error, severity=min(error.severity, Severity.MAJOR))
                for error in parts[name].mistakes
            ),
        )
        for name in _PLACING
    }
    return {**parts, **placed}


def by_severity(parts: Mapping[str, ComparedPart]) -> dict[str, ComparedPart]:
    """A part of a report; other words for what is benign in it cost less than a grave error."""
    share = _SHARE[max((e.severity for part in parts.values() for e in part.mistakes), default=0)]
    return {
        name: replace(part, value=1 - share * (1 - part.value))
        if name in _WORDED and part.value is not None
        else part
        for name, part in parts.items()
    }


def together(parts: Sequence[tuple[float, ComparedPart]]) -> ComparedPart:
    """One value of several: their mean, pulled down by the worst, so that many do not hide one."""
    valued = [(weight, part.value) for weight, part in parts if part.value is not None]
    matched = tuple(match for _, part in parts for match in part.matched)
    mistakes = tuple(mistake for _, part in parts for mistake in part.mistakes)
    if not valued:
        return ComparedPart(None, matched, mistakes)
    lost = sum(weight * (1 - value) for weight, value in valued) / sum(w for w, _ in valued)
    worst = max(weight * (1 - value) for weight, value in valued)
    return ComparedPart(1 - (lost + worst) / 2, matched, mistakes)


def in_both_views(
    whole: ComparedPart, apart: ComparedPart, wrong: Sequence[ReportError]
) -> ComparedPart:
    """A part of the comparison of two wholes, as far as it is `wrong` specimen by specimen too."""
    if whole.value is None or apart.value is None:
        return whole
    meets_reference = meeting((e.reference.start, e.reference.end) for e in wrong if e.reference)
    meets_candidate = meeting((e.candidate.start, e.candidate.end) for e in wrong if e.candidate)
    mistakes = tuple(
        error
        for error in whole.mistakes  # about the same words of one of the reports
        if (error.reference and meets_reference(error.reference.start, error.reference.end))
        or (error.candidate and meets_candidate(error.candidate.start, error.candidate.end))
    )
    return ComparedPart(max(whole.value, apart.value), whole.matched, mistakes)


def with_errors(
    parts: Mapping[str, ComparedPart],
    errors: Sequence[ReportError],
    beside: tuple[EntityMatch, ...],
    ignored: IgnoredErrors,
) -> dict[str, ComparedPart]:
    """The parts with the errors between specimens, and less for those that these concern."""
    left = 1.0
    for severity in sorted((e.severity for e in errors if not ignored(e)), reverse=True):
        left *= _LEFT[severity] if left == 1.0 else _LEFT[severity] ** 0.5
    moved = {
        (entity.start, entity.end, at)
        for error in errors
        if error.kind in (ErrorKind.MOVED_FINDING, ErrorKind.SWAPPED_SPECIMENS)
        for at, entity in enumerate((error.reference, error.candidate))
        if entity
    }

    def is_moved(error: ReportError) -> bool:
        return any(
            entity is not None and (entity.start, entity.end, at) in moved
            for at, entity in enumerate((error.reference, error.candidate))
        )

    compared = dict(parts)
    for name in _CONCERNED:
        part = parts[name]
        value = None if part.value is None else part.value * left
        mistakes = tuple(error for error in part.mistakes if not is_moved(error))
        compared[name] = ComparedPart(value, part.matched, mistakes)
    return {**compared, PART: ComparedPart(left, beside, tuple(errors))}
