"""Spread: primary or metastatic, and from which organ a metastasis came."""

from collections.abc import Callable, Iterator, Sequence

from histoeval.concordance.diagnosis_errors import MATCHED
from histoeval.concordance.evidence import (
    ComparedPart,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
)
from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import Facts
from histoeval.facts.lexical import ValueMention
from histoeval.facts.spread import says_primary
from histoeval.terms.sites import organ_of, site_closeness

Near = Callable[[Diagnosis, Diagnosis], float]  # how near two diagnoses are, from 0 to 1

_SAME_ORGAN = 0.5
_MAX_HOMES = 3  # A tumour that arises in more organs than this does not tell where it came from


def best_of(
    one: Diagnosis, others: Sequence[Diagnosis], near: Near
) -> tuple[float, Diagnosis | None]:
    best = max(others, key=lambda other: near(one, other), default=None)
    return (near(one, best), best) if best is not None else (0.0, None)


def compare_spread(
    reference: Facts, candidate: Facts, near: Near, ignored: IgnoredErrors
) -> ComparedPart:
    """Primary or metastatic, and the primary, where one of the two speaks of spread."""
    if not any(d.spread for d in (*reference.leading, *candidate.leading)):
        return ComparedPart(None)
    pairs = [
        (ref, cand, value)
        for ref in reference.leading
        for value, cand in [best_of(ref, candidate.leading, near)]
        if cand is not None
    ]
    if not pairs:
        return ComparedPart(0.0)
    mistakes = tuple(_unlike(pairs, reference, candidate))
    wrong = sum(not ignored(mistake) for mistake in mistakes)
    value = (len(pairs) - min(wrong, len(pairs))) / len(pairs)
    if (strayed := _other_primary(reference, candidate)) is not None:
        mistakes = (*mistakes, strayed)
        value = value if ignored(strayed) else 0.0
    return ComparedPart(value, (), mistakes)


def _unlike(
    pairs: Sequence[tuple[Diagnosis, Diagnosis, float]], reference: Facts, candidate: Facts
) -> Iterator[ReportError]:
    """Diagnoses of which only one report says that they have spread.

    It is grave where the other calls them primary; else it may only have left it unsaid. Where the
    two are different diseases, one report has a metastasis that the other has not.
    """
    for ref, cand, value in pairs:
        if (ref.spread is None) == (cand.spread is None):
            continue
        silent, text = (cand, candidate.stated.text) if ref.spread else (ref, reference.stated.text)
        severity = Severity.MAJOR if says_primary(silent.entity, text) else Severity.MODERATE
        if value >= MATCHED:
            yield ReportError(ErrorKind.CONTRADICTION, "spread", severity, ref.entity, cand.entity)
        else:
            kind = ErrorKind.OMISSION if ref.spread else ErrorKind.INVENTION
            entity = (ref if ref.spread else cand).entity
            yield ReportError.one_sided(kind, "spread", severity, entity)


def _other_primary(reference: Facts, candidate: Facts) -> ReportError | None:
    """The primary of a metastasis, where both reports name one and not the same."""
    ref, cand = list(_origins(reference)), list(_origins(candidate))
    if not ref or not cand:
        return None
    nearest = max(
        1.0
        if organ_of(one.value) == organ_of(other.value)
        else site_closeness(one.value, other.value)
        for one in ref
        for other in cand
    )
    if nearest >= _SAME_ORGAN:
        return None
    return ReportError(
        ErrorKind.WRONG_SITE, "spread", Severity.CRITICAL, ref[0].entity, cand[0].entity
    )


def _origins(facts: Facts) -> Iterator[ValueMention[str]]:
    """Origins of a metastasis: as the report says, or as the name of the tumour says."""
    yield from facts.origins
    if facts.origins:
        return
    for diagnosis in facts.leading:
        primary = diagnosis.primary
        if diagnosis.spread and primary and len(primary.organs) <= _MAX_HOMES:
            yield from (ValueMention(diagnosis.entity, organ) for organ in sorted(primary.organs))
