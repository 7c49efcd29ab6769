"""The four criteria of the rubric, without a language model, from the parts of a comparison."""

from collections.abc import Iterable, Mapping

from histoeval.concordance.evidence import ComparedPart, ErrorKind, Severity, listed
from histoeval.concordance.weights import COVERED, Combination

# The criteria with their highest score; the lowest is 1
CRITERIA: Mapping[str, int] = {
    "critical_finding_concordance": 4,
    "factual_accuracy": 3,
    "factual_completeness": 3,
    "overall_equivalence": 4,
}

# The terms of a criterion whose terms are not left to the fit. Completeness has one, a product: a
# report with an invention is no less complete, and a short reference is not covered by a report
# with a wrong diagnosis.
TERMS_OF: Mapping[str, tuple[str, ...]] = {"factual_completeness": (COVERED,)}

# How much is left out with an omission
_OMITTED: Mapping[Severity, float] = {
    Severity.MINOR: 1,
    Severity.MODERATE: 2,
    Severity.MAJOR: 4,
    Severity.CRITICAL: 8,
}
# How much is left out where half of the coverage is gone: a critical omission, two major ones
_HALVED = 8.0

_VERDICTS = {
    4: "The leading diagnosis is clinically the same.",
    3: "The leading diagnosis is clinically very close.",
    2: "The leading diagnosis is clinically different.",
    1: "The leading diagnosis contradicts the reference.",
}
_ACTIONS = {
    4: "The two reports are equivalent.",
    3: "A clinician would reach the same conclusion.",
    2: "A clinician would reach another conclusion in part.",
    1: "A clinician would be misled.",
}
_MAX_CITED = 4  # how many errors the reasoning cites


def judge(
    combinations: Mapping[str, Combination],
    values: Mapping[str, float | None],
    parts: Iterable[ComparedPart],
) -> dict[str, int]:
    """A whole score for each criterion; with a major error two reports are not equivalent."""
    compared = list(parts)
    covered = with_coverage(values, compared)
    worst = max((m.severity for part in compared for m in part.mistakes), default=Severity.MINOR)
    scores = {
        criterion: int(min(top, max(1, round(combinations[criterion](covered)))))
        for criterion, top in CRITERIA.items()
    }
    if worst >= Severity.MAJOR:
        scores["overall_equivalence"] = min(3, scores["overall_equivalence"])
    return scores


def with_coverage(
    values: Mapping[str, float | None], parts: Iterable[ComparedPart]
) -> dict[str, float | None]:
    return {**values, "coverage": coverage(parts)}


def coverage(parts: Iterable[ComparedPart]) -> float:
    """Coverage of the reference: 1 where nothing is left out, and less with each omission.

    Omissions add up without end: the findings of a long reference that are left out count one by
    one. What the candidate has otherwise than the reference is not left out.
    """
    _, errors = listed(parts)
    shown = (error.shown for error in errors)
    omitted = sum(_OMITTED[e.severity] for e in shown if e.reference and not e.candidate)
    return _HALVED / (_HALVED + omitted)


def overall(scores: Mapping[str, int]) -> float:
    """The four criteria as one number from 0 to 1: the mean of how far each is up its scale."""
    return sum((scores[name] - 1) / (top - 1) for name, top in CRITERIA.items()) / len(CRITERIA)


def reasoning(scores: Mapping[str, int], parts: Iterable[ComparedPart]) -> str:
    """Reasons for the scores, in one paragraph that cites the evidence."""
    matches, errors = listed(parts)
    mistakes = [error.shown for error in errors]
    matched = [match for match in matches if match.part == "diagnosis"]
    sentences = [_VERDICTS[scores["critical_finding_concordance"]]]
    if matched:
        best = max(matched, key=lambda match: match.similarity)
        sentences.append(f"'{best.candidate.text}' answers to '{best.reference.text}'.")
    for mistake in mistakes[:_MAX_CITED]:
        message, severity = mistake.message, mistake.severity.name.lower()
        sentences.append(f"{message[0].upper()}{message[1:]} ({severity}).")
    if (rest := len(mistakes) - _MAX_CITED) > 0:
        sentences.append(f"{rest} further points are listed as evidence.")
    if not any(m.kind == ErrorKind.INVENTION and m.severity > Severity.MINOR for m in mistakes):
        sentences.append("Nothing of weight is added.")
    if not any(m.kind == ErrorKind.OMISSION and m.severity > Severity.MINOR for m in mistakes):
        sentences.append("Nothing of weight is left out.")
    sentences.append(_ACTIONS[scores["overall_equivalence"]])
    return " ".join(" ".join(sentence.split()) for sentence in sentences)
