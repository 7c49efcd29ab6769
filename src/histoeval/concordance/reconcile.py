"""Makes the readings of two reports consistent with each other.

A reader may find a phrase in one wording of a sentence and miss it in another. Where two reports
have the same words, and they were found in only one, they count as found in both; where they were
read as different things, as what they are in the reference. Whether they are denied is looked up
in the words around them, by the same rule in both reports, so that a mistake of the reader is no
difference and a `no` that was added or dropped is one. In a sentence that both have word for word
they are what they are in the reference.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from histoeval.facts.scope import stance_at
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.terms.naming import main_concept
from histoeval.terms.plain import Word, words_of

_Key = tuple[str, ...]

_SENTENCE_END = re.compile(r"\.(?=\s|$)|\n")


@dataclass(frozen=True, slots=True)
class _Read:
    """A report with its words, to look phrases up in."""

    report: Report
    words: Sequence[Word]
    places: Mapping[str, Sequence[int]]  # where each word stands
    entities: Mapping[_Key, Sequence[int]]  # the entities of each wording
    free: bytes  # for every character whether no entity has it
    diagnoses: frozenset[str]  # what is named as a diagnosis, by id

    def standing(self, key: _Key) -> Iterator[tuple[int, int]]:
        for first in self.places.get(key[0], ()) if key else ():
            last = first + len(key) - 1
            words = self.words[first : last + 1]
            if last < len(self.words) and all(
                w.plain == k for w, k in zip(words, key, strict=True)
            ):
                yield self.words[first].start, self.words[last].end

    def is_free(self, start: int, end: int) -> bool:
        return not any(self.free[start:end])


def reconciled(reference: Report, candidate: Report) -> tuple[Report, Report]:
    """Both reports, each with what the other's reading shows; the same ones if that is nothing.

    The reference comes first: the candidate is read as the reference was.
    """
    if reference is candidate:
        return reference, candidate
    ref, cand = _read(reference), _read(candidate)
    return _completed(ref, cand, ()), _completed(cand, ref, _agreed(ref, cand))


@lru_cache(maxsize=1 << 5)
def _read(report: Report) -> _Read:
    words = words_of(report.text)
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        places.setdefault(word.plain, []).append(place)
    entities: dict[_Key, list[int]] = {}
    free = bytearray(len(report.text))
    for place, entity in enumerate(report.entities):
        entities.setdefault(_key(entity), []).append(place)
        free[entity.start : entity.end] = b"1" * (entity.end - entity.start)
    diagnosis_texts = {e.text for e in report.entities if e.type == EntityType.DIAGNOSIS}
    diagnoses = frozenset(concept.id for text in diagnosis_texts if (concept := main_concept(text)))
    return _Read(report, words, places, entities, bytes(free), diagnoses)


def _key(entity: Entity) -> _Key:
    return tuple(word.plain for word in words_of(entity.text))


def _completed(own: _Read, other: _Read, instead: Sequence[tuple[int, Entity]]) -> Report:
    """A report with entities in the place of others, and with those that only the other has."""
    added = list(_unread(own, other))
    if not added and not instead:
        return own.report
    entities = list(own.report.entities)
    for index, entity in instead:
        entities[index] = entity
    changed = {index for index, entity in instead if entity.type != own.report.entities[index].type}
    relations = tuple(r for r in own.report.relations if not {r.head, r.tail} & changed)
    return own.report.model_copy(update={"entities": (*entities, *added), "relations": relations})


def _unread(own: _Read, other: _Read) -> Iterator[Entity]:
    """Entities of the other report that stand here in the same words, and were missed."""
    for key, places in other.entities.items():
        if key in own.entities:
            continue
        model = other.report.entities[places[0]]
        stretches = [span for span in own.standing(key) if own.is_free(*span)]
        for start, end in stretches[:1]:
            yield Entity(
                text=own.report.text[start:end],
                start=start,
                end=end,
                type=model.type,
                assertion=_assertion(own.report.text, start, end, other.report.text, model),
                score=model.score,
            )


def _assertion(text: str, start: int, end: int, other: str, model: Entity) -> Assertion:
    """The assertion of the other report, unless the words around it here plainly differ."""
    own_stance, model_stance = stance_at(text, start, end), stance_at(other, model.start, model.end)
    if own_stance is None or own_stance == model_stance:
        return model.assertion
    if model_stance is None and own_stance == (model.assertion != Assertion.ABSENT):
        return model.assertion
    return Assertion.PRESENT if own_stance else Assertion.ABSENT


def _agreed(ref: _Read, cand: _Read) -> list[tuple[int, Entity]]:
    """Entities of the candidate whose words the reference has, as they were read there."""
    pairs = []
    for key, places in cand.entities.items():
        alike = [ref.report.entities[place] for place in ref.entities.get(key, ())]
        # Of entities of the same words, the first of each type and assertion
        firsts = {(model.type, model.assertion): model for model in reversed(alike)}
        models = [model for model in alike if firsts[model.type, model.assertion] is model]
        if not models:
            pairs += [(p, e) for p in places if (e := _named(cand.report.entities[p], ref))]
            continue
        for place in places:
            entity = cand.report.entities[place]
            agreed = _verbatim(entity, alike, cand, ref)
            agreed = agreed or _like(entity, models, cand.report.text, ref.report.text)
            if agreed != entity:
                pairs.append((place, agreed))
    return pairs


def _verbatim(entity: Entity, models: Sequence[Entity], cand: _Read, ref: _Read) -> Entity | None:
    sentence = _sentence(cand.report.text, entity)
    for model in models:
        if _sentence(ref.report.text, model) == sentence:
            return entity.model_copy(update={"type": model.type, "assertion": model.assertion})
    return None


def _sentence(text: str, entity: Entity) -> str:
    """The sentence or line that an entity stands in, without case and outer spaces."""
    start = max((end.end() for end in _SENTENCE_END.finditer(text, 0, entity.start)), default=0)
    end = _SENTENCE_END.search(text, entity.end)
    return text[start : end.start() if end else len(text)].strip(" .\t-*").casefold()


def _named(entity: Entity, ref: _Read) -> Entity | None:
    """A finding as a diagnosis, if the reference makes that diagnosis in other words."""
    if entity.type != EntityType.FINDING or (concept := main_concept(entity.text)) is None:
        return None
    if concept.id not in ref.diagnoses:
        return None
    return entity.model_copy(update={"type": EntityType.DIAGNOSIS})


def _like(entity: Entity, models: Sequence[Entity], text: str, other: str) -> Entity:
    """An entity with the type and the assertion that its words have in the other report.

    Where the words around it deny it here and not there, or the other way round, that counts, if
    they tell of the other what was read there.
    """
    same = [model for model in models if model.type == entity.type] or list(models)
    if any(model.assertion == entity.assertion for model in same):
        same = [model for model in same if model.assertion == entity.assertion]
    own_stance = stance_at(text, entity.start, entity.end)
    assertion = entity.assertion
    if own_stance is not None:
        assertion = _assertion(text, entity.start, entity.end, other, same[0])
    return entity.model_copy(update={"type": same[0].type, "assertion": assertion})
