"""Formats of annotations that are read by a page each: ours, brat, HARE's JSON and UIMA XMI."""

import io
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ValidationError

from histoeval.errors import (
    InputError,
    MissingDependency,
    explain_validation,
    pip_install,
    reason_of,
)
from histoeval.report import Assertion, Confidence
from histoeval_research.annotation.passage import (
    AnnotatedPassage,
    DraftSpan,
    Link,
    PassageDraft,
    RefusedPassage,
    Vocabulary,
    assertion_of,
    attribute,
    holds_entities,
    link_of,
    names_and_assertion,
    place_of,
)


def read_row(
    row: Mapping[str, Any], name: str, source: str, vocabulary: Vocabulary
) -> AnnotatedPassage:
    """The passage of a row; what the reader wrote has no source and no report of its own."""
    if "errors" in row and "text" not in row:  # as `histoeval extract` writes a text it cannot read
        errors = row["errors"]
        first = errors[0] if isinstance(errors, list) and errors else None
        reason = first.get("message") if isinstance(first, dict) else "nothing says why"
        raise RefusedPassage("not_read", f"it could not be read: {reason}")
    known = {"id": name, "source": source, "report": row.get("id", name)}
    try:
        return AnnotatedPassage.model_validate(known | _translated(row, vocabulary))
    except ValidationError as error:
        raise RefusedPassage("broken_annotation", explain_validation(error, "")) from error


def _translated(row: Mapping[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    """The row with our names for types, less the entities that mean nothing here."""
    entities = row.get("entities")
    if not isinstance(entities, list) or not all(
        isinstance(entity, dict) and isinstance(entity.get("type"), str) for entity in entities
    ):
        return dict(row)
    types = [vocabulary.type_of((entity["type"],)) for entity in entities]
    named = [entity | {"type": kind} for entity, kind in zip(entities, types, strict=True) if kind]
    if len(named) == len(entities):
        return {**row, "entities": named}
    places = {old: new for new, old in enumerate(i for i, kind in enumerate(types) if kind)}
    relations = []
    for link in map(link_of, row.get("relations") or ()):
        ends: list[Any] = [None]
        if isinstance(link, dict):
            ends = [link.get("head"), link.get("tail")]
        if not set(ends) <= set(range(len(types))):
            raise RefusedPassage(
                "broken_relation", f"{link} is no relation between two of {len(types)} entities"
            )
        if set(ends) <= places.keys():
            relations.append(link | {"head": places[ends[0]], "tail": places[ends[1]]})
    return {**row, "entities": named, "relations": relations}


_SPAN = re.compile(r"(\S+) (\d+) (\d+)")  # Diagnosis 5 23
_ARROW = re.compile(r"\S+ [^\s:]+:(\S+) [^\s:]+:(\S+)")  # Has_Grade Arg1:T2 Arg2:T3
_ATTRIBUTE = re.compile(r"(\S+) (\S+)(?: (\S+))?")  # Assertion T2 Possible


def read_standoff(draft: PassageDraft, annotations: str) -> None:

    def parts(pattern: re.Pattern[str], line: str) -> tuple[str, ...]:
        match = pattern.fullmatch(line)
        if match is None:
            raise RefusedPassage("broken_annotation", f"{key} cannot be understood: {line!r}")
        return match.groups()

    lines = [line.removesuffix("\r").partition("\t") for line in annotations.split("\n")]
    for key, _, rest in sorted(lines, key=lambda line: line[0][:1] in ("A", "M")):  # spans first
        match key[:1]:
            case "T":
                bounds, _, covered = rest.partition("\t")
                if ";" in bounds:
                    raise RefusedPassage(
                        "discontinuous_span",
                        f"{key} is in pieces ({bounds}): an entity must be one stretch of text; "
                        "make it one, or several",
                    )
                label, start, end = parts(_SPAN, bounds)
                place = place_of(draft.text, int(start), int(end), covered or None)
                draft.spans[key] = DraftSpan(*place, (label,))
            case "R":
                head, tail = parts(_ARROW, rest.strip())
                draft.links.append(Link(head, tail))
            case "E":
                reason = f"{key} is an event ({rest}), and only relations of two are read"
                raise RefusedPassage("event", reason)
            case "A" | "M":
                name, target, value = parts(_ATTRIBUTE, rest.strip())
                if target in draft.spans and (assertion := attribute(name, value)):
                    draft.spans[target] = draft.spans[target]._replace(assertion=assertion)


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


def read_example(draft: PassageDraft, row: Mapping[str, Any]) -> None:
    """An example of HARE; its text is the tokens with blanks between, unless given."""
    try:
        example = _Example.model_validate(row)
    except ValidationError as error:
        raise RefusedPassage("broken_annotation", explain_validation(error, "")) from error
    draft.id = draft.id if example.id is None else str(example.id)
    draft.report_id = draft.id if example.report is None else str(example.report)
    draft.source = example.source or draft.source
    draft.text = " ".join(example.tokens) if example.text is None else example.text
    places = list(_places(draft.text, example.tokens))
    for position, mention in enumerate(example.entities):
        if not 0 <= mention.start < mention.end <= len(places):
            raise RefusedPassage(
                "broken_offsets",
                f"the {mention.type} over tokens {mention.start}:{mention.end} is not within the "
                f"{len(places)} tokens",
            )
        start, end = places[mention.start][0], places[mention.end - 1][1]
        assertion = assertion_of(mention.assertion)
        draft.spans[position] = DraftSpan(start, end, (mention.type,), assertion, mention.score)
    draft.links = [Link(arrow.head, arrow.tail) for arrow in example.relations]


def _places(text: str, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    end = 0
    for token in tokens:
        start = text.find(token, end)
        if start < 0 or text[end:start].strip():
            reason = f"the token {token!r} does not stand where the text says"
            raise RefusedPassage("broken_text", reason)
        end = start + len(token)
        yield start, end


def write_example(passage: AnnotatedPassage) -> dict[str, Any]:
    report = passage.content
    places = tokens_of(passage.text, (b for e in report.entities for b in (e.start, e.end)))
    mentions = []
    for entity in report.entities:  # blanks at the ends of an entity cannot be expressed
        first = bisect_left(places, entity.start, key=lambda place: place[0])
        last = bisect_right(places, entity.end, key=lambda place: place[1])
        if first >= last:
            where = f"{entity.start}:{entity.end}"
            raise InputError(f"{passage.id} has an entity at {where} without a word")
        mention: dict[str, Any] = {"start": first, "end": last, "type": str(entity.type)}
        if entity.assertion is not Assertion.PRESENT:
            mention["assertion"] = str(entity.assertion)
        if entity.score != 1.0:
            mention["score"] = entity.score
        mentions.append(mention)
    return {
        "id": passage.id,
        "source": passage.source,
        "report": passage.report_id,
        "text": passage.text,
        "tokens": [passage.text[start:end] for start, end in places],
        "entities": mentions,
        "relations": [
            {"head": r.head, "tail": r.tail, "type": "-".join(report.relation_type(r))}
            for r in report.relations
        ],
    }


def tokens_of(text: str, borders: Iterable[int]) -> Places:
    """Words as runs of letters and digits, other signs singly; cut at every border."""
    cuts = sorted(set(borders))
    places: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        inside = cuts[bisect_right(cuts, word.start()) : bisect_left(cuts, word.end())]
        places += pairwise([word.start(), *inside, word.end()])
    return places


ENDS = ("Governor", "Dependent")


def read_cas(draft: PassageDraft, content: bytes, typesystem: bytes) -> None:
    cas = _load(content, typesystem)
    if not isinstance(cas.sofa_string, str):
        raise RefusedPassage("broken_text", "it holds no text")
    draft.text = cas.sofa_string
    for annotation in cas.select("uima.tcas.Annotation"):
        layer = annotation.type.name
        fields = {feature.name for feature in annotation.type.all_features}
        if not holds_entities(layer):
            continue
        if fields.issuperset(ENDS):
            ends = [annotation[end] for end in ENDS]
            if all(end is None or holds_entities(end.type.name) for end in ends):
                head, tail = (None if end is None else end.xmiID for end in ends)
                draft.links.append(Link(head, tail))
        else:
            values = {name: annotation[name] for name in sorted(fields)}
            # only texts and truth values can name a type or an assertion
            features = {
                name: str(value) if isinstance(value, bool | str) else None
                for name, value in values.items()
            }
            stated = names_and_assertion(layer, features)
            draft.spans[annotation.xmiID] = DraftSpan(annotation.begin, annotation.end, *stated)


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
        reason = f"it is not UIMA CAS XMI: {reason_of(error)}"
        raise RefusedPassage("wrong_format", reason) from error
