"""Content of one specimen in a report, as far as it is told from the others."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from histoeval.concordance.specimens.matching import MatchedSpecimens
from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import Facts, facts_of
from histoeval.facts.scope import stance_at
from histoeval.facts.specimens.text import Span, only
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.terms.catalogue import Behaviour
from histoeval.terms.plain import words_of

# How grave what is found in a specimen is
BENIGN, UNKNOWN, LOW_GRADE, IN_SITU, MALIGNANT = range(5)
_GRAVITY = {
    Behaviour.MALIGNANT: MALIGNANT,
    Behaviour.IN_SITU: IN_SITU,
    Behaviour.BORDERLINE: LOW_GRADE,
    Behaviour.UNSPECIFIED: UNKNOWN,
}
_TREATED = re.compile(
    r"carcinoma|in_situ|melanoma|lentigo|paget|grade_3|gonado|(?<!low_)(?<=high_)grade_(?!prostatic)"
)
_TUMOUR = re.compile(
    r"\b(?:(?:macro|micro)?metasta(?:sis|ses|tic)|(?:adeno)?carcinomas?|malignan(?:t|cy)|melanoma|"
    r"[a-z]{0,20}sarcoma|lymphoma|isolated tumou?r cells|tumou?r deposits?|germ cell tumou?r)\b",
    re.IGNORECASE,
)
_POSITIVE = re.compile(
    r"\b[1-9]\d?(?:/| of )\d{1,2}\b(?! (?:cores|mm|cm))"
    r"(?= ?(?:nodes|lymph|positive|with|involved|\)|,|;|\.|$))",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:negative|benign|no (?:tumou?r|carcinoma|malignan\w+|metasta\w+|evidence|neoplasm|"
    r"lymphoma|melanoma|dysplasia)|free of|without|normal|unremarkable|clear|uninvolved|reactive|"
    r"0(?:/| of )\d{1,2})\b",
    re.IGNORECASE,
)
_HEAD = re.compile(r"\w(?:[^\s:.;]|[ \t](?=\S)){0,160}")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LITTLE = 3


@dataclass(frozen=True, slots=True)
class Content:
    """Content of one part of a report, as far as it is told from the others."""

    facts: Facts
    gravity: int
    negative: bool  # it says that there is nothing, or nothing malignant
    normal: bool  # it says nothing but that
    features: frozenset[str]
    first: Entity | None  # the first thing that it says is there
    words: frozenset[str]  # its words, without those of its heading

    @property
    def lead(self) -> Entity | None:
        return self.first or self.head

    @property
    def site(self) -> Entity | None:
        """Entity that names its site in the evidence."""
        entities = [side.entity for side in self.facts.sides]
        entities += [site.entity for site in self.facts.sites]
        return entities[0] if entities else self.lead

    @property
    def head(self) -> Entity | None:
        """Its first words, up to a colon or a stop."""
        match = _HEAD.search(self.facts.report.text)
        return entity_of(match, EntityType.SITE) if match else None

    @property
    def said(self) -> bool:
        return bool(self.features) or self.negative


def content_of(facts: Facts, heading: str = "") -> Content:
    text = facts.report.text
    sure = [diagnosis for diagnosis in facts.made if not diagnosis.hedged]
    gravity = max(map(_gravity, sure), default=BENIGN)
    tumour = next(_affirmed_tumours(text), None)
    if gravity < MALIGNANT and tumour is not None and "in situ" not in text.lower():
        gravity = MALIGNANT if gravity <= UNKNOWN else gravity
    lead = facts.first[0].entity if facts.first else tumour
    if lead is None and facts.report.entities:
        ranked = (EntityType.DIAGNOSIS, EntityType.FINDING, EntityType.SITE)
        lead = next(
            (e for kind in ranked for e in facts.report.entities if e.type == kind),
            facts.report.entities[0],
        )
    negative = bool(_NEGATIVE.search(text))
    diseased = any(diagnosis.behaviour != Behaviour.NORMAL for diagnosis in facts.made)
    normal = negative and gravity <= UNKNOWN and not diseased
    words = _words(text) - _words(heading)
    return Content(facts, gravity, negative, normal, _features(facts), lead, words)


def _gravity(diagnosis: Diagnosis) -> int:
    """Gravity of a diagnosis; of what is in situ, only what is treated as a rule is that."""
    gravity = _GRAVITY.get(diagnosis.behaviour, BENIGN)
    if gravity != IN_SITU or diagnosis.concept is None:
        return gravity
    return IN_SITU if _TREATED.search(diagnosis.concept.id) else LOW_GRADE


def _affirmed_tumours(text: str) -> Iterator[Entity]:
    """Words for a malignancy that nothing denies."""
    for match in chain(_TUMOUR.finditer(text), _POSITIVE.finditer(text)):
        if stance_at(text, match.start(), match.end()) is not False:
            yield entity_of(match, EntityType.DIAGNOSIS)


def entity_of(found: re.Match[str], type_: EntityType) -> Entity:
    return Entity(
        text=found.group(),
        start=found.start(),
        end=found.end(),
        type=type_,
        assertion=Assertion.PRESENT,
    )


def _features(facts: Facts) -> frozenset[str]:
    text = facts.report.text
    features = {f"d:{d.concept.id if d.concept else d.entity.text.lower()}" for d in facts.made}
    features |= {f"f:{f.id or f.entity.text.lower()}:{f.denied}" for f in facts.findings}
    features |= {f"g:{g.value}" for g in facts.grades}
    features |= {f"m:{key}:{m.value}" for key, m in facts.markers.items()}
    features |= {f"n:{number.group()}" for number in _NUMBER.finditer(text)}
    return frozenset(features)


def contents_alike(one: Content, other: Content) -> float:
    """Share that two contents have in common, by features and by words."""
    if not one.said or not other.said:
        return 0.0
    shares = []
    for a, b in ((one.features, other.features), (one.words, other.words)):
        if a or b:
            shares.append(len(a & b) / len(a | b))
    return sum(shares) / len(shares)


def _words(text: str) -> frozenset[str]:
    return frozenset(
        word.plain for word in words_of(text) if len(word.plain) > _LITTLE or word.plain.isdigit()
    )


@dataclass(frozen=True, slots=True)
class SpecimenContents:
    """Contents of each specimen in both reports: all that may be of it, and what surely is."""

    matched: MatchedSpecimens
    reference: Sequence[Content]
    candidate: Sequence[Content]
    reference_sure: Sequence[Content]
    candidate_sure: Sequence[Content]

    @property
    def clear(self) -> list[int]:
        return [
            i
            for i, (ref_content, cand_content) in enumerate(
                zip(self.reference_sure, self.candidate_sure, strict=True)
            )
            if ref_content.said and cand_content.said
        ]


def specimen_contents(
    reference: Facts, candidate: Facts, matched: MatchedSpecimens
) -> SpecimenContents:
    reference_sides = [(reference.report, pair.reference) for pair in matched.pairs]
    candidate_sides = [(candidate.report, pair.candidate) for pair in matched.pairs]
    return SpecimenContents(
        matched,
        [_content_under(side.heading, report, side.spans) for report, side in reference_sides],
        [_content_under(side.heading, report, side.spans) for report, side in candidate_sides],
        [_content_under(side.heading, report, side.sure) for report, side in reference_sides],
        [_content_under(side.heading, report, side.sure) for report, side in candidate_sides],
    )


@lru_cache(maxsize=1 << 10)
def _content_under(heading: str, report: Report, spans: tuple[Span, ...]) -> Content:
    return content_of(said_in(report, spans), heading)


@lru_cache(maxsize=1 << 10)
def said_in(report: Report, spans: tuple[Span, ...]) -> Facts:
    return facts_of(only(report, spans))
