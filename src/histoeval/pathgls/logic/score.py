"""Is a report consistent? Contradictions by rule and by NLI model, and equation (2) of PathGLS."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from math import ceil
from typing import Annotated, NamedTuple, Self

from pydantic import Field, model_validator

from histoeval.errors import Problem
from histoeval.nli.entailer import Entailer, NliPair
from histoeval.pathgls.logic.rules.registry import broken_rules, rules_identity
from histoeval.pathgls.logic.sentences import Passages
from histoeval.pathgls.logic.specimen import specimens_of
from histoeval.pathgls.logic.statements import (
    LEANING,
    MAX_PAIRS,
    StatementPair,
    pairs_of,
    sentence_pairs,
    statements_of,
)
from histoeval.pathgls.results import Contradiction, Logic, ReportSpan, Share
from histoeval.report import Noun, Report

_TRAINED = 1 / 3  # the share of contradictions among the pairs that NLI models learn from
_AMONG_OTHERS = 0.04  # their share among pairs of one report that do not differ on a shared topic
_AMONG_BESIDE = 0.002  # their share among diagnoses that one report may well make together
_AMONG_SENTENCES = 0.2  # their share among sentences on one lesion, as they stand
_AMONG_OPPOSED = 0.4  # their share among sentences that give two sides, sizes, grades or organs
_PRIORS = f"{_AMONG_BESIDE:g},{_AMONG_OTHERS:g},{_AMONG_SENTENCES:g},{_AMONG_OPPOSED:g}"
_SLACK = 1e-9  # three tenths of ten are three, whatever the last digit of a float is
_LIKELY = 0.5  # from here on two sentences as they stand count like a rule
# Contradictions of this probability are shown: one of them alone takes logic below 0.7, so a low
# value is never without the pair that lowered it
_SHOWN = 0.3

_RULES_ALONE = "by rules alone: no two statements can be compared"
_NO_STATEMENT = Problem("too_few_statements", "needs a statement on a specimen, found none")


class Top(Noun):
    """K of equation (2): a share of the pairs, at least one of them, or a number.

    Where both are given the smaller counts: three tenths of the pairs, and at most three.
    """

    share: Annotated[Share, Field(gt=0)] | None = None
    number: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _is_given(self) -> Self:
        if self.share is None and self.number is None:
            raise ValueError("needs a share or a number")
        return self

    def of(self, pairs: int) -> int:
        most = pairs if self.number is None else self.number
        share = pairs if self.share is None else max(1, ceil(self.share * pairs - _SLACK))
        return min(pairs, most, share)

    def __str__(self) -> str:
        share = [] if self.share is None else [f"{self.share:g} of pairs"]
        number = [] if self.number is None else [f"{self.number}"]
        return " or ".join([*share, *number])


# The share of the published code, but at most three: else one contradiction of a long report is
# lost among pairs that have nothing to do with it
DEFAULT_TOP = Top(share=0.3, number=3)


class _Judged(NamedTuple):
    found: Contradiction
    places: tuple[int, int]


def equation_2(probabilities: Sequence[float], k: int) -> float:
    """1 minus the mean of the k highest contradiction probabilities."""
    if not 1 <= k <= len(probabilities):
        raise ValueError(f"k is {k}, of {len(probabilities)} pairs")
    return 1 - sum(sorted(probabilities, reverse=True)[:k]) / k


def logic_of(report: Report, entailer: Entailer, *, top: Top = DEFAULT_TOP) -> Logic | Problem:
    """Measure the consistency of a report, with the contradictions that count.

    A contradiction by rule has the probability 1, in place of the model's answer on the same two
    sentences; the model judges both ways round, and the lower answer counts.
    """
    specimens, passages = specimens_of(report)
    stated = [statements_of(specimen) for specimen in specimens]
    pairs = [pair for statements in stated for pair in pairs_of(statements)]
    broken = broken_rules(specimens)
    whole_pairs = [pair for specimen in specimens for pair in sentence_pairs(specimen)]
    signature = signature_of(entailer, top)
    if not pairs and not broken and not whole_pairs:
        by_rules = Logic(value=1.0, pairs=0, top=0, notes=(_RULES_ALONE,), signature=signature)
        return by_rules if any(stated) else _NO_STATEMENT
    ruled = [_Judged(contradiction, _places(contradiction, passages)) for contradiction in broken]
    ruled += _at_odds(whole_pairs, {verdict.places for verdict in ruled}, entailer)
    settled_places = {verdict.places for verdict in ruled}
    remaining = [
        pair for pair in pairs[:MAX_PAIRS] or whole_pairs if pair.places not in settled_places
    ]
    k = top.of(len(ruled) + len(remaining))
    judged = [
        *ruled,
        *_by_model(remaining, entailer, k, [verdict.found.probability for verdict in ruled]),
    ]
    clashes = [verdict.found for verdict in judged]
    notes = [f"only the first {len(passages.all)} sentences were read"] if passages.cut else []
    if len(pairs) > MAX_PAIRS:
        notes.append(f"of {len(pairs)} pairs of statements the first {MAX_PAIRS} were compared")
    worst = sorted(clashes, key=lambda c: (-c.probability, c.first.start, c.second.start))[:k]
    return Logic(
        value=min(1.0, max(0.0, equation_2([verdict.found.probability for verdict in judged], k))),
        pairs=len(ruled) + len(remaining),
        top=k,
        contradictions=tuple(
            _with_clauses(contradiction, passages)
            for contradiction in worst
            if contradiction.probability > _SHOWN
        ),
        notes=tuple(notes),
        signature=signature,
    )


def signature_of(entailer: Entailer, top: Top) -> str:
    model = f"nli:{entailer.identity}|both ways:min,mean|prior:{_PRIORS}"
    return f"logic|{model}|rules:{rules_identity()}|K:{top}"


def _by_nli(first: ReportSpan, second: ReportSpan, probability: float) -> Contradiction:
    return Contradiction(first=first, second=second, probability=probability, source="nli")


def _with_clauses(contradiction: Contradiction, passages: Passages) -> Contradiction:
    """The same with both clauses: a name alone does not say what is stated of it."""

    def clause(span: ReportSpan) -> ReportSpan:
        passage = passages.at(span.start)
        return span if passage is None else passage.clause_span(span)

    return contradiction.model_copy(
        update={"first": clause(contradiction.first), "second": clause(contradiction.second)}
    )


def _at_odds(
    pairs: Sequence[StatementPair], settled: AbstractSet[tuple[int, int]], entailer: Entailer
) -> list[_Judged]:
    """Sentences that contradict each other as they stand, by the model; they count like a rule."""
    open_ = [pair for pair in pairs if pair.places not in settled]
    answers = entailer.judge([NliPair(p.first.text, p.second.text) for p in open_])
    judged = []
    for pair, answer in zip(open_, answers, strict=True):
        if _of_sentences((answer.contradiction + 1) / 2, pair) <= _LIKELY:
            continue
        (back,) = entailer.judge([NliPair(pair.second.text, pair.first.text)])
        p = _of_sentences((answer.contradiction + back.contradiction) / 2, pair)
        if p > _LIKELY:
            judged.append(_Judged(_by_nli(pair.first.span, pair.second.span, p), pair.places))
    return judged


def _by_model(
    pairs: Sequence[StatementPair], entailer: Entailer, k: int, known_probabilities: Sequence[float]
) -> Iterator[_Judged]:
    """The lower answer of both ways round, for all pairs that may be among the k highest.

    The answer one way is never below that. So the worst are judged the other way round, one after
    the other, until k answers, with those that are known by rule, are at least as high as any of
    the rest can be. The rest, of which only one way is known, do not count.
    """
    forth = entailer.judge([NliPair(p.first.passage.text, p.second.text) for p in pairs])
    highest = [_in_a_report(a.contradiction, p) for a, p in zip(forth, pairs, strict=True)]
    probabilities = list(known_probabilities)
    for pair, most in sorted(zip(pairs, highest, strict=True), key=lambda item: -item[1]):
        if sum(probability >= most for probability in probabilities) >= k:
            return
        (back,) = entailer.judge([NliPair(pair.second.passage.text, pair.first.text)])
        probabilities.append(min(most, _in_a_report(back.contradiction, pair)))
        first, second = sorted(
            (pair.first, pair.second), key=lambda statement: statement.span.start
        )
        yield _Judged(_by_nli(first.span, second.span, probabilities[-1]), pair.places)


def _in_a_report(probability: float, pair: StatementPair) -> float:
    """A model's probability, corrected for how rare contradictions are where nothing is opposed.

    A third of the pairs that models learn from are contradictions. Two sentences of a report
    seldom are: by Bayes' rule the odds count for less, unless both differ on a shared topic. What
    looks harmless in a tumour, or the reverse, stands between the two.
    """
    if not pair.opposed:
        return _corrected(probability, _AMONG_BESIDE if pair.are_beside else _AMONG_OTHERS)
    by_look = pair.differing == {LEANING}
    return _corrected(probability, _AMONG_OPPOSED) if by_look else probability


def _of_sentences(probability: float, pair: StatementPair) -> float:
    return _corrected(probability, _AMONG_OPPOSED if pair.opposed else _AMONG_SENTENCES)


def _corrected(probability: float, share: float) -> float:
    rarer = (share / (1 - share)) / (_TRAINED / (1 - _TRAINED))
    return probability * rarer / (probability * rarer + 1 - probability)


def _places(contradiction: Contradiction, passages: Passages) -> tuple[int, int]:
    first, second = sorted(
        passage.start if (passage := passages.at(span.start)) else span.start
        for span in (contradiction.first, contradiction.second)
    )
    return first, second
