"""What an NLI model says of the statements of two reports: entailed, contradicted, or neither.

Catalogues and aligner compare words and phrases. What they leave unmatched is put to an NLI model,
statement by statement and both ways: a statement of one report against those of the other that are
nearest to it. An omission or an invention in a statement that the other report entails is none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from histoeval.concordance.evidence import (
    ComparedPart,
    EntityMatch,
    ErrorKind,
    Excused,
    ReportError,
    Severity,
)
from histoeval.concordance.statements import ReportStatement, statements_of
from histoeval.facts.facts import Facts
from histoeval.nli.entailer import Entailment, NliPair
from histoeval.reader.sentences import TextSpan
from histoeval.report import Entity

Judge = Callable[[Sequence[NliPair]], Sequence[Entailment]]
Parts = Mapping[str, ComparedPart]

ENTAILED, CONTRADICTED = 0.5, 0.8
"""Probabilities from which on a statement counts as entailed, and as contradicted."""
_CERTAIN = 0.95
_FIRM = 0.85
"""The probability of entailment that it takes where the catalogue knows the diagnosis that is left
out or invented."""
_UNSAID = 0.1
"""The probability of entailment below which the other report does not say a statement."""
_REWORDED, _NEW = 0.6, 0.34
"""The probability of entailment below which a statement is new to a report that has no larger share
of its words of weight than this."""
_LEAST_SHARED = 2
"""Words of weight that two statements have, of which one says more."""
_REVERSED = 0.75
"""The probability of entailment that it takes where the comparison sees a finding reversed."""
_MUTUAL = 0.8
"""The least entailment of any statement from which on two reports say the same."""
_WHOLE = 70
"""Words up to which a report is a premise as a whole, and all its statements are asked about."""
_BRIEF = 40
"""Words up to which it counts how much of two reports is entailed."""
_NEAREST = 3
"""Statements of a longer report that a statement is compared with."""
_AT_ONCE = 4
"""Statements that a statement is compared with once more, where it is not entailed by those."""
_FEW = 0.5
"""The share of statements that may be left open for that."""
_MATCHED = 2
"""How many words in common an entity is worth that both statements have."""

SAME, OPEN = Entailment(1.0, 0.0, 0.0), Entailment(0.0, 1.0, 0.0)
"""The answers for a statement that the other report has word for word, and for one that has no word
of weight in common with it."""


@dataclass(frozen=True, slots=True)
class StatementQuestion:
    """A statement of one report, and the premise that the other has for it.

    There is none where the answer is known: the other report has the very words, nothing like it,
    or the comparison has settled it.
    """

    statement: ReportStatement
    known: Entailment | None = None
    premise: tuple[ReportStatement, ...] = ()
    """The statements of the other report that it is put against, the nearest first."""
    pair: NliPair | None = None
    rest: tuple[NliPair, ...] = ()
    """The statement put against what else the other report says in words of its own."""


@dataclass(frozen=True, slots=True)
class VerifiedStatement:
    """A statement of one report and what the other says of it."""

    statement: ReportStatement
    nearest: ReportStatement | None
    """The statement of the other report that is nearest to it."""
    answer: Entailment
    opposed: float = 0.0
    """How surely it and one of those statements contradict each other: the less sure way round."""

    @property
    def is_contradicted(self) -> bool:
        """Whether the other report says the opposite, as far as the model can tell."""
        return self.opposed >= CONTRADICTED

    @property
    def severity(self) -> Severity:
        """How bad it is that the other report says the opposite."""
        certain = self.opposed >= _CERTAIN
        return Severity(int(Severity.MODERATE) + (self.statement.decisive and certain))


@dataclass(frozen=True, slots=True)
class Verification:
    """What each report says of the statements of the other."""

    reference: tuple[VerifiedStatement, ...]
    candidate: tuple[VerifiedStatement, ...]
    whole: bool
    """Whether all statements were asked about, and not only those that were left unmatched."""

    @property
    def brief(self) -> bool:
        """Whether both reports are no more than a line or two."""
        sides = (
            [len(each.statement.words) for each in s] for s in (self.reference, self.candidate)
        )
        return self.whole and max(map(sum, sides)) <= _BRIEF

    def without(self, excused: Excused) -> "Verification":
        """With the statements entailed that errors which do not count are about."""
        if not excused.errors:
            return self
        sides = [(e.reference, e.candidate) for e in excused.errors]
        return Verification(
            tuple(_granted(each, [one for one, _ in sides]) for each in self.reference),
            tuple(_granted(each, [other for _, other in sides]) for each in self.candidate),
            self.whole,
        )

    @property
    def mutual(self) -> float:
        """How far each report entails every statement of the other: the least of all."""
        both = (*self.reference, *self.candidate) if self.whole else ()
        return min((each.answer.entailment for each in both), default=0.0)

    @property
    def agreement(self) -> float:
        """The share of statements that each report entails of the other: the smaller one."""
        shares = (_share(self.reference), _share(self.candidate))
        return min((share for share in shares if share is not None), default=0.0)

    @property
    def consistent(self) -> float:
        """One less the probability of the plainest contradiction."""
        both = (*self.reference, *self.candidate)
        return 1 - max((each.opposed for each in both), default=0.0)


def _granted(each: VerifiedStatement, entities: Iterable[Entity | None]) -> VerifiedStatement:
    if not any(each.statement.holds(entity) for entity in entities):
        return each
    return VerifiedStatement(each.statement, each.nearest, SAME)


def _share(verified: Sequence[VerifiedStatement]) -> float | None:
    """The share of some statements that are entailed, by weight."""
    total = sum(each.statement.weight for each in verified)
    if not total:
        return None
    return sum(e.statement.weight * e.answer.entailment for e in verified) / total


# --- what is asked -------------------------------------------------------------------------------


def questions(
    ones: Sequence[ReportStatement],
    others: Sequence[ReportStatement],
    links: Sequence[tuple[Entity, Entity]],
) -> Iterator[StatementQuestion]:
    """Each statement of one report with what is to be asked; `links` are entities that match."""
    known, own = {each.words for each in others}, {each.words for each in ones}
    short = sum(len(each.words) for each in others) <= _WHOLE
    for one in ones:
        if one.words in known:
            yield StatementQuestion(one, SAME)
            continue
        counterparts = [other for mine, other in links if one.holds(mine)]
        near = [
            len(one.weighty & each.weighty) + _MATCHED * sum(map(each.holds, counterparts))
            for each in others
        ]
        order = sorted(range(len(others)), key=lambda place: -near[place])
        if not others or not (short or near[order[0]]):
            yield StatementQuestion(one, OPEN)
            continue
        chosen = order if short else order[:_NEAREST]
        pair = NliPair(" ".join(others[place].asked for place in sorted(chosen)), one.asked)
        left = [others[place] for place in sorted(order if short else order[_NEAREST:])]
        rest = _rest(one, [each for each in left if each.words not in own])
        yield StatementQuestion(one, None, tuple(others[place] for place in chosen), pair, rest)


def _rest(one: ReportStatement, others: Sequence[ReportStatement]) -> tuple[NliPair, ...]:
    """A statement against some others, a few at a time."""
    some = (others[start : start + _AT_ONCE] for start in range(0, len(others), _AT_ONCE))
    premises = (" ".join(each.asked for each in few) for few in some)
    return tuple(NliPair(premise, one.asked) for premise in premises)


@dataclass(frozen=True, slots=True)
class PairQuestions:
    """All that is asked about one pair of reports."""

    reference: tuple[StatementQuestion, ...]
    candidate: tuple[StatementQuestion, ...]
    whole: bool

    @property
    def pairs(self) -> Iterator[NliPair]:
        """What a model has to answer."""
        return (each.pair for each in (*self.reference, *self.candidate) if each.pair)

    def second(self, answers: Mapping[NliPair, Entailment]) -> Iterator[NliPair]:
        """What a model has to answer where the first answers leave few statements open."""
        both = (*self.reference, *self.candidate)
        left = [each for each in both if _answer(each, answers).entailment < ENTAILED]
        if len(left) <= _FEW * len(both):
            yield from (pair for each in left for pair in each.rest)

    def answered(self, answers: Mapping[NliPair, Entailment]) -> Verification:
        """The statements with the answers to what was asked."""
        both = self.reference, self.candidate
        known = [{q.statement.span: _answer(q, answers) for q in side} for side in both]
        reference, candidate = (
            tuple(_verified(q, own[q.statement.span], other) for q in side)
            for side, own, other in zip(both, known, known[::-1], strict=True)
        )
        return Verification(reference, candidate, self.whole)


def _answer(asked: StatementQuestion, answers: Mapping[NliPair, Entailment]) -> Entailment:
    if asked.known or asked.pair is None:
        return asked.known or OPEN
    found = (answers[pair] for pair in asked.rest if pair in answers)
    better = max(found, key=lambda answer: answer.entailment, default=OPEN)
    return better if better.entailment >= _FIRM else answers[asked.pair]


def _verified(
    asked: StatementQuestion, answer: Entailment, other: Mapping[TextSpan, Entailment]
) -> VerifiedStatement:
    """A statement beside the one of the other report that is nearest, or says the opposite."""
    nearest = asked.premise[0] if asked.premise else None
    against = max(asked.premise, key=lambda each: other[each.span].contradiction, default=None)
    if against is None:
        return VerifiedStatement(asked.statement, nearest, answer)
    opposed = min(answer.contradiction, other[against.span].contradiction)
    beside = against if opposed >= CONTRADICTED else nearest
    return VerifiedStatement(asked.statement, beside, answer, opposed)


def questions_about(reference: Facts, candidate: Facts, parts: Parts) -> PairQuestions:
    """What is to be asked about two reports: all that is not word for word the same."""
    ones, others = statements_of(reference), statements_of(candidate)
    links = [(m.reference, m.candidate) for part in parts.values() for m in part.matched]
    words = max(sum(len(each.words) for each in side) for side in (ones, others))
    whole = words <= _WHOLE
    return PairQuestions(
        tuple(questions(ones, others, links)),
        tuple(questions(others, ones, [(b, a) for a, b in links])),
        whole,
    )


# --- what follows --------------------------------------------------------------------------------

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
"""Errors that follow from not knowing that two phrases mean the same."""

_ONE_SIDED = frozenset({ErrorKind.OMISSION, ErrorKind.INVENTION})
_Sides = tuple[Facts, Facts]


def entailed_errors(errors: Iterable[ReportError], found: Verification, reports: _Sides) -> Excused:
    """The errors that are none, since the other report says the same in other words.

    Not one between two sites, or two diagnoses that the catalogue knows, unless one says less than
    the other: that they differ is a fact.
    """
    known = tuple(map(_known, reports))
    return Excused(frozenset(each for each in errors if _entailed(each, found, known)))


def _known(report: Facts) -> frozenset[int]:
    """Where the diagnoses stand that the catalogue knows."""
    named = (*report.diagnoses, *report.others, *report.made, *report.denied)
    return frozenset(each.entity.start for each in named if each.known)


def _entailed(error: ReportError, found: Verification, known: Sequence[frozenset[int]]) -> bool:
    sides = [
        (entity, those, entity.start in there)
        for entity, those, there in zip(
            (error.reference, error.candidate),
            (found.reference, found.candidate),
            known,
            strict=True,
        )
        if entity is not None
    ]
    of_diagnosis = sum(is_known for *_, is_known in sides)
    grave = error.severity >= Severity.MAJOR
    if error.kind not in _ONE_SIDED and (of_diagnosis == 2 or (grave and error.part == "site")):
        return False
    reversal = error.kind == ErrorKind.CONTRADICTION and error.part == "findings"
    least = _FIRM if of_diagnosis or grave else _REVERSED if reversal else ENTAILED
    return (error.kind in _DOUBTFUL or reversal) and all(
        any(v.answer.entailment >= least for v in those if v.statement.holds(entity))
        for entity, those, _ in sides
    )


def verified_parts(found: Verification, parts: Parts, entailed: Excused) -> dict[str, ComparedPart]:
    """The parts of a comparison, and those that the statements make."""
    parts = {name: _sharpened(part, found) for name, part in parts.items()}
    errors = [error for part in parts.values() for error in part.mistakes]
    kept, supported = (
        _share(side) if found.brief else None for side in (found.reference, found.candidate)
    )
    worst = max((error.severity for error in errors), default=None)
    matched = tuple(_matches(found, entailed))
    mistakes = (*_contradictions(found, errors), *_unsaid(found, errors))
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
    if any(error.severity >= Severity.MAJOR for error in part.mistakes):
        return part
    return replace(part, value=least)


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


def _sharpened(part: ComparedPart, found: Verification) -> ComparedPart:
    """A part in which what the other report contradicts is no omission, but a contradiction."""
    return replace(part, mistakes=tuple(_as_contradiction(each, found) for each in part.mistakes))


def _as_contradiction(error: ReportError, found: Verification) -> ReportError:
    if error.kind not in _ONE_SIDED or None not in (error.reference, error.candidate):
        return error
    for each in found.reference if error.reference else found.candidate:
        entity = error.reference or error.candidate
        if each.statement.holds(entity) and each.is_contradicted and each.nearest:
            other = each.nearest.entity
            return replace(
                error,
                kind=ErrorKind.CONTRADICTION,
                severity=max(error.severity, each.severity),
                reference=error.reference or other,
                candidate=error.candidate or other,
            )
    return error


def _contradictions(found: Verification, errors: Sequence[ReportError]) -> Iterator[ReportError]:
    """Statements that the other report contradicts, where no error says so yet."""
    for side, those in enumerate((found.reference, found.candidate)):
        for each in those:
            if not each.is_contradicted or each.nearest is None:
                continue
            if any(each.statement.holds((e.reference, e.candidate)[side]) for e in errors):
                continue
            pair = (each.statement.entity, each.nearest.entity)
            kind = ErrorKind.CONTRADICTION
            yield ReportError(kind, "consistent", each.severity, *(pair[::-1] if side else pair))


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
    if each.nearest is None or each.answer.entailment > _FIRM:
        return False
    own, other = each.statement.weighty, each.nearest.weighty
    return len(other) >= _LEAST_SHARED and other < own and not (own - other) & elsewhere


def _is_new(each: VerifiedStatement, elsewhere: frozenset[str]) -> bool:
    """Whether the other report has hardly a word of it, and is not sure to say it in others."""
    own = each.statement.weighty
    known = len(own & elsewhere)
    return each.answer.entailment < _REWORDED and known <= _NEW * len(own)
