"""What a report claims about its image: each claim with its span and a short visual phrase.

Diagnoses and findings are claims, with their descriptors, grade and site put into the phrase, and
so is a site that no asserted diagnosis carries. Denied and uncertain ones have such an `assertion`.
Stages, measurements, markers and procedures cannot be seen in an image of tissue, nor can margins
or masses; they are no claims, and `not_seen` says so for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.terms.sites import find_sites, organ_of
from histoeval.trust.grounding.phrases import (
    descriptor_words,
    grade_words,
    is_vague,
    name_of,
    noun_of,
    parted,
    tissue_of,
    visual,
    wording,
)
from histoeval.trust.results import Claim, ReportSpan

CLAIMED = (EntityType.DIAGNOSIS, EntityType.FINDING, EntityType.SITE)
"""The kinds of claims."""

_VAGUE = "vague"


class Claims(NamedTuple):
    """Claims by what the report says of them."""

    asserted: tuple[Claim, ...]
    denied: tuple[Claim, ...]
    uncertain: tuple[Claim, ...]


def claims_of(report: Report) -> tuple[Claim, ...]:
    """All claims of a report that a reader has read, in the order of its text, none twice."""
    read = [*_lesions(report), *_bare_sites(report)]
    first: dict[tuple[str, Assertion], Claim] = {}
    for claim in sorted(read, key=lambda claim: (claim.span.start, claim.span.end)):
        first.setdefault((claim.phrase, claim.assertion), claim)
    return tuple(first.values())


def sorted_claims(claims: Iterable[Claim]) -> Claims:
    """Claims that are asserted, denied and left open; absence cannot be grounded by presence."""
    by_assertion: dict[Assertion, list[Claim]] = {each: [] for each in Assertion}
    for claim in claims:
        by_assertion[claim.assertion].append(claim)
    return Claims(*(tuple(by_assertion[each]) for each in Assertion))


def not_seen(report: Report) -> tuple[str, ...]:
    """What of a report no patch of tissue can support, and why, human-readable."""
    reasons: dict[str, str] = wording()["apart"]
    kinds: dict[str, list[str]] = {kind: [] for kind in reasons}
    for entity in report.entities:
        if entity.type == EntityType.FINDING and is_vague(visual(parted(entity.text)[0])):
            kinds[_VAGUE].append(entity.text)
        elif entity.type.value in kinds:
            kinds[entity.type.value].append(entity.text)
    return tuple(
        f"not looked for in the image: {', '.join(dict.fromkeys(texts))} ({reasons[kind]})"
        for kind, texts in kinds.items()
        if texts
    )


def _lesions(report: Report) -> Iterator[Claim]:
    """Diagnoses and findings with what belongs to them."""
    for number, entity in enumerate(report.entities):
        if entity.type not in (EntityType.DIAGNOSIS, EntityType.FINDING):
            continue
        affirmed, denied = parted(entity.text)
        name = visual(affirmed)
        if not name or (entity.type == EntityType.FINDING and is_vague(name)):
            continue
        linked = _linked(report, number)
        phrase = (
            _diagnosis_phrase(name, linked)
            if entity.type == EntityType.DIAGNOSIS
            else _placed(noun_of(name), linked, "in the")
        )
        is_denied = denied and entity.assertion == Assertion.PRESENT
        yield _claim(entity, phrase, Assertion.ABSENT if is_denied else entity.assertion)


def _linked(report: Report, head: int) -> list[Entity]:
    tails = sorted({relation.tail for relation in report.relations if relation.head == head})
    return [report.entities[tail] for tail in tails]


def _claim(entity: Entity, phrase: str, assertion: Assertion) -> Claim:
    span = ReportSpan(text=entity.text, start=entity.start, end=entity.end)
    return Claim(span=span, type=entity.type, assertion=assertion, phrase=phrase)


def _diagnosis_phrase(name: str, linked: Sequence[Entity]) -> str:
    """Grade, descriptors, diagnosis and site: "low-grade serous carcinoma of the ovary"."""
    before = [grade_words(each.text) for each in linked if each.type == EntityType.GRADE]
    before += [descriptor_words(each.text) for each in linked if each.type == EntityType.DESCRIPTOR]
    words = dict.fromkeys(each for each in before if each and each not in name)
    return _placed(" ".join([*words, name]), linked, "of the")


def _placed(phrase: str, linked: Sequence[Entity], joint: str) -> str:
    """The phrase with the first tissue that is named for it, unless it names one itself."""
    if find_sites(phrase):
        return phrase
    tissues = [
        tissue
        for each in linked
        if each.type == EntityType.SITE
        if (tissue := tissue_of(each.text))
    ]
    return f"{phrase} {joint} {name_of(tissues[0])}" if tissues else phrase


def _bare_sites(report: Report) -> Iterator[Claim]:
    """Tissue of organs that no asserted diagnosis is of, each organ once.

    Fat, vessels and nerves are in every organ; where a finding is in them, they are no claim of
    their own.
    """
    carried = set(_carried(report))
    invaded = {
        relation.tail
        for relation in report.relations
        if report.entities[relation.head].type == EntityType.FINDING
    }
    for number, entity in enumerate(report.entities):
        tissue = tissue_of(entity.text) if entity.type == EntityType.SITE else None
        if tissue is None or entity.assertion != Assertion.PRESENT:
            continue
        if number in invaded and tissue in wording()["everywhere"]:
            continue
        if (organ := organ_of(tissue)) not in carried:
            carried.add(organ)
            name = name_of(tissue)
            phrase = name if name.endswith("tissue") else f"{name} tissue"
            yield _claim(entity, phrase, Assertion.PRESENT)


def _carried(report: Report) -> Iterator[str]:
    """The organs of diagnoses that are asserted."""
    for number, entity in enumerate(report.entities):
        if entity.type == EntityType.DIAGNOSIS and entity.assertion == Assertion.PRESENT:
            named = [each.text for each in _linked(report, number) if each.type == EntityType.SITE]
            for text in (entity.text, *named):
                yield from (organ_of(match.id) for match in find_sites(text))
