"""Formats of annotations that are read by a page each: ours, brat, HARE's JSON and UIMA XMI."""

import io
import json
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ValidationError

from histoeval.errors import InputError, MissingDependency, pip_install, reason_of
from histoeval.report import Assertion, Confidence, Entity
from histoeval_research.annotation.passage import (
    AnnotatedPassage,
    DraftSpan,
    Link,
    PassageDraft,
    RefusedPassage,
    Vocabulary,
    assertion_of,
    attribute,
    complaint,
    holds_entities,
    link_of,
    names_and_assertion,
    place_of,
)


def read_row(
    row: Mapping[str, Any], name: str, source: str, vocabulary: Vocabulary
) -> AnnotatedPassage:
    """The passage of a row; what the reader wrote has no source and no report of its own."""
    if "errors" in row and "text" not in row:
        raise RefusedPassage("not_read", f"it could not be read: {_first_error(row['errors'])}")
    known = {"id": name, "source": source, "report": row.get("id", name)}
    try:
        return AnnotatedPassage.model_validate(known | _translated(row, vocabulary))
    except ValidationError as error:
        raise RefusedPassage("broken_annotation", complaint(error)) from error


def write_row(passage: AnnotatedPassage) -> str:
    """The passage as one line."""
    return json.dumps(passage.model_dump(), ensure_ascii=False)


def _translated(row: Mapping[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    """The row with our names for types, less the entities that mean nothing here."""
    entities = row.get("entities")
    if not isinstance(entities, list) or not all(_is_typed(entity) for entity in entities):
        return dict(row)
    types = [vocabulary.type_of((entity["type"],)) for entity in entities]
    named = [entity | {"type": kind} for entity, kind in zip(entities, types, strict=True) if kind]
    if len(named) == len(entities):
        return {**row, "entities": named}
    places = {old: new for new, old in enumerate(i for i, kind in enumerate(types) if kind)}
    links = [_checked(link_of(relation), len(types)) for relation in row.get("relations") or ()]
    kept = [
        link | {"head": places[link["head"]], "tail": places[link["tail"]]}
        for link in links
        if link["head"] in places and link["tail"] in places
    ]
    return {**row, "entities": named, "relations": kept}


def _checked(link: Any, entities: int) -> dict[str, Any]:
    """A relation whose ends are among the entities."""
    if isinstance(link, dict) and {link.get("head"), link.get("tail")} <= set(range(entities)):
        return link
    raise RefusedPassage(
        "broken_relation", f"{link} is no relation between two of {entities} entities"
    )


def _first_error(errors: object) -> str:
    """What `histoeval extract` says of a text that it could not read."""
    first = errors[0] if isinstance(errors, list) and errors else None
    return str(first.get("message")) if isinstance(first, dict) else "nothing says why"


def _is_typed(entity: object) -> bool:
    return isinstance(entity, dict) and isinstance(entity.get("type"), str)


_SPAN = re.compile(r"(\S+) (\d+) (\d+)")
_ARROW = re.compile(r"\S+ [^\s:]+:(\S+) [^\s:]+:(\S+)")
_ATTRIBUTE = re.compile(r"(\S+) (\S+)(?: (\S+))?")


def read_standoff(
    text: str,
    annotations: str,
    name: str,
    source: str,
    vocabulary: Vocabulary,
) -> AnnotatedPassage:
    """The passage of a document, which is also its report."""
    draft = PassageDraft(name, source, name, text)
    takers: dict[str, Callable[[PassageDraft, str, str], None]] = {
        "T": _take_span,
        "R": _take_relation,
        "E": _refuse_event,
    }
    lines = [line.removesuffix("\r").partition("\t") for line in annotations.split("\n")]
    for key, _, rest in lines:
        if taker := takers.get(key[:1]):
            taker(draft, key, rest)
    for key, _, rest in lines:
        if key[:1] in ("A", "M"):
            _take_attribute(draft, key, rest)
    return draft.finish(vocabulary)


def _take_span(draft: PassageDraft, key: str, rest: str) -> None:
    bounds, _, covered = rest.partition("\t")
    if ";" in bounds:
        raise RefusedPassage(
            "discontinuous_span",
            f"{key} is in pieces ({bounds}): an entity must be one stretch of text; make it "
            "one, or several",
        )
    label, start, end = _parts(_SPAN, key, bounds)
    place = place_of(draft.text, int(start), int(end), covered or None)
    draft.spans[key] = DraftSpan(*place, (label,))


def _take_relation(draft: PassageDraft, key: str, rest: str) -> None:
    head, tail = _parts(_ARROW, key, rest.strip())
    draft.links.append(Link(head, tail))


def _take_attribute(draft: PassageDraft, key: str, rest: str) -> None:
    name, target, value = _parts(_ATTRIBUTE, key, rest.strip())
    if target in draft.spans and (assertion := attribute(name, value)):
        draft.spans[target] = draft.spans[target]._replace(assertion=assertion)


def _refuse_event(_: PassageDraft, key: str, rest: str) -> None:
    raise RefusedPassage("event", f"{key} is an event ({rest}), and only relations of two are read")


def _parts(pattern: re.Pattern[str], key: str, line: str) -> tuple[str, ...]:
    match = pattern.fullmatch(line)
    if match is None:
        raise RefusedPassage("broken_annotation", f"{key} cannot be understood: {line!r}")
    return match.groups()


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


GOVERNOR, DEPENDENT = "Governor", "Dependent"


def read_cas(
    content: bytes,
    typesystem: bytes,
    name: str,
    report_id: str,
    source: str,
    vocabulary: Vocabulary,
) -> AnnotatedPassage:
    """The passage of a document."""
    cas = _load(content, typesystem)
    text = cas.sofa_string
    if not isinstance(text, str):
        raise RefusedPassage("broken_text", "it holds no text")
    draft = PassageDraft(name, source, report_id, text)
    for annotation in cas.select("uima.tcas.Annotation"):
        layer = annotation.type.name
        fields = {feature.name for feature in annotation.type.all_features}
        if not holds_entities(layer):
            continue
        if {GOVERNOR, DEPENDENT} <= fields:
            ends = annotation[GOVERNOR], annotation[DEPENDENT]
            if all(end is None or holds_entities(end.type.name) for end in ends):
                draft.links.append(Link(_key(ends[0]), _key(ends[1])))
        else:
            features = {field: _text(annotation[field]) for field in sorted(fields)}
            found = names_and_assertion(layer, features)
            draft.spans[annotation.xmiID] = DraftSpan(annotation.begin, annotation.end, *found)
    return draft.finish(vocabulary)


def _load(content: bytes, typesystem: bytes) -> Any:
    """The CAS; of what cassis only warns, since it would go on with wrong offsets, we do not."""
    try:
        cassis: Any = import_module("cassis")
    except ImportError as error:
        raise MissingDependency(
            "dkpro-cassis is not installed: XMI files need the extra [train]; "
            f"run: {pip_install('train')}"
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            types = cassis.load_typesystem(io.BytesIO(typesystem))
            return cassis.load_cas_from_xmi(io.BytesIO(content), typesystem=types)
    except Exception as error:
        raise RefusedPassage(
            "wrong_format", f"it is not UIMA CAS XMI: {reason_of(error)}"
        ) from error


def _key(annotation: Any) -> object:
    return None if annotation is None else annotation.xmiID


def _text(value: object) -> str | None:
    """The value of a feature that can name a type or an assertion."""
    if isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None
