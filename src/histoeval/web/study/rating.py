"""One rating: a score, the criteria, the errors that were marked, and a comment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError

from histoeval.concordance.evidence import ErrorKind, Severity
from histoeval.errors import InputError
from histoeval.report import Noun
from histoeval.web.study.plan import ExpertStudy, StudyPair

LONGEST_COMMENT = 5_000
MOST_ERRORS = 200


class MarkedSpan(Noun):
    """Words of a report: from where to where, in characters, and the words themselves."""

    start: Annotated[int, Field(ge=0)]
    end: int
    text: str = ""


class MarkedError(Noun):
    """An error that a rater has marked, in one of the reports or in both."""

    kind: ErrorKind
    severity: Severity
    reference: MarkedSpan | None = None
    candidate: MarkedSpan | None = None


class ExpertRating(Noun):
    """What a rater says of a pair; in a draft, answers may be missing."""

    score: float | None = None
    criteria: Mapping[str, int] = Field(default_factory=dict)
    errors: Annotated[tuple[MarkedError, ...], Field(max_length=MOST_ERRORS)] = ()
    comment: Annotated[str, Field(max_length=LONGEST_COMMENT)] = ""


def rating_of(content: Any, study: ExpertStudy, pair: StudyPair, *, is_draft: bool) -> ExpertRating:
    """The rating that a browser has sent, if it answers what was asked about this very pair."""
    try:
        rating = ExpertRating.model_validate(content)
    except ValidationError as error:
        raise unusable(error) from error
    _check_answers(rating, study, is_draft=is_draft)
    return rating.model_copy(
        update={"errors": tuple(_located(each, pair) for each in rating.errors)}
    )


def _check_answers(rating: ExpertRating, study: ExpertStudy, *, is_draft: bool) -> None:
    if rating.score is None and not is_draft:
        raise InputError("The score is missing.")
    if rating.score is not None and rating.score not in study.steps:
        raise InputError(f"{rating.score:g} is not a score of this study.")
    known = {each.name: each for each in study.criteria}
    for name, level in rating.criteria.items():
        if name not in known or level not in known[name].levels:
            raise InputError(f"{level} is not a step of {name!r}.")
    missing = [name for name in known if name not in rating.criteria]
    if missing and not is_draft:
        raise InputError(f"{spelt(missing[0])} is missing.")


def _located(error: MarkedError, pair: StudyPair) -> MarkedError:
    """The error with the words that it marks."""
    if error.reference is None and error.candidate is None:
        raise InputError("An error needs words that are marked in one of the reports.")
    return error.model_copy(
        update={
            "reference": _words(error.reference, pair.reference),
            "candidate": _words(error.candidate, pair.candidate),
        }
    )


def _words(span: MarkedSpan | None, text: str) -> MarkedSpan | None:
    if span is None:
        return None
    if not span.start < span.end <= len(text):
        raise InputError("A mark lies outside of the report.")
    return MarkedSpan(start=span.start, end=span.end, text=text[span.start : span.end])


def unusable(error: ValidationError) -> InputError:
    """What is wrong with something that a browser has sent."""
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"])) or "what was sent"
    return InputError(f"{where}: {fault['msg'].lower()}")


def spelt(name: str) -> str:
    """A name as people write it: `factual_accuracy` is Factual accuracy."""
    return name.replace("_", " ").capitalize()
