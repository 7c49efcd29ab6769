"""Matches and errors between two reports, for a person to check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Any, Self

from histoeval.report import Entity


class ErrorKind(StrEnum):
    """Kinds of error that a candidate can make."""

    look: str  # how it is shown: omitted, invented or contradicted
    says: str  # what raters read about it

    def __new__(cls, name: str, look: str, says: str) -> Self:
        kind = str.__new__(cls, name)
        kind._value_, kind.look, kind.says = name, look, says
        return kind

    OMISSION = "omission", "omitted", "the reference states it, the candidate does not"
    INVENTION = "invention", "invented", "the candidate states it, the reference does not"
    CONTRADICTION = "contradiction", "contradicted", "the two say the opposite of each other"
    WRONG_DIAGNOSIS = "wrong_diagnosis", "contradicted", "another disease is diagnosed"
    OVERCALL = (
        "overcall",
        "contradicted",
        "the candidate is graver: malignant for benign, invasive for in situ",
    )
    UNDERCALL = (
        "undercall",
        "contradicted",
        "the candidate is less grave: benign for malignant, in situ for invasive",
    )
    WRONG_SITE = "wrong_site", "contradicted", "another organ or part of it"
    WRONG_LATERALITY = "wrong_laterality", "contradicted", "left for right, or the other way round"
    WRONG_GRADE = "wrong_grade", "contradicted", "another grade or degree of dysplasia"
    WRONG_STAGE = "wrong_stage", "contradicted", "another stage or depth of invasion"
    MARKER_FLIP = "marker_flip", "contradicted", "a stain or test has another result"
    MEASUREMENT_MISMATCH = "measurement_mismatch", "contradicted", "another size, count or share"
    MISSING_SPECIMEN = (
        "missing_specimen",
        "omitted",
        "a whole part of the reference is not reported",
    )
    INVENTED_SPECIMEN = (
        "invented_specimen",
        "invented",
        "a part is reported that the reference does not have",
    )
    SWAPPED_SPECIMENS = "swapped_specimens", "contradicted", "two parts have each other's findings"
    MOVED_FINDING = "moved_finding", "contradicted", "a finding is reported of the wrong part"


class Severity(IntEnum):
    """Severity of an error: from a detail to one that could harm a patient."""

    MINOR = 1
    MODERATE = 2
    MAJOR = 3
    CRITICAL = 4


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """Two entities that mean the same, or nearly so."""

    part: str
    reference: Entity
    candidate: Entity
    similarity: float
    specimen: str = ""  # the part of the report that it is of; empty in a report of one


@dataclass(frozen=True, slots=True)
class ReportError:
    """An error: its kind, how bad it is, and where it is in the two reports."""

    kind: ErrorKind
    part: str
    severity: Severity
    reference: Entity | None
    candidate: Entity | None
    reference_called: str = ""
    # The words for an entity that say more than its own: renal vein invasion
    candidate_called: str = ""
    specimen: str = ""  # the part of the report that it is of; of two that were swapped, both

    @classmethod
    def one_sided(
        cls, kind: ErrorKind, part: str, severity: Severity, entity: Entity
    ) -> ReportError:
        """An omission, of which only the reference has the entity, or an invention."""
        if kind == ErrorKind.OMISSION:
            return cls(kind, part, severity, entity, None)
        return cls(kind, part, severity, None, entity)

    @property
    def words(self) -> tuple[str | None, str | None]:
        return (
            _quoted(self.reference, self.reference_called),
            _quoted(self.candidate, self.candidate_called),
        )

    @property
    def message(self) -> str:
        """The error in words."""
        kind = self.kind.replace("_", " ")
        reference, candidate = self.words
        if reference is None:
            return f"{kind}: {candidate} is not in the reference"
        if candidate is None:
            return f"{kind}: {reference} is not in the candidate"
        return f"{kind}: {candidate} for {reference}"


@dataclass(frozen=True, slots=True)
class ComparedPart:
    """One part of the comparison: its value, or None where neither report mentions it."""

    value: float | None
    matched: tuple[EntityMatch, ...] = ()
    mistakes: tuple[ReportError, ...] = field(default=())


NOT_MENTIONED = ComparedPart(None)


@dataclass(frozen=True)
class IgnoredErrors:
    """Errors that a comparison does not count, to see what they cost."""

    errors: frozenset[ReportError] = frozenset()

    @cached_property
    def _about(self) -> frozenset[tuple[str, Entity | None, Entity | None]]:
        """Each topic with both entities of an error, one, or none, to be asked for."""
        return frozenset(
            (_topic(error.part), reference, candidate)
            for error in self.errors
            for reference in (None, error.reference)
            for candidate in (None, error.candidate)
        )

    def __call__(self, error: ReportError) -> bool:
        """True if an error is one of them, or about an entity that one of them is about."""
        return bool(self.errors) and self.between(error.part, error.reference, error.candidate)

    def between(self, part: str, reference: Entity | None, candidate: Entity | None) -> bool:
        """True if one of them is about these entities, or about the only one that is given."""
        return bool(self.errors) and (_topic(part), reference, candidate) in self._about


NONE_IGNORED = IgnoredErrors()


def without_errors(part: ComparedPart, ignored: IgnoredErrors) -> ComparedPart:
    return replace(part, mistakes=tuple(error for error in part.mistakes if not ignored(error)))


# --- what is listed ------------------------------------------------------------------------------


# How many characters a bracket that was cut may have left, for it to be shown whole
_BRACKET_REST = 30

# Parts that speak of the same things: what one lists, the other need not list again
_TOPICS = {"findings": "diagnosis", "no_inventions": "site"}

_Place = tuple[int, int] | str | None
# A topic, and what an error or a match about it is of in both reports
_Key = tuple[str, _Place, _Place]


@dataclass(frozen=True, slots=True)
class ListedError:
    """An error as it is listed, once for all parts that count it."""

    shown: ReportError
    counted: tuple[ReportError, ...]  # what the parts count for it


def listed(parts: Iterable[ComparedPart]) -> tuple[list[EntityMatch], list[ListedError]]:
    """Matches and errors, each fact once and the worst errors first.

    An omission or an invention of what another error is about belongs to that error. One of what
    is matched all the same, because the match says only a part of it, takes the place of the match.
    One in a sentence that the other report contradicts as a whole belongs to that contradiction.
    """
    every = list(parts)
    matches = {_key(match): match for part in every for match in part.matched}
    mistakes = list(dict.fromkeys(mistake for part in every for mistake in part.mistakes))
    keys = [_key(mistake) for mistake in mistakes]
    owners = _owners(matches) | _owners(keys)
    # An error about only a part of two entities that match has both
    whole = [
        replace(mistake, reference=match.reference, candidate=match.candidate) if match else mistake
        for mistake, key in zip(mistakes, keys, strict=True)
        for match in (matches.get(owners.get(key, key)),)
    ]
    named = {_key(error): _fact(error) for error in sorted(whole, key=lambda e: len(e.message))}
    facts = [named[_key(mistake)] for mistake in whole]  # by the longest name of each place
    owners = _owners(facts)
    opposites = [
        (error, fact)
        for error, fact in zip(whole, facts, strict=True)
        if error.kind == ErrorKind.CONTRADICTION and error.part == "consistent"
    ]
    groups: dict[_Key, list[int]] = {}
    for place, fact in enumerate(facts):
        sentences = (other for error, other in opposites if _is_within(whole[place], error))
        groups.setdefault(next(sentences, owners.get(fact, fact)), []).append(place)
    errors = []
    for group in groups.values():
        alike = [whole[i] for i in group]
        # The error that tells most of some about the same, as severe as the worst of them
        most = max(
            alike,
            key=lambda e: (None not in (e.reference, e.candidate), e.severity, len(e.message)),
        )
        shown = replace(most, severity=max(error.severity for error in alike))
        errors.append(ListedError(shown, tuple(mistakes[i] for i in group)))
    wrong = {_key(mistake) for mistake in whole}
    left = [match for key, match in matches.items() if key not in wrong]
    return left, sorted(errors, key=lambda error: -error.shown.severity)


def _topic(part: str) -> str:
    return _TOPICS.get(part, part)


def _key(item: EntityMatch | ReportError) -> _Key:
    """Topic of an error or a match, and where that is in both reports."""
    here, there = ((e.start, e.end) if e else None for e in (item.reference, item.candidate))
    return _topic(item.part), here, there


def _fact(error: ReportError) -> _Key:
    """Key of an error in which a diagnosis or finding in the same words is the same anywhere."""
    if _topic(error.part) != "diagnosis":
        return _key(error)
    here, there = (words and words.casefold() for words in error.words)
    return "diagnosis", here, there


def _owners(keys: Iterable[_Key]) -> dict[_Key, _Key]:
    """For each side of what is about both reports, the first that has this side."""
    owners: dict[_Key, _Key] = {}
    for key in keys:
        topic, here, there = key
        if here and there:
            owners.setdefault((topic, here, None), key)
            owners.setdefault((topic, None, there), key)
    return owners


def _is_within(error: ReportError, sentences: ReportError) -> bool:
    """True if an omission or an invention stands in one of two sentences that are opposites."""
    if None not in (error.reference, error.candidate):
        return False
    entity, sentence = (
        (error.reference, sentences.reference)
        if error.reference
        else (error.candidate, sentences.candidate)
    )
    return bool(
        entity and sentence and sentence.start <= entity.start and entity.end <= sentence.end
    )


def evidence_of(parts: Iterable[ComparedPart]) -> dict[str, Any]:
    """The evidence of all parts as it stands in `scores.jsonl`; the worst errors come first."""
    matches, errors = listed(parts)
    return {
        "matches": [
            {
                "part": match.part,
                "reference": _mention(match.reference),
                "candidate": _mention(match.candidate),
                "similarity": round(match.similarity, 4),
            }
            | _specimen(match)
            for match in matches
        ],
        "errors": [
            {
                "kind": str(error.shown.kind),
                "part": error.shown.part,
                "severity": int(error.shown.severity),
                "reference": _mention(error.shown.reference),
                "candidate": _mention(error.shown.candidate),
                "message": error.shown.message,
            }
            | _specimen(error.shown)
            for error in errors
        ],
    }


def _specimen(item: EntityMatch | ReportError) -> dict[str, str]:
    return {"specimen": item.specimen} if item.specimen else {}


def closed(entity: Entity, text: str) -> Entity:
    """An entity of a text, with the rest of a bracket that it opens: HER2 negative (1+)."""
    opened = entity.text.rfind("(")
    if opened < 0 or ")" in entity.text[opened:]:
        return entity
    end = text.find(")", entity.end, entity.end + _BRACKET_REST) + 1
    if not end or set("(\n") & set(text[entity.end : end]):
        return entity
    return entity.model_copy(update={"text": text[entity.start : end], "end": end})


def _mention(entity: Entity | None) -> dict[str, Any] | None:
    return None if entity is None else entity.model_dump(mode="json", exclude={"score"})


def _quoted(entity: Entity | None, called: str) -> str | None:
    if entity is None:
        return None
    phrase = " ".join((called or entity.text).split())
    return f"'{phrase}'" if entity.assertion == "present" else f"'{phrase}' ({entity.assertion})"
