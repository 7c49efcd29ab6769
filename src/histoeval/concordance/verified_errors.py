"""Errors of a comparison after the answers of an NLI model.

An omission or an invention in a statement that the other report entails is none; what the other
report contradicts is a contradiction; a statement that the other report lacks is an omission or an
invention of its own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from histoeval.concordance.evidence import (
    ComparedPart,
    EntityMatch,
    ErrorKind,
    IgnoredErrors,
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
from histoeval.report import Assertion
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


def entailed_errors(
    errors: Iterable[ReportError], found: Verification, reports: _Sides
) -> IgnoredErrors:
    """The errors that are none, since the other report says the same in other words.

    Not one between two sites, or two diagnoses that the catalogue knows, unless one says less than
    the other: that they differ is a fact; nor where only one report is sure of its diagnosis. A
    value is one only where the wording is another one.
    """
    # Where the diagnoses stand that the catalogue knows, and which of them are in doubt
    known = tuple(
        {
            diagnosis.entity.start: diagnosis.hedged
            for diagnosis in (*report.diagnoses, *report.others, *report.made, *report.denied)
            if diagnosis.known
        }
        for report in reports
    )
    return IgnoredErrors(frozenset(error for error in errors if _entailed(error, found, known)))


def _entailed(
    error: ReportError, verification: Verification, answers: Sequence[Mapping[int, bool]]
) -> bool:
    if error.kind in _READ_BY_RULE:
        return _is_misread(error, verification)
    sides = [
        (entity, those, there.get(entity.start))
        for entity, those, there in zip(
            (error.reference, error.candidate),
            (verification.reference, verification.candidate),
            answers,
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


def _is_misread(error: ReportError, verification: Verification) -> bool:
    """True if two values are one, in statements that differ in wording and entail each other."""
    reference, candidate = error.reference, error.candidate
    if (
        reference is None
        or candidate is None
        or _are_plainly_opposed(reference.text, candidate.text)
    ):
        return False
    sides = [
        [v.statement.weighty for v in side if v.statement.holds(e) and v.answer.entailment >= _SURE]
        for side, e in ((verification.reference, reference), (verification.candidate, candidate))
    ]
    return any(
        len(ref & cand) <= _REPHRASED * len(ref | cand) and len(ref ^ cand) > _ONE_EXCHANGED
        for ref, cand in product(*sides)
    )


def _are_plainly_opposed(first: str, second: str) -> bool:
    """True if both state a value in plain words, and have none in common."""
    words = [[word.plain for word in words_of(text)] for text in (first, second)]
    shared = frozenset(words[0]) & frozenset(words[1])
    here, there = (
        frozenset(_PLAIN_VALUE.findall(" ".join(word for word in side if word not in shared)))
        for side in words
    )
    return bool(here and there) and not here & there


def verified_parts(
    found: Verification, parts: Parts, entailed: IgnoredErrors, reports: _Sides
) -> dict[str, ComparedPart]:
    """The parts of a comparison, and those that the statements make."""
    opposites = _opposites(found)
    parts = {
        name: replace(
            part,
            mistakes=tuple(_as_contradiction(e, opposites, reports) for e in part.mistakes),
        )
        for name, part in parts.items()
    }
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


def _raised(part: ComparedPart, verification: Verification, worst: Severity | None) -> ComparedPart:
    """A part at least as good as two reports are that entail each other.

    Every statement of the other is entailed where the part has an error, and nearly all are where
    it has none that anybody could name and no other part has a critical one.
    """
    least = (
        verification.mutual
        if part.mistakes or worst == Severity.CRITICAL
        else verification.agreement
    )
    if least < _MUTUAL or part.value is None or part.value >= least:
        return part
    for error in part.mistakes:
        entities = [entity for entity in (error.reference, error.candidate) if entity]
        one_doubts = len({e.assertion == Assertion.UNCERTAIN for e in entities}) == 2
        if error.severity >= Severity.MAJOR or error.kind in _READ_BY_RULE or one_doubts:
            return part
    return replace(part, value=least)


def _matches(verification: Verification, entailed: IgnoredErrors) -> Iterator[EntityMatch]:
    for error in sorted(entailed.errors, key=lambda error: error.message):
        for side, those in enumerate((verification.reference, verification.candidate)):
            entity = (error.reference, error.candidate)[side]
            holder = next((v for v in those if v.statement.holds(entity)), None)
            if entity is None or holder is None or holder.nearest is None:
                continue
            pair = (entity, holder.nearest.entity)
            yield EntityMatch("kept", *(pair[::-1] if side else pair), holder.answer.entailment)
            break


class _Opposites(NamedTuple):
    reference: ReportStatement
    candidate: ReportStatement
    severity: Severity

    @property
    def speak_of_same(self) -> bool:
        """True if they name one thing, or a diagnosis stands against none at all."""
        said = self.reference.asked, self.candidate.asked
        if _things(said[0]) & _things(said[1]) or len(_topics(said[0]) & _topics(said[1])) > 1:
            return True
        one, other = map(main_concept, said)
        if one is None or other is None:
            return False
        none = Behaviour.NORMAL in (one.behaviour, other.behaviour)
        return none or diagnosis_tree().are_kin(one.id, other.id)

    def holds(self, error: ReportError) -> bool:
        """True if what an error is about stands in the statement of its report."""
        ref, cand = error.reference, error.candidate
        return (not ref or self.reference.holds(ref)) and (not cand or self.candidate.holds(cand))


def _opposites(verification: Verification) -> list[_Opposites]:
    """The statements about the same thing that contradict each other, each once, surest first."""
    pairs = [
        (verified.opposed, _Opposites(verified.statement, verified.nearest, verified.severity))
        for verified in verification.reference
        if verified.is_contradicted and verified.nearest
    ] + [
        (verified.opposed, _Opposites(verified.nearest, verified.statement, verified.severity))
        for verified in verification.candidate
        if verified.is_contradicted and verified.nearest
    ]
    pairs = [(opposed, pair) for opposed, pair in pairs if pair.speak_of_same]
    opposites: list[_Opposites] = []
    for _, pair in sorted(pairs, key=lambda item: (-item[0], -item[1].severity)):
        taken = [statement for known in opposites for statement in known[:2]]
        if pair.reference not in taken and pair.candidate not in taken:
            opposites.append(pair)
    return opposites


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
    # An entity of the other report about the same diagnosis, finding, marker or thing
    for counterpart in filter(statement.holds, report.report.entities):
        same = plain(entity.text) == plain(counterpart.text)
        same = same and entity.assertion == counterpart.assertion
        if not same and _subjects(entity.text) & _subjects(counterpart.text):
            break
    else:
        return error
    return replace(
        error,
        kind=ErrorKind.CONTRADICTION,
        severity=max(error.severity, pair.severity),
        reference=error.reference or counterpart,
        candidate=error.candidate or counterpart,
    )


@lru_cache(maxsize=1 << 12)
def _subjects(phrase: str) -> frozenset[str]:
    """Subjects of a phrase: what the catalogues know of it, or its words but for values."""
    concept = main_concept(phrase)
    ids = {concept.id} if concept else {finding.id for finding in find_findings(phrase)}
    return frozenset({*ids, *find_markers(phrase)}) or _words_of_weight(phrase)


@lru_cache(maxsize=1 << 12)
def _things(statement: str) -> frozenset[str]:
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


def _unsaid(verification: Verification, errors: Sequence[ReportError]) -> Iterator[ReportError]:
    """Statements that one report lacks, where no error says so yet.

    None where each has some that the other lacks: they may well say the same.
    """
    both = verification.reference, verification.candidate
    lacking = [[v for v in side if _is_unsaid(v, other)] for side, other in (both, both[::-1])]
    if all(lacking):
        return
    for side, those in enumerate(lacking):
        kind = (ErrorKind.OMISSION, ErrorKind.INVENTION)[side]
        for verified in those:
            if not any(verified.statement.holds((e.reference, e.candidate)[side]) for e in errors):
                entity = verified.statement.entity
                yield ReportError.one_sided(kind, "consistent", Severity.MINOR, entity)


def _is_unsaid(statement: VerifiedStatement, others: Iterable[VerifiedStatement]) -> bool:
    """True if the other report does not say it, or not all of it, nor the opposite."""
    entailment, own = statement.answer.entailment, statement.statement.weighty
    if statement.is_contradicted or entailment < _UNSAID:
        return not statement.is_contradicted
    elsewhere = frozenset(word for other in others for word in other.statement.words)
    # The nearest statement with words added that the other report does not have
    if statement.nearest is not None and entailment <= FIRM:
        nearest = statement.nearest.weighty
        if len(nearest) >= _LEAST_SHARED and nearest < own and not (own - nearest) & elsewhere:
            return True
    # The other report has hardly a word of it, and is not sure to say it in others
    return entailment < _REWORDED and len(own & elsewhere) <= _NEW * len(own)
