"""The format of the HARE authors' data: tokens, and entities and relations over them.

It knows no text: that is made of the tokens, with a blank between. Here the text, the id, the
source, the report and what is not present are written beside them, so that nothing is lost for
those who look for it; the published programs do not.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ValidationError

from histoeval.errors import InputError
from histoeval.report import Assertion, Confidence, Entity
from histoeval_research.annotation.draft import (
    DraftSpan,
    Link,
    PassageDraft,
    RefusedPassage,
    complaint,
)
from histoeval_research.annotation.names import Vocabulary, assertion_of
from histoeval_research.annotation.passage import AnnotatedPassage

_WORD = re.compile(r"\w+|[^\w\s]")

Places = Sequence[tuple[int, int]]


class _Mention(BaseModel):
    start: int
    end: int
    type: str
    assertion: str = Assertion.PRESENT
    score: Confidence = 1.0


class _Arrow(BaseModel):
    head: int
    tail: int


class _Example(BaseModel):
    tokens: list[str]
    entities: list[_Mention] = []
    relations: list[_Arrow] = []
    id: str | int | None = None
    source: str | None = None
    report: str | int | None = None
    text: str | None = None


def read_example(
    row: Mapping[str, Any],
    name: str,
    source: str,
    vocabulary: Vocabulary,
) -> AnnotatedPassage:
    """The passage of an example; its text is the tokens with blanks between, unless given."""
    try:
        example = _Example.model_validate(row)
    except ValidationError as error:
        raise RefusedPassage("broken_annotation", complaint(error)) from error
    name = name if example.id is None else str(example.id)
    report = name if example.report is None else str(example.report)
    text = " ".join(example.tokens) if example.text is None else example.text
    draft = PassageDraft(name, example.source or source, report, text)
    places = list(_places(text, example.tokens))
    for position, mention in enumerate(example.entities):
        draft.spans[position] = _span(mention, places)
    draft.links = [Link(arrow.head, arrow.tail) for arrow in example.relations]
    return draft.finish(vocabulary)


def write_example(passage: AnnotatedPassage) -> dict[str, Any]:
    """The passage as an example, with our names for types."""
    report = passage.content
    places = tokens_of(passage.text, (b for e in report.entities for b in (e.start, e.end)))
    return {
        "id": passage.id,
        "source": passage.source,
        "report": passage.report_id,
        "text": passage.text,
        "tokens": [passage.text[start:end] for start, end in places],
        "entities": [_mention(entity, places, passage.id) for entity in report.entities],
        "relations": [
            {
                "head": relation.head,
                "tail": relation.tail,
                "type": "-".join(report.relation_type(relation)),
            }
            for relation in report.relations
        ],
    }


def tokens_of(text: str, borders: Iterable[int]) -> list[tuple[int, int]]:
    """Words as runs of letters and digits, other signs singly; cut at every border."""
    cuts = sorted(set(borders))
    places: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        inside = cuts[bisect_right(cuts, word.start()) : bisect_left(cuts, word.end())]
        edges = [word.start(), *inside, word.end()]
        places += pairwise(edges)
    return places


def _mention(entity: Entity, places: Places, passage: str) -> dict[str, Any]:
    """An entity over tokens; blanks at its ends cannot be expressed there."""
    first = bisect_left(places, entity.start, key=lambda place: place[0])
    last = bisect_right(places, entity.end, key=lambda place: place[1])
    if first >= last:
        raise InputError(f"{passage} has an entity at {entity.start}:{entity.end} without a word")
    mention: dict[str, Any] = {"start": first, "end": last, "type": str(entity.type)}
    if entity.assertion is not Assertion.PRESENT:
        mention["assertion"] = str(entity.assertion)
    if entity.score != 1.0:
        mention["score"] = entity.score
    return mention


def _places(text: str, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where each token stands in the text, in which nothing but white space is between them."""
    end = 0
    for token in tokens:
        start = text.find(token, end)
        if start < 0 or text[end:start].strip():
            raise RefusedPassage(
                "broken_text", f"the token {token!r} does not stand where the text says"
            )
        end = start + len(token)
        yield start, end


def _span(mention: _Mention, places: Places) -> DraftSpan:
    if not 0 <= mention.start < mention.end <= len(places):
        raise RefusedPassage(
            "broken_offsets",
            f"the {mention.type} over tokens {mention.start}:{mention.end} is not within the "
            f"{len(places)} tokens",
        )
    start, end = places[mention.start][0], places[mention.end - 1][1]
    return DraftSpan(start, end, (mention.type,), assertion_of(mention.assertion), mention.score)
