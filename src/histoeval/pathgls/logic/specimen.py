"""What a report states of one specimen, in terms that can be compared.

A finding is affirmed or denied only where the reader and the words around it agree on that;
uncertain ones are not here at all. What rules ask of a specimen as a whole is worked out once.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import FindingFact
from histoeval.pathgls.logic.diagnosis_mentions import DiagnosisMention, diagnosis_mentions
from histoeval.pathgls.logic.lexicon import listed, pattern
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.report import Entity, EntityType
from histoeval.terms.catalogue import Behaviour, Concept, diagnosis_tree
from histoeval.terms.sites import find_operated, find_sites, organ_of
from histoeval.terms.values.grades import Grade
from histoeval.terms.values.laterality import Side
from histoeval.terms.values.marker_results import Result
from histoeval.terms.values.measurements import Measurement
from histoeval.terms.values.stages import Stage

_PROSE = frozenset({"", "other"})
_HEADED = frozenset({"diagnosis", "microscopic", "comment", "immunohistochemistry"})
_SHORT = 12
"""Up to this many sentences under the headings of one specimen are still read as prose."""
_LISTED = re.compile(r"[^\w(]|\d{1,9}[.):]{1,9}\s|\(?[a-z\d]\)", re.IGNORECASE)
_ONE_DISEASE = re.compile(r"\b(?:lymphoepithelial|skip) lesions\b", re.IGNORECASE)
"""Lesions of one disease."""
_DEGREE = re.compile(r"\b(?:mild|moderate|severe|(?:low|high)[- ]grade)$", re.IGNORECASE)


@dataclass(frozen=True)
class Specimen:
    """All that is plainly stated of one specimen, in the order of the text."""

    text: str
    passages: tuple[ReportSentence, ...]
    diagnoses: tuple[ReportMention[Diagnosis], ...]
    findings: tuple[ReportMention[FindingFact], ...]
    markers: tuple[ReportMention[tuple[str, Result]], ...]
    grades: tuple[ReportMention[Grade], ...]
    sides: tuple[ReportMention[Side], ...]
    stages: tuple[ReportMention[Stage], ...]
    measurements: tuple[ReportMention[Measurement], ...]
    entities: tuple[ReportMention[Entity], ...]
    relations: tuple[tuple[Entity, Entity], ...]

    def has(self, *lists: str) -> bool:
        """Whether any sentence has a word of any of these lists of `logic.toml`."""
        return any(passage.has(*lists) for passage in self.passages)

    def passage_at(self, place: int) -> ReportSentence | None:
        """The sentence of it that holds a place of the text."""
        return next((each for each in self.passages if each.start <= place < each.end), None)

    @cached_property
    def made(self) -> tuple[ReportMention[Diagnosis], ...]:
        """The diagnoses that are affirmed."""
        return tuple(each for each in self.diagnoses if not each.denied)

    def made_outside(self, passage: ReportSentence) -> tuple[ReportMention[Diagnosis], ...]:
        """The diagnoses that other sentences affirm without doubt."""
        return tuple(e for e in self.made if e.passage != passage and not e.value.hedged)

    @cached_property
    def is_prose(self) -> bool:
        """Whether it is written in sentences, without lists; a short one may have headings."""
        kinds = _PROSE if len(self.passages) > _SHORT else _PROSE | _HEADED
        return all(
            passage.kind in kinds and not passage.part and not _LISTED.match(passage.text)
            for passage in self.passages
        )

    @cached_property
    def is_of_one_lesion(self) -> bool:
        """Whether it is prose, and has no word for more than one lesion."""
        return self.is_prose and not any(
            pattern("several_lesions").search(_ONE_DISEASE.sub("", passage.text))
            for passage in self.passages
        )

    @cached_property
    def is_of_one_kind(self) -> bool:
        """Whether it is of one lesion that is nowhere called mixed."""
        return self.is_of_one_lesion and not self.has("of_two_kinds")

    @cached_property
    def has_several_tumours(self) -> bool:
        """Whether any sentence mentions more than one tumour."""
        return self.has("tumours")

    @cached_property
    def is_of_one_tumour(self) -> bool:
        """Whether the malignancies that are diagnosed are one in more or fewer words."""
        tumours = {
            concept.id
            for each in self.made
            if (concept := own_concept(each.value))
            and concept.behaviour == Behaviour.MALIGNANT
            and not concept.generic
        }
        return all(diagnosis_tree().are_kin(a, b) for a, b in combinations(sorted(tumours), 2))

    @cached_property
    def organs(self) -> frozenset[str]:
        """The organs that it names, without tissues that are everywhere."""
        everywhere = listed("tissues")
        return frozenset(
            organ
            for each in self.entities
            if each.value.type in (EntityType.SITE, EntityType.PROCEDURE)
            for match in find_sites(each.value.text)
            if (organ := organ_of(match.id)) not in everywhere
        )

    @cached_property
    def sites_sent(self) -> frozenset[str]:
        """The sites that the first sentence names, or the procedure in it."""
        text = self.passages[0].text if self.passages else ""
        return frozenset(match.id for match in (*find_sites(text), *find_operated(text)))

    @cached_property
    def names(self) -> tuple[DiagnosisMention, ...]:
        """What the sentences call the lesion, in their order."""
        return tuple(diagnosis_mentions(self.passages, self.sites_sent))

    def is_of_a_grade(self, diagnosis: ReportMention[Diagnosis]) -> bool:
        """Whether only one grade of it is denied: no high grade dysplasia."""
        graded = {each.span.end for each in self.grades if each.passage == diagnosis.passage}
        before = self.text[: diagnosis.span.start].rstrip()
        return len(before) in graded or bool(_DEGREE.search(before))


def own_concept(diagnosis: Diagnosis) -> Concept | None:
    """What the words of a diagnosis name by themselves."""
    return diagnosis.wide or diagnosis.concept


def behaviour_of(diagnosis: ReportMention[Diagnosis]) -> Behaviour:
    """The behaviour of what the words of a diagnosis name."""
    concept = own_concept(diagnosis.value)
    return concept.behaviour if concept else Behaviour.UNSPECIFIED
