"""The nouns of a report: what it says, where it says it, and how sure it is.

Everything here is immutable and checked when it is made. The one invariant that all
instruments lean on is that an entity is a slice of its report's own text:
``report.text[e.start:e.end] == e.text``.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from histoeval.notebook import notebook_html

Confidence = Annotated[float, Field(ge=0.0, le=1.0)]


class EntityType(StrEnum):
    """The kind of entity that a span of a report names."""

    DIAGNOSIS = "diagnosis"
    DESCRIPTOR = "descriptor"
    GRADE = "grade"
    STAGE = "stage"
    SITE = "site"
    FINDING = "finding"
    MARKER = "marker"
    RESULT = "result"
    MEASUREMENT = "measurement"
    PROCEDURE = "procedure"


class Assertion(StrEnum):
    """The status of an entity in its report: present, absent or uncertain."""

    PRESENT = "present"
    ABSENT = "absent"
    UNCERTAIN = "uncertain"


# those that stand for the five of the HARE paper (its descriptor is ours plus grade)
HARE_TYPES = frozenset(map(EntityType, "diagnosis descriptor grade site marker result".split()))


def _relation_types(**tails: str) -> frozenset[tuple[EntityType, EntityType]]:
    return frozenset(
        (EntityType(head), EntityType(tail)) for head in tails for tail in tails[head].split()
    )


# the types of head and tail between which a relation can hold, and the two of the HARE paper
RELATION_TYPES = _relation_types(
    marker="result",
    diagnosis="descriptor grade stage site measurement",
    finding="site measurement",
)
HARE_RELATION_TYPES = _relation_types(marker="result", diagnosis="descriptor grade")


class Noun(BaseModel):
    """A value: immutable, compared by content, refusing fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Entity(Noun):
    """A span of a report that names something."""

    text: str
    start: Annotated[int, Field(ge=0)]
    end: int
    type: EntityType
    assertion: Assertion = Assertion.PRESENT
    score: Confidence = 1.0

    @model_validator(mode="after")
    def _spans_its_text(self) -> Self:
        if self.end <= self.start:
            raise ValueError(f"entity {self.text!r} ends at {self.end}, before its first character")
        if self.end - self.start != len(self.text):
            raise ValueError(
                f"entity {self.text!r} has {len(self.text)} characters, "
                f"its offsets {self.start}:{self.end} span {self.end - self.start}"
            )
        return self

    def __hash__(self) -> int:
        """Hash words and position only: they tell most entities apart, and sets are built often."""
        return hash((self.text, self.start, self.end))


class Relation(Noun):
    """A link from one entity to another, as positions in the report's tuple of entities."""

    head: Annotated[int, Field(ge=0)]
    tail: Annotated[int, Field(ge=0)]
    score: Confidence = 1.0


class Report(Noun):
    """A text and what was read in it."""

    text: str
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()

    @model_validator(mode="after")
    def _holds_its_entities(self) -> Self:
        for entity in self.entities:
            if self.text[entity.start : entity.end] != entity.text:
                raise ValueError(
                    f"entity {entity.text!r} at {entity.start}:{entity.end} is not what stands "
                    f"there: {self.text[entity.start : entity.end]!r}"
                )
        for relation in self.relations:
            if max(relation.head, relation.tail) >= len(self.entities):
                raise ValueError(
                    f"relation {relation.head}-{relation.tail} points past the last of "
                    f"{len(self.entities)} entities"
                )
            if (kind := self.relation_type(relation)) not in RELATION_TYPES:
                raise ValueError(f"no relation can hold between {kind[0]} and {kind[1]}")
        return self

    def __hash__(self) -> int:
        """Hash the text only: a string computes its hash once."""
        return hash(self.text)

    def _repr_html_(self) -> str:
        return notebook_html(self, self.text)

    def relation_type(self, relation: Relation) -> tuple[EntityType, EntityType]:
        """Return the types of the two entities that a relation links."""
        return self.entities[relation.head].type, self.entities[relation.tail].type


class Pair(Noun):
    """A reference report and what one system wrote for the same case."""

    id: str
    reference: str
    candidate: str
    system: str = "candidate"


class PairWithReferences(Pair):
    """A pair whose case has further references."""

    more_references: tuple[str, ...]

    @property
    def references(self) -> tuple[str, ...]:
        """All references of the case."""
        return (self.reference, *self.more_references)
