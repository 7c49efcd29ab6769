"""Whole names: a diagnosis of which a reader took only a part (complete hydatidiform mole)."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from histoeval.report import Entity, EntityType
from histoeval.terms.assertion import denies
from histoeval.terms.catalogue import Behaviour, Concept, concepts, diagnosis_tree
from histoeval.terms.naming import find_diagnoses, main_concept
from histoeval.terms.spelling import respelt

_REACH = 70  # characters before and after an entity that may belong to its name
_LEFT = re.compile(r"(?<![\w'\u2019/-])(?:[\w'\u2019/-]{1,40}[ ]{1,3}){1,4}$")
# Words after a name that may still belong to it, over commas: carcinoma, clear cell type
_RIGHT = re.compile(
    r"(?:[,:]?[ ]+\(?(?!(?:with|without|no|not|and|or|is|are|was|were|in|at|on|by|involving|"
    r"arising|invading|see|but|also|margins?|nodes?)\b)[\w'\u2019/-]+\)?){1,6}"
    r"|[ ](?:is|was|are)[ ]of[ ](?:high|low)[ -]grade|[ ]with[ ](?:cytolog\w+[ ])?atypia",
    re.IGNORECASE,
)
# A line of its own for the grade, low or high
_GRADED = re.compile(
    r"(?:^|\n)[ \t]*(?:histolog\w+ |tumou?r |overall )?grade:[ \t]*(?P<grade>high|low)\b",
    re.IGNORECASE,
)
_NON_INVASIVE = re.compile(r"\bnon[ -]?invasive|\bin[ -]situ\b|\bpTa\b|\bTa\b", re.IGNORECASE)


def widened(entity: Entity, taken: Sequence[Entity], text: str, likely: frozenset[str]) -> Entity:
    """A diagnosis with the words around it that belong to its name, as the catalogue has it.

    Over another diagnosis only where the name is one for both: Barrett's with dysplasia.
    """
    if entity.type not in (EntityType.DIAGNOSIS, EntityType.FINDING) or not entity.text.strip():
        return entity
    start, window = _window(entity, text)
    entity_span = entity.start - start, entity.end - start
    for match in find_diagnoses(window, likely):
        wider = match.end - match.start > entity_span[1] - entity_span[0]
        if wider and match.start <= entity_span[0] and entity_span[1] <= match.end:
            concept, whole = main_concept(respelt(entity.text), likely), concepts()[match.id]
            if whole.behaviour == Behaviour.NORMAL or whole == concept:
                return entity
            first, last = start + match.start, start + match.end
            within = [e for e in taken if first <= e.start and e.end <= last]
            read = [e.text for e in within if e.type == EntityType.DIAGNOSIS]
            concepts_named = (
                [main_concept(respelt(name), likely) for name in read] if len(read) > 1 else []
            )
            if any(c and not diagnosis_tree().is_a(whole.id, c.id) for c in concepts_named):
                return entity
            if entity.type == EntityType.FINDING and (whole.generic or concept is not None):
                return entity
            update = {"text": text[first:last], "start": first, "end": last}
            return entity.model_copy(update=update | {"type": EntityType.DIAGNOSIS})
    return entity


def _window(entity: Entity, text: str) -> tuple[int, str]:
    """The statement that an entity stands in, as far as a name may reach, and where it begins."""
    start = entity.start - min(_REACH, entity.start)
    before, after = text[start : entity.start], text[entity.end : entity.end + _REACH]
    start = entity.start - len(re.split(r"[.;:\n]", before)[-1])
    end = entity.end + len(re.split(r"[.;:\n]", after)[0])
    return start, text[start:end]


def sharpened(
    concept: Concept | None,
    entity: Entity,
    taken: Sequence[Entity],
    text: str,
    likely: frozenset[str],
) -> Concept | None:
    """The kind of a diagnosis that the words around it make it: mole, complete type.

    No name reaches over another diagnosis, or over a word that denies.
    """
    if concept is None:
        return None
    for phrase in _phrases(entity, taken, text):
        exact = main_concept(respelt(phrase), likely)
        if exact is not None and exact.id != concept.id and _is_kind(exact, concept, phrase):
            concept = exact
    concept = _graded(concept, entity, text, likely)
    return _not_invasive(concept, entity, text, likely)


def _graded(concept: Concept, entity: Entity, text: str, likely: frozenset[str]) -> Concept:
    """A tumour of which the grade is part of the name, where a line of its own tells the grade."""
    if concept.behaviour != Behaviour.MALIGNANT or not (grade := _stated_grade(text)):
        return concept
    exact = main_concept(respelt(f"{grade}-grade {entity.text}"), likely)
    kind = exact is not None and exact.behaviour == concept.behaviour
    return exact if exact and kind and diagnosis_tree().is_a(exact.id, concept.id) else concept


@lru_cache(maxsize=1 << 6)  # asked for by each diagnosis of a report
def _stated_grade(text: str) -> str | None:
    match = _GRADED.search(text)
    return match["grade"] if match else None


def _not_invasive(concept: Concept, entity: Entity, text: str, likely: frozenset[str]) -> Concept:
    """A carcinoma that the report calls non-invasive, or pTa, as what that is."""
    if concept.behaviour != Behaviour.MALIGNANT:
        return concept
    near = text[max(0, entity.start - 25) : entity.end + _REACH]
    if not _NON_INVASIVE.search(near) or denies(text[max(0, entity.start - 12) : entity.start]):
        return concept
    exact = main_concept(respelt(f"non-invasive {entity.text}"), likely)
    if exact is None or exact.behaviour != Behaviour.IN_SITU:
        return concept
    return exact


def _is_kind(exact: Concept, concept: Concept, phrase: str) -> bool:
    if diagnosis_tree().is_a(exact.id, concept.id):
        return exact.behaviour == concept.behaviour or bool(_NON_INVASIVE.search(phrase))
    into_situ = (concept.behaviour, exact.behaviour) == (Behaviour.MALIGNANT, Behaviour.IN_SITU)
    if exact.precursor_of is None or not into_situ or not _NON_INVASIVE.search(phrase):
        return False
    return diagnosis_tree().are_kin(concepts()[exact.precursor_of].id, concept.id)


def _phrases(entity: Entity, taken: Sequence[Entity], text: str) -> Iterator[str]:
    """An entity with the words before it, and with those after it."""
    # Diagnoses by themselves, which are no pieces of the name before them
    others = [
        e
        for e in taken
        if e.type == EntityType.DIAGNOSIS
        and e.start != entity.start
        and (concept := main_concept(respelt(e.text)))
        and not (concept.generic and concept.behaviour == Behaviour.NON_NEOPLASTIC)
    ]
    before_from = max([0, entity.start - _REACH, *(e.end for e in others if e.end <= entity.start)])
    after_to = min([entity.end + _REACH, *(e.start for e in others if e.start >= entity.end)])
    left = _LEFT.search(text[before_from : entity.start])
    right = _RIGHT.match(text, entity.end, after_to)
    if left and not denies(left.group()):
        yield left.group() + entity.text
    if right and not denies(right.group()):
        yield entity.text + right.group()
