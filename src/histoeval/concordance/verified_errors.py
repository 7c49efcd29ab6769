"""What follows from an NLI model's answers for the errors of a comparison.

An omission or an invention in a statement that the other report entails is none; what the other
report contradicts is a contradiction; a statement that the other report lacks is an omission or an
invention of its own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from histoeval.concordance.evidence import (
    ComparedPart,
    EntityMatch,
    ErrorKind,
    Excused,
    ReportError,
    Severity,
)
from histoeval.concordance.specimens.statements import little_words
from histoeval.concordance.statements import ReportStatement
from histoeval.concordance.verification import (
    ENTAILED,
    FIRM,
    Parts,
    Verification,
    VerifiedStatement,
    share_of,
)
from histoeval.facts.facts import Facts
from histoeval.report import Assertion, Entity
from histoeval.terms.catalogue import Behaviour, diagnosis_tree
from histoeval.terms.findings import find_findings
from histoeval.terms.naming import main_concept
from histoeval.terms.plain import plain, words_of
from histoeval.terms.sites import find_operated, find_sites
from histoeval.terms.values.markers import find_markers

# The probability of entailment below which the other report does not say a statement
_UNSAID = 0.1
# The probability of entailment below which a statement is new to a report that has no larger share
# of its words of weight than this
_REWORDED, _NEW = 0.6, 0.34
_LEAST_SHARED = 2  # words of weight that two statements have, of which one says more
# The probability of entailment that it takes where the comparison sees a finding reversed
_REVERSED = 0.75
_MUTUAL = 0.8  # the least entailment of any statement from which on two reports say the same

# Errors that follow from not knowing that two phrases mean the same
_DOUBTFUL = frozenset(
    {
        ErrorKind.OMISSION,
        ErrorKind.INVENTION,
        ErrorKind.WRONG_DIAGNOSIS,
        ErrorKind.OVERCALL,
        ErrorKind.UNDERCALL,
        ErrorKind.WRONG_SITE,
    }
)

# Errors between two values, each of which a rule reads in the words around it
_READ_BY_RULE = frozenset({ErrorKind.MARKER_FLIP, ErrorKind.WRONG_GRADE, ErrorKind.WRONG_STAGE})
_SURE = 0.95  # the probability of entailment, both ways, from which on a rule misread one of them
# The share of words in common, and the number of others, that two wordings of one statement have:
# at most, and more than. Where it is the same wording, the word that differs is the value.
_REPHRASED, _ONE_EXCHANGED = 0.5, 2
# What leaves a rule nothing to misread, whatever a model says
_PLAIN_VALUE = re.compile(
    r"\d+|\+|positiv|negativ|absen|present|los[st]|retain|intact|deficien|proficien|amplif|mut|wild"
    r"|methylat|kappa|lambda|low|high|intermediate|moderate|poor|well|mild|severe|free|involved",
    re.IGNORECASE,
)

_SHORT = 3  # letters of a word that does not tell what a text is about: up to so many

_ONE_SIDED = frozenset({ErrorKind.OMISSION, ErrorKind.INVENTION})
_Sides = tuple[Facts, Facts]


def entailed_errors(errors: Iterable[ReportError], found: Verification, reports: _Sides) -> Excused:
    """The errors that are none, since the other report says the same in other words.

    Not one between two sites, or two diagnoses that the catalogue knows, unless one says less than
    the other: that they differ is a fact; nor where only one report is sure of its diagnosis. A
    value is one only where the wording is another one.
    """
    known = tuple(map(_known, reports))
    return Excused(frozenset(each for each in errors if _entailed(each, found, known)))


def _known(report: Facts) -> dict[int, bool]:
    """Where the diagnoses stand that the catalogue knows, and which of them are in doubt."""
    named = (*report.diagnoses, *report.others, *report.made, *report.denied)
    return {each.entity.start: each.hedged for each in named if each.known}


def _entailed(error: ReportError, found: Verification, known: Sequence[Mapping[int, bool]]) -> bool:
    if error.kind in _READ_BY_RULE:
        return _is_misread(error, found)
    sides = [
        (entity, those, there.get(entity.start))
        for entity, those, there in zip(
            (error.reference, error.candidate),
            (found.reference, found.candidate),
            known,
            strict=True,
        )
        if entity is not None
    ]
    grave = error.severity >= Severity.MAJOR
    doubts = [doubt for *_, doubt in sides if doubt is not None]
    both_known = len(doubts) == 2
    if both_known and doubts[0] != doubts[1]:
        return False
    if error.kind not in _ONE_SIDED and (both_known or (grave and error.part == "site")):
        return False
    reversal = error.kind == ErrorKind.CONTRADICTION and error.part == "findings"
    least = FIRM if grave else _REVERSED if reversal else ENTAILED
    return (error.kind in _DOUBTFUL or reversal) and all(
        any(
            v.answer.entailment >= (least if doubt is None else FIRM)
            for v in those
            if v.statement.holds(entity)
        )
        for entity, those, doubt in sides
    )


def _is_misread(error: ReportError, found: Verification) -> bool:
    """Whether two values are one, in statements that differ in wording and entail each other."""
    one, other = error.reference, error.candidate
    if one is None or other is None:
        return False
    if _are_plainly_opposed(one.text, other.text):
        return False
    return any(
        _is_rephrased(mine.statement, yours.statement)
        for mine in found.reference
        if mine.statement.holds(one) and mine.answer.entailment >= _SURE
        for yours in found.candidate
        if yours.statement.holds(other) and yours.answer.entailment >= _SURE
    )


def _are_plainly_opposed(one: str, other: str) -> bool:
    """Whether both state a value in plain words, and have none in common."""
    words = [[word.plain for word in words_of(text)] for text in (one, other)]
    named = frozenset(words[0]) & frozenset(words[1])
    here, there = (
        frozenset(_PLAIN_VALUE.findall(" ".join(word for word in side if word not in named)))
        for side in words
    )
    return bool(here and there) and not here & there


def _is_rephrased(one: ReportStatement, other: ReportStatement) -> bool:
    shared, all_ = one.weighty & other.weighty, one.weighty | other.weighty
    return len(shared) <= _REPHRASED * len(all_) and len(all_ - shared) > _ONE_EXCHANGED


def verified_parts(
    found: Verification, parts: Parts, entailed: Excused, reports: _Sides
) -> dict[str, ComparedPart]:
    """The parts of a comparison, and those that the statements make."""
    opposites = _opposites(found)
    parts = {name: _sharpened(part, opposites, reports) for name, part in parts.items()}
    errors = [error for part in parts.values() for error in part.mistakes]
    kept, supported = (
        share_of(side) if found.brief else None for side in (found.reference, found.candidate)
    )
    worst = max((error.severity for error in errors), default=None)
    matched = tuple(_matches(found, entailed))
    mistakes = (*_contradictions(opposites, errors), *_unsaid(found, errors))
    return {
        **{name: _raised(part, found, worst) for name, part in parts.items()},
        "kept": ComparedPart(kept, matched),
        "supported": ComparedPart(supported),
        "consistent": ComparedPart(found.consistent, (), mistakes),
    }


def _raised(part: ComparedPart, found: Verification, worst: Severity | None) -> ComparedPart:
    """A part at least as good as two reports are that entail each other.

    Every statement of the other is entailed where the part has an error, and nearly all are where
    it has none that anybody could name and no other part has a critical one.
    """
    least = found.mutual if part.mistakes or worst == Severity.CRITICAL else found.agreement
    if least < _MUTUAL or part.value is None or part.value >= least:
        return part
    if any(
        error.severity >= Severity.MAJOR or error.kind in _READ_BY_RULE or _one_doubts(error)
        for error in part.mistakes
    ):
        return part
    return replace(part, value=least)


def _one_doubts(error: ReportError) -> bool:
    sides = [each for each in (error.reference, error.candidate) if each]
    return len({each.assertion == Assertion.UNCERTAIN for each in sides}) == 2


def _matches(found: Verification, entailed: Excused) -> Iterator[EntityMatch]:
    """What was an error, and is said in other words."""
    for error in sorted(entailed.errors, key=lambda error: error.message):
        for side, those in enumerate((found.reference, found.candidate)):
            entity = (error.reference, error.candidate)[side]
            holder = next((v for v in those if v.statement.holds(entity)), None)
            if entity is None or holder is None or holder.nearest is None:
                continue
            pair = (entity, holder.nearest.entity)
            yield EntityMatch("kept", *(pair[::-1] if side else pair), holder.answer.entailment)
            break


class _Opposites(NamedTuple):
    """Two statements, one of each report, that contradict each other."""

    reference: ReportStatement
    candidate: ReportStatement
    severity: Severity

    @property
    def speak_of_same(self) -> bool:
        """Whether they name one thing, or a diagnosis stands against none at all."""
        said = self.reference.asked, self.candidate.asked
        if _things(said[0]) & _things(said[1]) or len(_topics(said[0]) & _topics(said[1])) > 1:
            return True
        one, other = map(main_concept, said)
        if one is None or other is None:
            return False
        none = Behaviour.NORMAL in (one.behaviour, other.behaviour)
        return none or diagnosis_tree().are_kin(one.id, other.id)

    def holds(self, error: ReportError) -> bool:
        """Whether what an error is about stands in the statement of its report."""
        return all(
            entity is None or statement.holds(entity)
            for statement, entity in (
                (self.reference, error.reference),
                (self.candidate, error.candidate),
            )
        )


def _opposites(found: Verification) -> list[_Opposites]:
    """The statements about the same thing that contradict each other, each once, surest first."""
    pairs = [
        (each.opposed, _Opposites(each.statement, each.nearest, each.severity))
        for each in found.reference
        if each.is_contradicted and each.nearest
    ] + [
        (each.opposed, _Opposites(each.nearest, each.statement, each.severity))
        for each in found.candidate
        if each.is_contradicted and each.nearest
    ]
    pairs = [each for each in pairs if each[1].speak_of_same]
    opposites: list[_Opposites] = []
    for _, pair in sorted(pairs, key=lambda each: (-each[0], -each[1].severity)):
        taken = [span for each in opposites for span in (each.reference, each.candidate)]
        if pair.reference not in taken and pair.candidate not in taken:
            opposites.append(pair)
    return opposites


def _sharpened(
    part: ComparedPart, opposites: Sequence[_Opposites], reports: _Sides
) -> ComparedPart:
    """A part in which what the other report says the opposite of is no omission."""
    mistakes = tuple(_as_contradiction(error, opposites, reports) for error in part.mistakes)
    return replace(part, mistakes=mistakes)


def _as_contradiction(
    error: ReportError, opposites: Sequence[_Opposites], reports: _Sides
) -> ReportError:
    """An omission or invention as the contradiction that it is, if both reports speak of it."""
    if error.kind not in _ONE_SIDED or None not in (error.reference, error.candidate):
        return error
    pair = next((pair for pair in opposites if pair.holds(error)), None)
    entity = error.reference or error.candidate
    if pair is None or entity is None:
        return error
    statement, report = (
        (pair.candidate, reports[1]) if error.reference else (pair.reference, reports[0])
    )
    others = (other for other in report.report.entities if statement.holds(other))
    counterpart = next((other for other in others if _is_about_same(entity, other)), None)
    if counterpart is None:
        return error
    return replace(
        error,
        kind=ErrorKind.CONTRADICTION,
        severity=max(error.severity, pair.severity),
        reference=error.reference or counterpart,
        candidate=error.candidate or counterpart,
    )


def _is_about_same(one: Entity, other: Entity) -> bool:
    """Whether two entities name the same diagnosis, finding, marker or thing, and differ."""
    same = plain(one.text) == plain(other.text) and one.assertion == other.assertion
    return not same and bool(_subjects(one.text) & _subjects(other.text))


@lru_cache(maxsize=1 << 12)
def _subjects(phrase: str) -> frozenset[str]:
    """What a phrase is about: what the catalogues know of it, or its words but for values."""
    concept = main_concept(phrase)
    known = {concept.id} if concept else {finding.id for finding in find_findings(phrase)}
    return frozenset({*known, *find_markers(phrase)}) or _words_of_weight(phrase)


@lru_cache(maxsize=1 << 12)
def _things(statement: str) -> frozenset[str]:
    """The findings and markers that a statement names."""
    findings = {finding.id for finding in find_findings(statement)}
    return frozenset({*findings, *find_markers(statement)})


@lru_cache(maxsize=1 << 12)
def _topics(statement: str) -> frozenset[str]:
    """All words of a statement but for values and for what was taken, and where."""
    taken = (*find_operated(statement), *find_sites(statement))
    places = {word.plain for it in taken for word in words_of(statement[it.start : it.end])}
    return _words_of_weight(statement) - places


def _words_of_weight(text: str) -> frozenset[str]:
    words = {word.plain for word in words_of(text)} - little_words()
    return frozenset(w for w in words if len(w) > _SHORT and not _PLAIN_VALUE.search(w))


def _contradictions(
    opposites: Sequence[_Opposites], errors: Sequence[ReportError]
) -> Iterator[ReportError]:
    """Statements that contradict each other, where no error between two entities says so."""
    for pair in opposites:
        if not any(error.reference and error.candidate and pair.holds(error) for error in errors):
            both = pair.reference.entity, pair.candidate.entity
            yield ReportError(ErrorKind.CONTRADICTION, "consistent", pair.severity, *both)


def _unsaid(found: Verification, errors: Sequence[ReportError]) -> Iterator[ReportError]:
    """Statements that one report lacks, where no error says so yet.

    None where each has some that the other lacks: they may well say the same.
    """
    both = found.reference, found.candidate
    lacking = [
        [each for each in those if _is_unsaid(each, others)] for those, others in (both, both[::-1])
    ]
    if all(lacking):
        return
    for side, those in enumerate(lacking):
        kind = (ErrorKind.OMISSION, ErrorKind.INVENTION)[side]
        for each in those:
            if not any(each.statement.holds((e.reference, e.candidate)[side]) for e in errors):
                entity = each.statement.entity
                yield ReportError.one_sided(kind, "consistent", Severity.MINOR, entity)


def _is_unsaid(each: VerifiedStatement, others: Iterable[VerifiedStatement]) -> bool:
    """Whether the other report does not say it, or not all of it, nor the opposite."""
    if each.is_contradicted:
        return False
    elsewhere = frozenset(word for other in others for word in other.statement.words)
    new = _says_more(each, elsewhere) or _is_new(each, elsewhere)
    return each.answer.entailment < _UNSAID or new


def _says_more(each: VerifiedStatement, elsewhere: frozenset[str]) -> bool:
    """Whether it is the nearest statement with words added that the other report does not have."""
    if each.nearest is None or each.answer.entailment > FIRM:
        return False
    own, other = each.statement.weighty, each.nearest.weighty
    return len(other) >= _LEAST_SHARED and other < own and not (own - other) & elsewhere


def _is_new(each: VerifiedStatement, elsewhere: frozenset[str]) -> bool:
    """Whether the other report has hardly a word of it, and is not sure to say it in others."""
    own = each.statement.weighty
    known = len(own & elsewhere)
    return each.answer.entailment < _REWORDED and known <= _NEW * len(own)
