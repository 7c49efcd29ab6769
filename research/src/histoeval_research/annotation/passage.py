"""Annotated passages as all formats make them: names of types, drafts, and places in texts."""

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from pydantic import ValidationError, model_serializer, model_validator

from histoeval.errors import InputError, SettingError, explain_validation
from histoeval.labels import OUTSIDE, given_names, known_names, plain
from histoeval.report import RELATION_TYPES, Assertion, Entity, EntityType, Noun, Relation, Report
from histoeval.resources import load_toml

# name of the attribute, feature or choice that says whether a thing is there
ASSERTION = "assertion"

NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
# layers that begin so hold words, sentences, syntax and book-keeping; but for named entities
MACHINERY = ("uima.", "de.tudarmstadt.ukp.")

# features in which a type is looked for before all others
LABEL_FEATURES = ("value", "label", "type", "entity", "category")

YES = ("true", "yes", "1", "")
NO = ("false", "no", "0")


class RefusedPassage(Exception):  # noqa: N818 - not an error of the program: a passage is skipped
    """Why one passage cannot be used; the others still can."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Vocabulary:
    """Meanings of labels: as the user defines them, else as is widely known."""

    def __init__(self, labels: Mapping[str, str | None] | None = None) -> None:
        for name, meaning in (labels or {}).items():
            if (meaning or "").lower() not in {*EntityType, *OUTSIDE}:
                raise SettingError(
                    f"the label {name!r} cannot mean {meaning!r}: say {', '.join(EntityType)}, "
                    "or O for nothing"
                )
        self._meanings = known_names() | given_names(labels)

    def type_of(self, names: Sequence[str]) -> EntityType | None:
        """The type that the first name with a meaning stands for; None if it means nothing."""
        for name in names:
            meaning = self._meanings.get(plain(name))
            if meaning is not None:
                return None if meaning in OUTSIDE else EntityType(meaning)
        label = names[0] if names else ""
        raise InputError(
            f"the label {label!r} is not known. Say what it means, {', '.join(EntityType)} or O "
            f'for nothing, in a JSON file such as {{"{label}": "diagnosis"}} and give it with '
            "--labels"
        )


@cache
def _assertions() -> dict[str, Assertion]:
    table = load_toml("histoeval_research/annotation/assertions.toml")
    return {name: Assertion(meaning) for meaning, names in table.items() for name in names}


def assertion_named(value: str) -> Assertion | None:
    return _assertions().get(plain(value))


def assertion_of(value: str) -> Assertion:
    assertion = assertion_named(value)
    if assertion is None:
        expected = ", ".join(Assertion)
        raise RefusedPassage("unknown_assertion", f"the assertion {value!r} is none of {expected}")
    return assertion


def attribute(name: str, value: str | None) -> Assertion | None:
    """The assertion that an attribute states: `assertion=absent`, or `negated`, or none."""
    if plain(name) == ASSERTION:
        return assertion_of(value or "")
    named = assertion_named(name)
    if named is None or plain(value or "") in NO:
        return None
    return named if plain(value or "") in YES else assertion_named(value or "")


def holds_entities(layer: str) -> bool:
    return layer == NAMED_ENTITY or not layer.startswith(MACHINERY)


def names_and_assertion(
    layer: str, features: Mapping[str, str | None]
) -> tuple[tuple[str, ...], Assertion]:
    """The names that may say the type, the layer's own last, and the assertion."""
    assertion = Assertion.PRESENT
    values: dict[str, str] = {}
    for name, value in features.items():
        if value is not None and (stated := attribute(name, value)):
            assertion = stated
        elif value:
            values[name] = value
    first = [values.pop(name) for name in LABEL_FEATURES if name in values]
    return (*first, *values.values(), layer.rpartition(".")[2]), assertion


class AnnotatedPassage(Noun):
    """An annotated stretch of text. As JSON it is a row of our own corpus files.

    Confidences are read where they are given, and written only where somebody is not sure: in
    what people annotated, every one is 1 and none is written.
    """

    id: str
    source: str
    report_id: str
    content: Report

    @property
    def text(self) -> str:
        return self.content.text

    @property
    def is_sure(self) -> bool:
        scores = [entity.score for entity in self.content.entities]
        scores += [relation.score for relation in self.content.relations]
        return all(score == 1.0 for score in scores)

    @model_validator(mode="before")
    @classmethod
    def _of_row(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or "content" in given:
            return given
        row = dict(given)
        report = {name: row.pop(name) for name in ("text", "entities") if name in row}
        relations = row.pop("relations", ())
        if isinstance(relations, list | tuple):
            relations = [link_of(relation) for relation in relations]
        if "report" in row:
            row["report_id"] = row.pop("report")
        return row | {"content": report | {"relations": relations}}

    @model_serializer
    def _row(self) -> dict[str, Any]:
        unsaid = {"score"} if self.is_sure else set()
        return {
            "id": self.id,
            "source": self.source,
            "report": self.report_id,
            "text": self.text,
            "entities": [e.model_dump(mode="json", exclude=unsaid) for e in self.content.entities],
            "relations": [
                [relation.head, relation.tail] if self.is_sure else relation.model_dump()
                for relation in self.content.relations
            ],
        }


def link_of(relation: Any) -> Any:
    """A relation as an object, whether it was written so or as a list of positions."""
    if isinstance(relation, list | tuple) and len(relation) in (2, 3):
        return dict(zip(Relation.model_fields, relation, strict=False))
    return relation


class DraftSpan(NamedTuple):
    start: int
    end: int
    names: tuple[str, ...]
    assertion: Assertion = Assertion.PRESENT
    score: float = 1.0


class Link(NamedTuple):
    """A relation between two spans by their keys; without an arrow it may go either way."""

    head: Hashable
    tail: Hashable
    has_arrow: bool = True


@dataclass
class PassageDraft:
    """A passage in the making: spans by whatever key the file gives them, and links."""

    id: str
    source: str
    report_id: str
    text: str = ""
    spans: dict[Hashable, DraftSpan] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)

    def finish(self, vocabulary: Vocabulary) -> AnnotatedPassage:
        types = {key: vocabulary.type_of(span.names) for key, span in self.spans.items()}
        known = [(key, kind) for key, kind in types.items() if kind is not None]
        places = {key: place for place, (key, _) in enumerate(known)}
        ends = [self._ends(link, types) for link in self.links]
        entities = [self._entity(self.spans[key], kind) for key, kind in known]
        relations = [
            Relation(head=places[head], tail=places[tail])
            for head, tail in ends
            if head in places and tail in places
        ]
        try:
            content = Report(text=self.text, entities=tuple(entities), relations=tuple(relations))
        except ValidationError as error:
            raise RefusedPassage("broken_annotation", explain_validation(error, "")) from error
        return AnnotatedPassage(
            id=self.id, source=self.source, report_id=self.report_id, content=content
        )

    def _entity(self, span: DraftSpan, kind: EntityType) -> Entity:
        start, end, _, assertion, score = span
        if not 0 <= start < end <= len(self.text):
            raise RefusedPassage(
                "broken_offsets",
                f"the {kind} at {start}:{end} is not within the text, "
                f"which has {len(self.text)} characters",
            )
        text = self.text[start:end]
        return Entity(text=text, start=start, end=end, type=kind, assertion=assertion, score=score)

    def _ends(
        self, link: Link, types: Mapping[Hashable, EntityType | None]
    ) -> tuple[Hashable, Hashable]:
        """Head and tail of a link, turned if it has no arrow; refused if no relation can be."""
        if missing := [key for key in link[:2] if key not in types]:
            raise RefusedPassage(
                "broken_relation", f"a relation has an end, {missing[0]}, that is not there"
            )
        head, tail = types[link.head], types[link.tail]
        if head is None or tail is None or (head, tail) in RELATION_TYPES:
            return link.head, link.tail
        can_turn = (tail, head) in RELATION_TYPES
        if can_turn and not link.has_arrow:
            return link.tail, link.head
        spans = [self.spans[key] for key in link[:2]]
        one, other = (self.text[span.start : span.end] for span in spans)
        raise RefusedPassage(
            "impossible_relation",
            f"a relation goes from {one!r} to {other!r}, and none can hold from {head} to {tail}"
            + (f"; it must go from {tail} to {head}" if can_turn else ""),
        )


class Utf16:
    """The places of one text, counted in units of UTF-16."""

    def __init__(self, text: str) -> None:
        self._wide = [place for place, character in enumerate(text) if ord(character) > 0xFFFF]
        self._units = [place + before for before, place in enumerate(self._wide)]

    def character(self, unit: int) -> int:
        """The character at a unit; the second half of a character is no place at all."""
        before = bisect_left(self._units, unit)
        if before and self._units[before - 1] == unit - 1:
            raise RefusedPassage("broken_offsets", f"offset {unit} is in the middle of a character")
        return unit - before

    def unit(self, character: int) -> int:
        return character + bisect_left(self._wide, character)


def place_of(text: str, start: int, end: int, covered: str | None) -> tuple[int, int]:
    """Where a span is, in characters, by its offsets and by the text that the file has there.

    Label Studio has counted characters since 2022 and units of UTF-16 before; programs that
    write brat's format do either. Where both counts differ, what stands there decides.
    """
    if covered is None or _alike(text[start:end], covered):
        return start, end
    if not text.isascii() and min(start, end) >= 0:
        units = Utf16(text)
        start, end = units.character(start), units.character(end)
        if _alike(text[start:end], covered):
            return start, end
    raise RefusedPassage(
        "broken_offsets",
        f"{covered!r} does not stand at {start}:{end}, where the text has {text[start:end]!r}",
    )


def _alike(*texts: str) -> bool:
    one, other = (text.replace("\\n", " ").split() for text in texts)
    return one == other
