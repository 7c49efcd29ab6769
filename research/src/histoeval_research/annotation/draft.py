"""One passage as a file has it, and how that becomes a passage of ours."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pydantic import ValidationError

from histoeval.report import RELATION_TYPES, Assertion, Entity, EntityType, Relation, Report
from histoeval_research.annotation.names import RefusedPassage, Vocabulary
from histoeval_research.annotation.passage import AnnotatedPassage

__all__ = ["DraftSpan", "Link", "PassageDraft", "RefusedPassage", "complaint"]


class DraftSpan(NamedTuple):
    """A stretch of the text, and the names any of which may say what type it is."""

    start: int
    end: int
    names: tuple[str, ...]
    assertion: Assertion = Assertion.PRESENT
    score: float = 1.0


class Link(NamedTuple):
    """A relation between two spans by their keys, with an arrow or without one."""

    head: Hashable
    tail: Hashable
    arrow: Literal["one way", "either way"] = "one way"


@dataclass
class PassageDraft:
    """A passage in the making: spans by whatever key the file gives them, and links."""

    id: str
    source: str
    report_id: str
    text: str
    spans: dict[Hashable, DraftSpan] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)

    def finish(self, vocabulary: Vocabulary) -> AnnotatedPassage:
        """The passage, or the reason why there is none."""
        types = {key: vocabulary.type_of(span.names) for key, span in self.spans.items()}
        known = {key: kind for key, kind in types.items() if kind is not None}
        places = {key: place for place, key in enumerate(known)}
        links = [self._settled(link, types) for link in self.links]
        relations = [
            Relation(head=places[link.head], tail=places[link.tail])
            for link in links
            if link.head in places and link.tail in places
        ]
        entities = tuple(self._entity(self.spans[key], kind) for key, kind in known.items())
        try:
            report = Report(text=self.text, entities=entities, relations=tuple(relations))
        except ValidationError as error:
            raise RefusedPassage("broken_annotation", complaint(error)) from error
        return AnnotatedPassage(
            id=self.id, source=self.source, report_id=self.report_id, content=report
        )

    def _entity(self, span: DraftSpan, kind: EntityType) -> Entity:
        if not 0 <= span.start < span.end <= len(self.text):
            raise RefusedPassage(
                "broken_offsets",
                f"the {kind} at {span.start}:{span.end} is not within the text, "
                f"which has {len(self.text)} characters",
            )
        return Entity(
            text=self.text[span.start : span.end],
            start=span.start,
            end=span.end,
            type=kind,
            assertion=span.assertion,
            score=span.score,
        )

    def _settled(self, link: Link, types: Mapping[Hashable, EntityType | None]) -> Link:
        """The link, turned if it has no arrow; refused if no relation can be there."""
        if missing := [key for key in (link.head, link.tail) if key not in types]:
            raise RefusedPassage(
                "broken_relation", f"a relation has an end, {missing[0]}, that is not there"
            )
        head, tail = types[link.head], types[link.tail]
        if head is None or tail is None or (head, tail) in RELATION_TYPES:
            return link
        turned = (tail, head) in RELATION_TYPES
        if turned and link.arrow == "either way":
            return Link(link.tail, link.head)
        one, other = (self.text[s.start : s.end] for s in map(self.spans.__getitem__, link[:2]))
        raise RefusedPassage(
            "impossible_relation",
            f"a relation goes from {one!r} to {other!r}, and none can hold from {head} to {tail}"
            + (f"; it must go from {tail} to {head}" if turned else ""),
        )


def complaint(error: ValidationError) -> str:
    """The first thing that is wrong, and where."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
