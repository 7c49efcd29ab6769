"""Claims of a report about its image: each with its span and a short visual phrase.

Diagnoses and findings are claims, with descriptors, grade and site in the phrase, and so is a site
that no asserted diagnosis carries: where the specimen was taken from, not where a tumour came from.
What cannot be seen in tissue (stages, measurements, markers, procedures, margins, masses) is none,
and `not_seen` says so; nor is what a patient had before.
"""

import re
from collections.abc import Iterator, Sequence, Set
from functools import cache
from typing import Any, NamedTuple

from histoeval.facts.specimens.text import only, outside
from histoeval.facts.spread import origins, spread_of
from histoeval.pathgls.results import Claim, ReportSpan
from histoeval.reader.sections import sections
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.resources import load_toml
from histoeval.terms.assertion import (
    before,
    clause_before,
    drop_denying_words,
    has_wording,
    is_denied,
    without_denial,
)
from histoeval.terms.findings import find_findings, finding_of, findings
from histoeval.terms.lexicon import any_of
from histoeval.terms.naming import main_concept
from histoeval.terms.sites import (
    find_places,
    find_sites,
    is_place,
    organ_of,
    site_closeness,
    site_tree,
    sites,
    system_of,
)
from histoeval.terms.values.grades import read_grade

CLAIMED = (EntityType.DIAGNOSIS, EntityType.FINDING, EntityType.SITE)  # the kinds of claims

_VAGUE = "vague"
_TIERS = {"low": "low-grade", "intermediate": "intermediate-grade", "high": "high-grade"}
_REGIONS = "body_region"  # back or arm is no tissue that could be recognised under a microscope
_EDGES = " \t\r\n.,;:-/()[]\"'"
_ASIDE = re.compile(r"[(\[][^)\]]{0,400}[)\]]")
_STOP = re.compile(r"(?<![.;:])[.;:]+(?=\s|$)")
_GRADED = re.compile(r"\b(?:differentiated|grade|dysplasia|anaplastic)\b")
_RANKED = re.compile(r"\d|\b[ivx]+\b|\bgrade$|\bdifferentiation\b")
_ADJECTIVE = re.compile(r"\S+(?:ic|ing|ous|ed|al)")
_NEAR = 0.5
_MAX_WORDS = 4  # of a descriptor; more is a sentence


class Claims(NamedTuple):
    asserted: tuple[Claim, ...]
    denied: tuple[Claim, ...]
    uncertain: tuple[Claim, ...]


def claims_of(report: Report) -> tuple[Claim, ...]:
    """All claims of a report that a reader has read, in the order of its text, none twice."""
    report = of_specimen(report)
    site_numbers = specimen_sites(report)
    claims = [*_lesions(report, site_numbers), *_bare_sites(report, site_numbers)]
    first: dict[tuple[str, Assertion], Claim] = {}
    for claim in sorted(claims, key=lambda claim: (claim.span.start, claim.span.end)):
        first.setdefault((claim.phrase, claim.assertion), claim)
    return tuple(first.values())


def sorted_claims(claims: Sequence[Claim]) -> Claims:
    """Claims that are asserted, denied and left open; absence cannot be grounded by presence."""
    return Claims(
        *(
            tuple(claim for claim in claims if claim.assertion is assertion)
            for assertion in Assertion
        )
    )


def not_seen(report: Report) -> tuple[str, ...]:
    """Parts of a report that no patch of tissue can support, and why, human-readable."""
    reasons: dict[str, str] = _wording()["apart"]
    kinds: dict[str, list[str]] = {kind: [] for kind in reasons}
    for entity in report.entities:
        if entity.type == EntityType.FINDING and _is_vague(visual(without_denial(entity.text)[0])):
            kinds[_VAGUE].append(entity.text)
        elif entity.type.value in kinds:
            kinds[entity.type.value].append(entity.text)
    return tuple(
        f"not looked for in the image: {', '.join(dict.fromkeys(texts))} ({reasons[kind]})"
        for kind, texts in kinds.items()
        if texts
    )


def _lesions(report: Report, site_numbers: Set[int]) -> Iterator[Claim]:
    for number, entity in enumerate(report.entities):
        if entity.type not in (EntityType.DIAGNOSIS, EntityType.FINDING):
            continue
        affirmed, is_denied = without_denial(entity.text)
        name = visual(affirmed)
        if not name or (entity.type == EntityType.FINDING and _is_vague(name)):
            continue
        tails = _tails(report, number)
        site_texts = [report.entities[n].text for n in tails if n in site_numbers]
        if entity.type == EntityType.DIAGNOSIS:
            phrase = _described(name, [report.entities[n] for n in tails])
            phrase = _diagnosis_placed(phrase, entity, report.text, site_texts)
        else:
            # "desmoplastic" is no more than an adjective: its noun is desmoplasia.
            finding = finding_of(name) if _ADJECTIVE.fullmatch(name) else None
            phrase = name if finding is None else findings()[finding.id].name.lower()
            tissues = _tissues(site_texts)
            if tissues and not find_places(phrase):  # which names its own
                phrase = f"{phrase} in the {_name_of(tissues[0])}"
        is_absent = is_denied and entity.assertion == Assertion.PRESENT
        yield _claim(entity, phrase, Assertion.ABSENT if is_absent else entity.assertion)


def _tails(report: Report, head: int) -> list[int]:
    return sorted({relation.tail for relation in report.relations if relation.head == head})


def _claim(entity: Entity, phrase: str, assertion: Assertion) -> Claim:
    span = ReportSpan(text=entity.text, start=entity.start, end=entity.end)
    return Claim(span=span, type=entity.type, assertion=assertion, phrase=phrase)


def _described(name: str, linked: Sequence[Entity]) -> str:
    words = [_grade_words(entity.text) for entity in linked if entity.type == EntityType.GRADE]
    for entity in linked:
        descriptor = visual(entity.text)
        if (
            entity.type == EntityType.DESCRIPTOR
            and len(descriptor.split()) <= _MAX_WORDS
            and not _phrases("unseen").search(descriptor)
        ):
            words.append(descriptor)
    return " ".join([*dict.fromkeys(word for word in words if word and word not in name), name])


def _diagnosis_placed(phrase: str, entity: Entity, text: str, sites: Sequence[str]) -> str:
    """A diagnosis with the first tissue that is named for it; of another organ it is metastatic."""
    own = {match.id for match in find_places(phrase)}
    tissues = _tissues_apart(own, sites) if own else _tissues(sites)
    spreads = own and not _are_near(own, sites) and spread_of(main_concept(phrase), entity, text)
    if spreads and not has_wording("metastatic", phrase):
        phrase = f"metastatic {phrase}"
    if not tissues:
        return phrase
    joint = "in" if own or has_wording("metastatic", phrase) else "of"
    return f"{phrase} {joint} the {_name_of(tissues[0])}"


def _tissues(sites: Sequence[str]) -> list[str]:
    return [tissue for site in sites if (tissue := _tissue_of(site))]


def _tissues_apart(own: Set[str], sites: Sequence[str]) -> list[str]:
    if not own or _are_near(own, sites):
        return []
    return [tissue for tissue in _tissues(sites) if tissue not in _wording()["everywhere"]]


def _are_near(own: Set[str], texts: Sequence[str]) -> bool:
    """True if texts name one of these sites, a part of it, or what hangs together with it."""
    named = {match.id for text in texts for match in find_sites(text)}
    return any(site_closeness(a, b) >= _NEAR for a in own for b in named)


def _bare_sites(report: Report, site_numbers: Set[int]) -> Iterator[Claim]:
    """Tissue of organs that no asserted diagnosis is of, each organ once.

    A site that is named after a finding is where that is (invading the duodenum), and no claim of
    its own beside others; nor are fat, vessels and nerves, which are in every organ.
    """
    carried = set(_carried(report, site_numbers))
    invaded = {
        relation.tail: report.entities[relation.head].start < report.entities[relation.tail].start
        for relation in report.relations
        if report.entities[relation.head].type == EntityType.FINDING
    }
    has_other_sites = carried or any(n not in invaded for n in site_numbers)
    for number, entity in enumerate(report.entities):
        tissue = _tissue_of(entity.text) if number in site_numbers else None
        if tissue is None or (number in invaded and tissue in _wording()["everywhere"]):
            continue
        if invaded.get(number) and has_other_sites:
            continue
        if (organ := organ_of(tissue)) not in carried:
            carried.add(organ)
            name = _name_of(tissue)
            phrase = name if name.endswith("tissue") else f"{name} tissue"
            yield _claim(entity, phrase, Assertion.PRESENT)


def _carried(report: Report, site_numbers: Set[int]) -> Iterator[str]:
    """The organs of asserted diagnoses; a liver with a metastasis of the colon is liver."""
    for number, entity in enumerate(report.entities):
        if entity.type != EntityType.DIAGNOSIS or entity.assertion != Assertion.PRESENT:
            continue
        named = [report.entities[n].text for n in _tails(report, number) if n in site_numbers]
        own = {match.id for match in find_places(entity.text)}
        organs = [organ_of(match.id) for text in named for match in find_sites(text)]
        if has_wording("metastatic", entity.text) or _tissues_apart(own, named):
            own, organs = set(), [organ for organ in organs if organ != organs[0]]
        yield from (*map(organ_of, own), *organs)


# --- words for an image encoder: short and plain, without doubt or denial -------------------------


def visual(text: str) -> str:
    """A text in lower case, on one line, without asides and words of doubt and denial."""
    words = _STOP.sub(" ", _ASIDE.sub(" ", text)).lower()
    words = _phrases("unsure").sub(" ", drop_denying_words(words))
    return " ".join(words.split()).strip(_EDGES)


def _is_vague(finding: str) -> bool:
    """True if nothing is named that a patch could show: a margin, a mass, a verb by itself."""
    named = {match.id for match in find_findings(finding)}
    gross = len(_phrases("gross").findall(finding))
    if not named:
        return gross > 0 or len(finding.split()) == 1
    return gross > 1 or named <= set(_wording()["vague"])


def _tissue_of(site: str) -> str | None:
    """The id of the tissue that a site is of: antrum is stomach, but rectum is rectum."""
    named = [match.id for match in find_sites(site) if system_of(match.id) != _REGIONS]
    if not named:
        return None
    deepest = max(named, key=site_tree().depth)
    distinct = _wording()["tissues"]
    line = site_tree().lineage(deepest)
    return next((id_ for id_ in line if id_ in distinct), organ_of(deepest))


def _name_of(tissue: str) -> str:
    return sites()[tissue].name.lower()


def _grade_words(text: str) -> str:
    plain = visual(text)
    if _GRADED.search(plain) and not _RANKED.search(plain):
        return plain
    grade = read_grade(text)
    return _TIERS.get(grade.tier or "", "") if grade is not None and grade.part is None else ""


@cache
def _phrases(name: str) -> re.Pattern[str]:
    phrases = [" ".join(phrase.split()) for phrase in _wording()[name].split(",")]
    longest_first = sorted(filter(None, phrases), key=lambda phrase: (-len(phrase), phrase))
    return any_of(longest_first, before=r"\b", after=r"\b", literal=True, flags=0)


def _wording() -> dict[str, Any]:
    return load_toml("pathgls/grounding/data/phrases.toml")


def of_specimen(report: Report) -> Report:
    """A report without the patient's history, and without where a tumour came from."""
    origin_entities = [entity for entity, _ in origins(report.text)]
    dropped = [
        (entity.start, entity.end)
        for entity in report.entities
        if entity.type in CLAIMED
        if has_wording("history", clause_before(report.text, entity.start))
        or (
            entity.type == EntityType.DIAGNOSIS
            and any(o.start <= entity.start and entity.end <= o.end for o in origin_entities)
        )
    ]
    clinical = [
        (section.start, section.end)
        for section in sections(report.text)
        if section.kind == "clinical"
    ]
    specimen = only(report, outside([*dropped, *clinical], len(report.text)))
    if not any(entity.type in CLAIMED for entity in specimen.entities):
        # All of a short report may stand under such a heading.
        specimen = only(report, outside(dropped, len(report.text)))
    return specimen


def specimen_sites(report: Report) -> frozenset[int]:
    """The entities, by number, that name a place of the specimen, and not only of origin."""
    origin_entities = [entity for entity, _ in origins(report.text)]
    named = [n for n, entity in enumerate(report.entities) if _names_place(entity, report.text)]
    certain = [
        n
        for n in named
        if not any(
            report.entities[n].start < origin.end and origin.start < report.entities[n].end
            for origin in origin_entities
        )
    ]
    if certain or has_wording("metastatic", report.text):
        return frozenset(certain)
    return frozenset(named)


def _names_place(entity: Entity, text: str) -> bool:
    if entity.type != EntityType.SITE or entity.assertion != Assertion.PRESENT:
        return False
    if not is_place(text, entity.start, entity.end):
        return False
    # At the beginning of a statement it is a heading; what is denied in a place is not the place.
    lead = before(text, entity.start).split()
    return not lead or "in" in lead or not is_denied(text, entity.start, entity.end)
