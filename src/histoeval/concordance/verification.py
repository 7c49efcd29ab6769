"""Answers of an NLI model on the statements of two reports: entailed, contradicted, or neither.

Catalogues and aligner compare words and phrases. What two reports do not say word for word alike is
put to an NLI model, statement by statement and both ways: a statement of one report against those
of the other that are nearest to it. What follows for the errors is in `verified_errors`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from histoeval.concordance.evidence import (
    ComparedPart,
    IgnoredErrors,
    Severity,
)
from histoeval.concordance.statements import ReportStatement, statements_of
from histoeval.facts.facts import Facts
from histoeval.nli.entailer import Entailer, Entailment, NliPair
from histoeval.report import Entity

Parts = Mapping[str, ComparedPart]

# Probabilities from which on a statement counts as entailed, and as contradicted
ENTAILED, CONTRADICTED = 0.5, 0.8
_CERTAIN = 0.95
# The probability of entailment that it takes where the catalogue knows the diagnosis that is left
# out or invented
FIRM = 0.85
# Words up to which a report is a premise as a whole, and all its statements are asked about
_WHOLE = 70
_BRIEF = 40  # words up to which it counts how much of two reports is entailed
_NEAREST = 3  # statements of a longer report that a statement is compared with
# Statements that a statement is compared with once more, where it is not entailed by those
_AT_ONCE = 4
_FEW = 0.5  # the share of statements that may be left open for that
# The probability from which on a report says nothing about a statement of another
_UNRELATED = 0.5
_MATCHED = 2  # how many words in common an entity is worth that both statements have

# The answers for a statement that the other report has word for word, and for one that has no word
# of weight in common with it
SAME, OPEN = Entailment(1.0, 0.0, 0.0), Entailment(0.0, 1.0, 0.0)


@dataclass(frozen=True, slots=True)
class StatementQuestion:
    """A statement of one report, and the premise that the other has for it.

    There is none where the answer is known: the other report has the very words, nothing like it,
    or the comparison has settled it.
    """

    statement: ReportStatement
    known: Entailment | None = None
    # The statements of the other report that it is put against, the nearest first
    premise: tuple[ReportStatement, ...] = ()
    pair: NliPair | None = None
    # The statement put against what else the other report says in words of its own
    rest: tuple[NliPair, ...] = ()


@dataclass(frozen=True, slots=True)
class VerifiedStatement:
    statement: ReportStatement
    # The statement of the other report that is nearest to it, or contradicts it
    nearest: ReportStatement | None
    answer: Entailment
    # How surely it and that statement contradict each other: the less sure way round
    opposed: float = 0.0

    @property
    def is_contradicted(self) -> bool:
        """True if the other report says the opposite, as far as the model can tell."""
        return self.opposed >= CONTRADICTED

    @property
    def severity(self) -> Severity:
        """Severity of the other report saying the opposite."""
        certain = self.opposed >= _CERTAIN
        return Severity(int(Severity.MODERATE) + (self.statement.decisive and certain))


@dataclass(frozen=True, slots=True)
class Verification:
    """Statements of each report, with what the other says of them."""

    reference: tuple[VerifiedStatement, ...]
    candidate: tuple[VerifiedStatement, ...]
    # True if all statements were asked about, and not only those that were left unmatched
    whole: bool

    @property
    def brief(self) -> bool:
        """True if both reports are no more than a line or two."""
        return self.whole and _is_brief(self.reference) and _is_brief(self.candidate)

    def without(self, ignored: IgnoredErrors) -> "Verification":
        """With the statements entailed that errors which do not count are about."""
        if not ignored.errors:
            return self
        reference, candidate = (
            tuple(
                VerifiedStatement(verified.statement, verified.nearest, SAME)
                if any(map(verified.statement.holds, entities))
                else verified
                for verified in side
            )
            for side, entities in (
                (self.reference, [error.reference for error in ignored.errors]),
                (self.candidate, [error.candidate for error in ignored.errors]),
            )
        )
        return Verification(reference, candidate, self.whole)

    @property
    def mutual(self) -> float:
        """Least entailment of any statement of either report by the other."""
        both = (*self.reference, *self.candidate) if self.whole else ()
        return min((verified.answer.entailment for verified in both), default=0.0)

    @property
    def agreement(self) -> float:
        """The share of statements that each report entails of the other: the smaller one."""
        shares = (share_of(self.reference), share_of(self.candidate))
        return min((share for share in shares if share is not None), default=0.0)

    @property
    def consistent(self) -> float:
        """One less the probability of the plainest contradiction."""
        both = (*self.reference, *self.candidate)
        return 1 - max((verified.opposed for verified in both), default=0.0)


def _is_brief(said: Sequence[VerifiedStatement] | Sequence[StatementQuestion]) -> bool:
    return sum(len(each.statement.words) for each in said) <= _BRIEF


def share_of(verified: Sequence[VerifiedStatement]) -> float | None:
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
    known, own = {other.words for other in others}, {one.words for one in ones}
    short = sum(len(other.words) for other in others) <= _WHOLE
    for one in ones:
        if one.words in known:
            yield StatementQuestion(one, SAME)
            continue
        counterparts = [other for mine, other in links if one.holds(mine)]
        near = [
            len(one.weighty & other.weighty) + _MATCHED * sum(map(other.holds, counterparts))
            for other in others
        ]
        order = sorted(range(len(others)), key=lambda place: -near[place])
        if not others or not (short or near[order[0]]):
            yield StatementQuestion(one, OPEN)
            continue
        chosen = order if short else order[:_NEAREST]
        pair = NliPair(" ".join(others[place].asked for place in sorted(chosen)), one.asked)
        left = [others[place] for place in sorted(order if short else order[_NEAREST:])]
        left = [other for other in left if other.words not in own]
        rest = tuple(
            NliPair(" ".join(other.asked for other in left[start : start + _AT_ONCE]), one.asked)
            for start in range(0, len(left), _AT_ONCE)
        )
        yield StatementQuestion(one, None, tuple(others[place] for place in chosen), pair, rest)


@dataclass(frozen=True, slots=True)
class PairQuestions:
    reference: tuple[StatementQuestion, ...]
    candidate: tuple[StatementQuestion, ...]
    whole: bool

    @property
    def _sides(self) -> list[tuple[StatementQuestion, ...]]:
        """The questions about both reports, those about the one of fewer statements first."""
        return sorted((self.reference, self.candidate), key=len)

    def first(self, answers: Mapping[NliPair, Entailment]) -> Iterator[NliPair]:  # noqa: ARG002
        """Pairs to be answered about the report of fewer statements."""
        return (each.pair for each in self._sides[0] if each.pair)

    def reverse(self, answers: Mapping[NliPair, Entailment]) -> Iterator[NliPair]:
        """Pairs to be answered about the other, unless these have nothing to do with each other.

        That is so where the other neither entails nor contradicts anything of the first, and they
        are long enough for that to mean something.
        """
        fewer, more = self._sides
        brief = self.whole and _is_brief(fewer) and _is_brief(more)
        if brief or any(_answer(each, answers).neutral <= _UNRELATED for each in fewer):
            yield from (each.pair for each in more if each.pair)

    def second(self, answers: Mapping[NliPair, Entailment]) -> Iterator[NliPair]:
        """Pairs to be answered where the first answers leave few statements open."""
        both = (*self.reference, *self.candidate)
        left = [each for each in both if _answer(each, answers).entailment < ENTAILED]
        if len(left) <= _FEW * len(both):
            yield from (pair for each in left for pair in each.rest)

    def opposite(self, answers: Mapping[NliPair, Entailment]) -> Iterator[NliPair]:
        """Pairs that tell which statement it is that contradicts another."""
        for question in (*self.reference, *self.candidate):
            if _answer(question, answers).contradiction >= CONTRADICTED:
                for other in question.premise:
                    yield from _both_ways(question.statement, other)

    def answered(self, answers: Mapping[NliPair, Entailment]) -> Verification:
        reference, candidate = (
            tuple(_verified(question, answers) for question in side)
            for side in (self.reference, self.candidate)
        )
        return Verification(reference, candidate, self.whole)


def _both_ways(one: ReportStatement, other: ReportStatement) -> tuple[NliPair, NliPair]:
    return NliPair(other.asked, one.asked), NliPair(one.asked, other.asked)


def _answer(asked: StatementQuestion, answers: Mapping[NliPair, Entailment]) -> Entailment:
    if asked.known or asked.pair is None:
        return asked.known or OPEN
    found = (answers[pair] for pair in asked.rest if pair in answers)
    better = max(found, key=lambda answer: answer.entailment, default=OPEN)
    return better if better.entailment >= FIRM else answers.get(asked.pair, OPEN)


def _verified(
    question: StatementQuestion, answers: Mapping[NliPair, Entailment]
) -> VerifiedStatement:
    """A statement beside the one of the other report that contradicts it, or is nearest to it."""
    answer = _answer(question, answers)
    nearest = question.premise[0] if question.premise else None
    opposed = 0.0
    for other in question.premise:
        both = [answers.get(pair, OPEN) for pair in _both_ways(question.statement, other)]
        against = min(answer.contradiction, *(each.contradiction for each in both))
        if against > opposed:
            opposed = against
            nearest = other if against >= CONTRADICTED else nearest
    return VerifiedStatement(question.statement, nearest, answer, opposed)


def answers_to(nli: Entailer, asked: Iterable[PairQuestions | None]) -> dict[NliPair, Entailment]:
    """Ask an NLI model about many pairs of reports together."""
    every = [questions for questions in asked if questions is not None]
    answers: dict[NliPair, Entailment] = {}
    rounds = (
        PairQuestions.first,
        PairQuestions.reverse,
        PairQuestions.second,
        PairQuestions.opposite,
    )
    for ask in rounds:
        pairs = list(dict.fromkeys(pair for one in every for pair in ask(one, answers)))
        answers |= zip(pairs, nli.judge(pairs), strict=True)
    return answers


def questions_about(reference: Facts, candidate: Facts, parts: Parts) -> PairQuestions:
    """Questions on two reports: all that is not word for word the same."""
    links = [(m.reference, m.candidate) for part in parts.values() for m in part.matched]
    return questions_between(statements_of(reference), statements_of(candidate), links)


def questions_between(
    ones: Sequence[ReportStatement],
    others: Sequence[ReportStatement],
    links: Sequence[tuple[Entity, Entity]] = (),
) -> PairQuestions:
    words = max(sum(len(statement.words) for statement in side) for side in (ones, others))
    reference = tuple(questions(ones, others, links))
    candidate = tuple(questions(others, ones, [(b, a) for a, b in links]))
    return PairQuestions(reference, candidate, whole=words <= _WHOLE)
