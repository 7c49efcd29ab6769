"""Errors between the parts of two reports: a part that is missing, invented or swapped, or a
finding that stands with another part than in the reference.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from histoeval.concordance.diagnosis import Alike, diagnosis_closeness, severity_of
from histoeval.concordance.evidence import ErrorKind, ReportError, Severity
from histoeval.concordance.specimen_matching import MatchedSpecimens
from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import Facts, FindingFact
from histoeval.facts.scope import stance_at
from histoeval.report import Assertion, Entity, EntityType
from histoeval.terms.catalogue import Behaviour
from histoeval.terms.findings import findings as known_findings
from histoeval.terms.plain import words_of

PART = "specimens"
"""What these errors are listed under."""

BENIGN, UNKNOWN, IN_SITU, MALIGNANT = range(4)
_GRAVITY = {
    Behaviour.MALIGNANT: MALIGNANT,
    Behaviour.IN_SITU: IN_SITU,
    Behaviour.BORDERLINE: IN_SITU,
    Behaviour.UNSPECIFIED: UNKNOWN,
}
_SEVERITY = (Severity.MAJOR, Severity.MAJOR, Severity.MAJOR, Severity.CRITICAL)
_TUMOUR = re.compile(
    r"\b(?:(?:macro|micro)?metasta(?:sis|ses|tic)|(?:adeno)?carcinomas?|malignan(?:t|cy)|melanoma|"
    r"\w*sarcoma|lymphoma|isolated tumou?r cells|tumou?r deposits?|germ cell tumou?r)\b",
    re.IGNORECASE,
)
_POSITIVE = re.compile(
    r"\b[1-9]\d?(?:/| of )\d{1,2}\b(?! (?:cores|mm|cm))(?= ?(?:nodes|lymph|positive|with|involved|\)|,|;|\.|$))",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:negative|benign|no (?:tumou?r|carcinoma|malignan\w+|metasta\w+|evidence|neoplasm|lymphoma|"
    r"melanoma|dysplasia)|free of|without|normal|unremarkable|clear|uninvolved|reactive|"
    r"0(?:/| of )\d{1,2})\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SAME, _ALIKE = 0.8, 0.45
_SWAPPED, _CROSSWISE = 0.7, 0.45
_LITTLE = 3
_TELLING = 2
"""From this importance on, a finding that stands with another part is an error."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a report says of one part, as far as it tells it from the others."""

    facts: Facts
    gravity: int
    negative: bool
    """It says that there is nothing, or nothing malignant."""
    normal: bool
    """It says nothing but that."""
    features: frozenset[str]
    lead: Entity | None
    """What stands for it in the evidence."""
    words: frozenset[str]
    """Its words, without those of its heading."""

    @property
    def said(self) -> bool:
        """Whether it says anything."""
        return bool(self.features) or self.negative


def content_of(facts: Facts, heading: str = "") -> Content:
    """What is told of a part in some stretches of a report."""
    text = facts.report.text
    sure = [each for each in facts.made if not each.hedged]
    gravity = max((_GRAVITY.get(each.behaviour, BENIGN) for each in sure), default=BENIGN)
    tumour = next(_affirmed_tumours(text), None)
    if gravity < MALIGNANT and tumour is not None and "in situ" not in text.lower():
        gravity = MALIGNANT if gravity in (BENIGN, UNKNOWN) else gravity
    lead = facts.first[0].entity if facts.first else tumour
    if lead is None and facts.report.entities:
        ranked = (EntityType.DIAGNOSIS, EntityType.FINDING, EntityType.SITE)
        lead = next(
            (e for kind in ranked for e in facts.report.entities if e.type == kind),
            facts.report.entities[0],
        )
    negative = bool(_NEGATIVE.search(text))
    diseased = any(each.behaviour != Behaviour.NORMAL for each in facts.made)
    normal = negative and gravity <= UNKNOWN and not diseased
    words = _words(text) - _words(heading)
    return Content(facts, gravity, negative, normal, _features(facts), lead, words)


def _affirmed_tumours(text: str) -> Iterator[Entity]:
    """Words for a malignancy that nothing denies."""
    for found in (*_TUMOUR.finditer(text), *_POSITIVE.finditer(text)):
        if stance_at(text, found.start(), found.end()) is not False:
            yield Entity(
                text=found.group(),
                start=found.start(),
                end=found.end(),
                type=EntityType.DIAGNOSIS,
                assertion=Assertion.PRESENT,
            )


def _features(facts: Facts) -> frozenset[str]:
    """Diagnoses, findings, grades, markers and numbers of a part."""
    text = facts.report.text
    found = {f"d:{d.concept.id if d.concept else d.entity.text.lower()}" for d in facts.made}
    found |= {f"f:{f.id or f.entity.text.lower()}:{f.denied}" for f in facts.findings}
    found |= {f"g:{g.value}" for g in facts.grades}
    found |= {f"m:{key}:{m.value}" for key, m in facts.markers.items()}
    found |= {f"n:{number.group()}" for number in _NUMBER.finditer(text)}
    return frozenset(found)


def _alike(one: Content, other: Content) -> float:
    """How much two contents have in common, by features and by words."""
    if not one.said or not other.said:
        return 0.0
    shares = []
    for a, b in (
        (one.features, other.features),
        (one.words, other.words),
    ):
        if a or b:
            shares.append(len(a & b) / len(a | b))
    return sum(shares) / len(shares)


def _words(text: str) -> frozenset[str]:
    return frozenset(
        word.plain
        for word in words_of(text)
        if len(word.plain) > _LITTLE or word.plain.isdigit()
    )


# --- missing and invented parts -------------------------------------------------------------------


def one_sided_specimens(
    matched: MatchedSpecimens, ref: Sequence[Content], cand: Sequence[Content]
) -> Iterator[ReportError]:
    """Parts that only one of two divided reports has."""
    if not matched.divided:
        return
    for pair, here, there in zip(matched.pairs, ref, cand, strict=True):
        if not pair.candidate.known:
            yield _one_sided(ErrorKind.MISSING_SPECIMEN, here, pair.name)
        elif not pair.reference.known:
            yield _one_sided(ErrorKind.INVENTED_SPECIMEN, there, pair.name)


def _one_sided(kind: ErrorKind, content: Content, name: str) -> ReportError:
    missing = kind == ErrorKind.MISSING_SPECIMEN
    entities = (content.lead, None) if missing else (None, content.lead)
    called = {"reference_called" if missing else "candidate_called": name}
    severity = Severity.MODERATE if content.normal else _SEVERITY[content.gravity]
    return ReportError(kind, PART, severity, *entities, specimen=name, **called)


# --- swapped parts and moved findings -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sides:
    """What both reports say of each specimen: all that may be of it, and what surely is."""

    matched: MatchedSpecimens
    reference: Sequence[Content]
    candidate: Sequence[Content]
    reference_sure: Sequence[Content]
    candidate_sure: Sequence[Content]

    @property
    def clear(self) -> list[int]:
        """The specimens of which both reports plainly say something."""
        return [
            i
            for i, (here, there) in enumerate(
                zip(self.reference_sure, self.candidate_sure, strict=True)
            )
            if here.said and there.said
        ]


def misplaced(sides: Sides, alike: Alike) -> Iterator[ReportError]:
    """Parts whose contents changed places, and findings that stand with another part."""
    pairs, clear = sides.matched.pairs, sides.clear
    ref, cand = sides.reference_sure, sides.candidate_sure
    swapped: set[int] = set()
    for i, j in combinations(clear, 2):
        if not {i, j} & swapped and _are_swapped(ref, cand, i, j):
            swapped |= {i, j}
            yield ReportError(
                ErrorKind.SWAPPED_SPECIMENS,
                PART,
                _severity_of_swap(ref[i], ref[j]),
                ref[i].lead,
                cand[i].lead,
                specimen=f"{pairs[i].name} / {pairs[j].name}",
            )
    told: set[str] = set()
    for i in clear:
        if i not in swapped:
            for error in _moved_from(sides, i, clear, alike):
                if error.words[0] not in told:
                    told.add(str(error.words[0]))
                    yield error


def _severity_of_swap(one: Content, other: Content) -> Severity:
    if one.gravity != other.gravity:
        return _SEVERITY[max(one.gravity, other.gravity)]
    return Severity.MAJOR


def _are_swapped(ref: Sequence[Content], cand: Sequence[Content], i: int, j: int) -> bool:
    """Whether each of two parts says what the other should."""
    straight = _alike(ref[i], cand[i]), _alike(ref[j], cand[j])
    crosswise = _alike(ref[i], cand[j]), _alike(ref[j], cand[i])
    gain = sum(crosswise) - sum(straight)
    grave = (
        ref[i].gravity == cand[j].gravity != cand[i].gravity == ref[j].gravity
        and MALIGNANT in (ref[i].gravity, ref[j].gravity)
    )
    if grave:
        return gain > _SWAPPED / 3
    return gain > _SWAPPED and min(crosswise) > max(_CROSSWISE, *straight)


def _moved_from(
    sides: Sides, i: int, clear: Sequence[int], alike: Alike
) -> Iterator[ReportError]:
    """What the reference says of one part, and the candidate only of others."""
    pairs, others = sides.matched.pairs, [j for j in clear if j != i]

    def error(here: Entity, j: int, there: Entity, severity: Severity) -> ReportError:
        name = f"{pairs[i].name} \u2192 {pairs[j].name}"
        return ReportError(ErrorKind.MOVED_FINDING, PART, severity, here, there, specimen=name)

    for diagnosis in sides.reference_sure[i].facts.made:
        if diagnosis.hedged or not diagnosis.known or diagnosis.behaviour == Behaviour.NORMAL:
            continue
        if _makes(sides.candidate[i], diagnosis, alike, _ALIKE):
            continue
        for j in others:
            there = _makes(sides.candidate_sure[j], diagnosis, alike, _SAME)
            if there and not _makes(sides.reference[j], diagnosis, alike, _ALIKE):
                yield error(diagnosis.entity, j, there.entity, severity_of(diagnosis))
                break
    if not sides.matched.divided:
        return
    for finding in sides.reference[i].facts.findings:
        importance = known_findings()[finding.id].importance if finding.id else 0
        if importance < _TELLING or finding.denied or _has(sides.candidate[i], finding):
            continue
        for j in others:
            found = _has(sides.candidate[j], finding)
            if found and not _has(sides.reference[j], finding):
                grave = importance > _TELLING
                severity = Severity.MAJOR if grave else Severity.MODERATE
                yield error(finding.entity, j, found.entity, severity)
                break


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
