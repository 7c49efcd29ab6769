"""Diagnoses: which of those that a report names it makes, and which of them lead."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from histoeval.facts.names import sharpened
from histoeval.facts.scope import TextScope, before, clause_before, has_wording
from histoeval.facts.spread import primary_of, spread_of
from histoeval.report import Assertion, Entity, EntityType
from histoeval.terms.catalogue import (
    Behaviour,
    Concept,
    closeness,
    concepts,
    diagnosis_tree,
    table,
)
from histoeval.terms.doubt import is_committed, is_left_open
from histoeval.terms.naming import find_diagnoses, main_concept
from histoeval.terms.spelling import respelt

# Concepts that name spread, and not what has spread
_DEPOSITS = frozenset(
    "metastatic_neoplasm metastatic_carcinoma metastatic_adenocarcinoma lymph_node_metastasis "
    "negative_for_metastasis nodal_macrometastasis nodal_micrometastasis "
    "isolated_tumour_cells_in_node".split()
)
_NO_SPREAD = frozenset({"negative_for_metastasis"})

# What is a diagnosis by itself, and beside the disease that explains it only one of its signs
_FEATURES = frozenset(
    "atrophy atypia embolism fibrosis granulomatous_inflammation haemorrhage hepatic_fibrosis "
    "hyperplasia inflammation lesion metaplasia necrosis oedema reactive_lymphoid_hyperplasia "
    "steatosis villous_atrophy".split()
)

# Words by which a name that is not known may still be one of a disease
_DISEASE = re.compile(
    r"oma(?:s|ta)?\b|(?:it|os|as|ys)[ie]s\b|[ae]?emia\b|(?:path|atroph|plas)(?:y|ies|ia|tic)\b|sarc|cancer|malign|"
    r"neoplas|tumou?r|disease|syndrome|disorder|infect|lesion|polyp|cyst|n(?:a?e)v(?:us|i)\b|reject|"
    r"infarct|abscess|ulcer|hernia|mole\b|metasta|deposit|in situ|dysplas|atypi",
    re.IGNORECASE,
)
_BEHAVIOUR = re.compile(r"malignant|benign|neoplastic|invasive|in situ", re.IGNORECASE)

# What a reader may have cut a diagnosis into
_PIECES = frozenset({EntityType.DIAGNOSIS, EntityType.FINDING, EntityType.DESCRIPTOR})

# After a diagnosis: it is where a metastasis came from
_ORIGIN = re.compile(r"\s+(?:primary|origin)\b(?!\s+(?:tumou?r|site|diagnosis))", re.IGNORECASE)

_GAP = 8  # spaces over which two pieces of a name still stand together

_HEADING = re.compile(r"[^.;:\n]{0,60}:(?=\s)")  # after a diagnosis that stands in a heading
# Diagnoses that are also words for a specimen
_LABELS = frozenset(
    "melanocytic_naevus abscess ulcer functional_ovarian_cyst nasal_polyp colorectal_polyp "
    "benign_polyp cyst thyroid_nodular_hyperplasia fistula".split()
)
_SLIGHT_DYSPLASIA = frozenset({"dysplasia", "low_grade_dysplasia", "moderate_dysplasia"})
_DYSPLASIA = _SLIGHT_DYSPLASIA | {"high_grade_dysplasia"}
# What is dysplastic by definition
_DYSPLASTIC = (
    "colorectal_adenoma gastric_adenoma small_intestinal_adenoma adenoma "
    "intraductal_papillary_mucinous_neoplasm pancreatic_mucinous_cystic_neoplasm "
    "mucinous_cystic_neoplasm_of_liver intraductal_papillary_neoplasm_of_bile_duct "
    "intracholecystic_papillary_neoplasm traditional_serrated_adenoma "
    "low_grade_appendiceal_mucinous_neoplasm dysplastic_naevus"
).split()

_MAX_HOMES = 4  # A diagnosis that arises in more organs than this does not tell the organ

_RANKS = {
    Behaviour.MALIGNANT: 5.0,
    Behaviour.IN_SITU: 4.0,
    Behaviour.BORDERLINE: 3.0,
    Behaviour.UNSPECIFIED: 2.5,
    Behaviour.BENIGN: 2.0,
    Behaviour.NON_NEOPLASTIC: 1.0,
    Behaviour.NORMAL: 0.0,
}
_HEDGED_RANK = 0.6
_AKIN = 0.3
_UNKNOWN_RANK = -0.8


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A diagnosis that a report makes, surely or with a doubt."""

    entity: Entity
    concept: Concept | None
    concludes: bool
    spread: str | None = None  # `metastatic` where the report says so of it
    # What its words name by themselves, without what the rest of the report tells
    concept_without_context: Concept | None = None
    # The report is as good as sure of it: consistent with, in keeping with
    committed: bool = False
    heads: bool = False  # it stands before a colon, in the name of the specimen or of the test

    @property
    def known(self) -> bool:
        """True if the catalogue has it."""
        return self.concept is not None

    @property
    def hedged(self) -> bool:
        return self.entity.assertion == Assertion.UNCERTAIN and not self.committed

    @property
    def labels(self) -> bool:
        """True if it is only a word for the specimen: colon polyp, ovarian cyst."""
        concept = self.concept
        return self.heads and concept is not None and (concept.generic or concept.id in _LABELS)

    @property
    def primary(self) -> Concept | None:
        """The tumour itself, where the report says that it has spread."""
        if self.concept is None or self.spread is None:
            return self.concept
        return concepts()[primary_of(self.concept)]

    @property
    def behaviour(self) -> Behaviour:
        return self.concept.behaviour if self.concept else Behaviour.UNSPECIFIED

    @property
    def rank(self) -> float:
        """Importance beside others of its report; one in doubt has a little less.

        A phrase that no catalogue knows matters least: it is often no diagnosis at all.
        """
        if self.concept is None:
            return _UNKNOWN_RANK
        return _RANKS[self.behaviour] - _HEDGED_RANK * self.hedged


def named_diagnoses(
    entities: Iterable[Entity],
    likely: frozenset[str],
    details: Mapping[int, Sequence[Entity]],
    scope: TextScope,
    text: str,
) -> Iterator[Diagnosis]:
    """Entities that name a diagnosis, with what the likely sites of the report tell of it."""
    all_named = list(entities)
    heads = sorted((e for e in all_named if e.type == EntityType.DIAGNOSIS), key=lambda e: e.start)
    starts = [entity.start for entity in heads]
    for entity, span in zip(all_named, _neighbours(all_named, text), strict=True):
        if entity.type not in (EntityType.DIAGNOSIS, EntityType.FINDING):
            continue
        concept = _as_one(entity, span, text, likely) or _concept(
            entity, details.get(entity.start, ()), likely
        )
        first = max(0, bisect_left(starts, entity.start) - 1)
        near = heads[first : bisect_left(starts, entity.end) + 1]
        concept = sharpened(concept, entity, near, text, likely)
        if entity.type == EntityType.FINDING and (concept is None or concept.generic):
            continue
        yield Diagnosis(
            entity,
            concept,
            scope.concludes(entity.start),
            spread_of(concept, entity, text),
            main_concept(respelt(entity.text)),
            is_committed(text, entity.start, entity.end),
            _heads(entity, text),
        )


def _heads(entity: Entity, text: str) -> bool:
    """True if a colon follows, and after it in the same line a diagnosis or nothing at all."""
    heading = _HEADING.match(text, entity.end)
    if heading is None:
        return False
    value = text[heading.end() :].partition("\n")[0]
    return not value.strip() or bool(find_diagnoses(value)) or "\n" not in text.strip()


def _neighbours(entities: Sequence[Entity], text: str) -> list[tuple[int, int]]:
    """The span that each entity makes together with those that stand right before and after."""
    starts = {e.start: e.end for e in entities if e.type in _PIECES}
    ends = {e.end: e.start for e in entities if e.type in _PIECES}
    spans = []
    for entity in entities:
        left = text[max(0, entity.start - _GAP) : entity.start]
        right = text[entity.end : entity.end + _GAP]
        before = entity.start - len(left) + len(left.rstrip(" "))
        after = entity.end + len(right) - len(right.lstrip(" "))
        spans.append((ends.get(before, entity.start), starts.get(after, entity.end)))
    return spans


def _as_one(
    entity: Entity, span: tuple[int, int], text: str, likely: frozenset[str]
) -> Concept | None:
    """Name that an entity makes with its neighbours, if a reader has cut that up."""
    if span == (entity.start, entity.end):
        return None
    phrase = respelt(text[slice(*span)])
    whole = [m for m in find_diagnoses(phrase, likely) if m.start == 0 and m.end == len(phrase)]
    return main_concept(phrase, likely) if whole else None


def _concept(entity: Entity, linked: Iterable[Entity], likely: frozenset[str]) -> Concept | None:
    """Concept of an entity; with its grade or descriptor if that names something more exact."""
    phrase = respelt(entity.text)
    concept = main_concept(phrase, likely)
    for detail in linked:
        if detail.type in (EntityType.GRADE, EntityType.DESCRIPTOR):
            exact = main_concept(f"{respelt(detail.text)} {phrase}", likely)
            if concept and exact and _is_sharper(exact, concept):
                concept = exact
    return concept


def _is_sharper(exact: Concept, concept: Concept) -> bool:
    """True if a detail names a kind of a diagnosis, or turns it (non-invasive carcinoma)."""
    if diagnosis_tree().is_a(exact.id, concept.id):
        return True
    return exact.behaviour != concept.behaviour and closeness(exact, concept) >= _AKIN


def is_made(diagnosis: Diagnosis, text: str) -> bool:
    """True if the report says that it is there, or may be.

    Advice and history do not count, nor does the primary of a metastasis.
    """
    if diagnosis.entity.assertion == Assertion.ABSENT:
        return False
    if _ORIGIN.match(text, diagnosis.entity.end):
        return False
    if has_wording("history", clause_before(text, diagnosis.entity.start)):
        return False
    if is_left_open(text, diagnosis.entity.end):
        return True
    return not (diagnosis.hedged and has_wording("advice", before(text, diagnosis.entity.start)))


def concluded_of(
    made: Sequence[Diagnosis], scope: TextScope, nothing: bool
) -> tuple[Diagnosis, ...]:
    """Diagnoses that a report concludes: those under its diagnosis, or else anywhere."""
    by_name = [d for d in made if d.entity.type == EntityType.DIAGNOSIS]
    if scope.diagnosis:
        concluded = [d for d in by_name if d.concludes] or [d for d in made if d.concludes]
        if concluded or nothing or any(scope.concludes(start) for start, _ in scope.gaps):
            return _distinct(concluded)
    return _distinct(by_name or made)


def is_label(diagnosis: Diagnosis, made: Sequence[Diagnosis]) -> bool:
    """True if it is a word for the specimen (polyp, cyst) of which a diagnosis follows."""
    return diagnosis.labels and any(not beside.labels and beside.concept for beside in made)


def goes_without_saying(diagnosis: Diagnosis, made: Sequence[Diagnosis]) -> bool:
    """True if another diagnosis includes it: an adenoma is dysplastic, of low grade at least."""
    tree = diagnosis_tree()
    if diagnosis.concept is None or diagnosis.concept.id not in _SLIGHT_DYSPLASIA:
        return False
    return any(
        beside.concept and any(tree.is_a(beside.concept.id, dysplasia) for dysplasia in _DYSPLASTIC)
        for beside in made
        if beside is not diagnosis
    )


def is_dysplasia(diagnosis: Diagnosis) -> bool:
    """True if it is dysplasia of some grade, and of no further name."""
    return diagnosis.concept is not None and diagnosis.concept.id in _DYSPLASIA


def names_only_spread(diagnosis: Diagnosis) -> bool:
    """True if it says that a tumour has spread, and not which."""
    return diagnosis.concept is not None and diagnosis.concept.id in _DEPOSITS - _NO_SPREAD


def is_deposit(diagnosis: Diagnosis, concluded: Sequence[Diagnosis]) -> bool:
    """True if this only says that a tumour which is named elsewhere has spread: a finding."""
    concept = diagnosis.concept
    if concept is None or concept.id not in _DEPOSITS:
        return False
    return any(
        conclusion.behaviour == Behaviour.MALIGNANT
        and conclusion.concept
        and conclusion.concept.id not in _DEPOSITS
        for conclusion in concluded
    )


def is_feature(diagnosis: Diagnosis, concluded: Sequence[Diagnosis]) -> bool:
    """True if this is only a sign of a disease that is named as well: fibrosis in hepatitis.

    So is a phrase that no catalogue knows and that has no word for a disease.
    """
    if diagnosis.concept is None:
        match = _DISEASE.search(diagnosis.entity.text)
        if match and not _BEHAVIOUR.fullmatch(diagnosis.entity.text.strip(" ().,")):
            return False
    elif diagnosis.concept.id not in _FEATURES:
        return False
    return any(
        conclusion.concept is not None
        and conclusion.concept.id not in _FEATURES
        and not conclusion.concept.generic
        and conclusion.behaviour != Behaviour.NORMAL
        for conclusion in concluded
    )


def others_beside(made: Sequence[Diagnosis], concluded: Sequence[Diagnosis]) -> Iterator[Diagnosis]:
    """Diagnoses besides the conclusion that are not wider words for it."""
    ids = {diagnosis.concept.id for diagnosis in concluded if diagnosis.concept}
    for diagnosis in made:
        wider = diagnosis.concept and (
            diagnosis.concept.id in ids or _is_umbrella(diagnosis.concept, ids)
        )
        if diagnosis not in concluded and not wider:
            yield diagnosis


def _distinct(diagnoses: Sequence[Diagnosis]) -> tuple[Diagnosis, ...]:
    """Each diagnosis once, without words that are only umbrellas of another that is there."""
    ids = {each.concept.id for each in diagnoses if each.concept}
    distinct: dict[object, Diagnosis] = {}
    for diagnosis in diagnoses:
        concept = diagnosis.concept
        if concept and _is_umbrella(concept, ids):
            continue
        key = concept.id if concept else diagnosis.entity.text.casefold()
        if key not in distinct or (distinct[key].hedged and not diagnosis.hedged):
            distinct[key] = diagnosis
    return tuple(distinct.values())


def _is_umbrella(concept: Concept, ids: set[str]) -> bool:
    """True if something more exact of the same behaviour is named as well."""
    return any(
        id_ != concept.id
        and diagnosis_tree().is_a(id_, concept.id)
        and (concept.generic or concepts()[id_].behaviour == concept.behaviour)
        for id_ in ids
    )


def ranked(diagnoses: Sequence[Diagnosis], within: float) -> tuple[Diagnosis, ...]:
    """Diagnoses that matter most, and those that come so near to them."""
    top = max((diagnosis.rank for diagnosis in diagnoses), default=0.0)
    return tuple(diagnosis for diagnosis in diagnoses if diagnosis.rank >= top - within)


def implied(text: str) -> Iterator[Diagnosis]:
    """Diagnosis that a scheme presupposes where none is named: Gleason 4+3 is of a cancer."""
    for wording, id_ in table("diagnoses")["wording"]["implied"].items():
        if match := re.search(rf"\b{wording}\b", text, re.IGNORECASE):
            entity = Entity(
                text=match.group(),
                start=match.start(),
                end=match.end(),
                type=EntityType.DIAGNOSIS,
                assertion=Assertion.PRESENT,
                score=0.5,
            )
            yield Diagnosis(entity, concepts()[id_], concludes=True)
            return


def homes_of(diagnoses: Iterable[Diagnosis]) -> frozenset[str]:
    """The organs where diagnoses arise that arise in few."""
    return frozenset(
        organ
        for diagnosis in diagnoses
        if diagnosis.concept
        and len(diagnosis.concept.organs) <= _MAX_HOMES
        and diagnosis.spread is None
        for organ in diagnosis.concept.organs
    )
