"""A passage: a stretch of a report, what was read in it, and where it comes from."""

from collections.abc import Mapping
from typing import Any

from pydantic import model_serializer, model_validator

from histoeval.report import Noun, Relation, Report


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
        """The text of the passage."""
        return self.content.text

    @property
    def is_sure(self) -> bool:
        """Whether nothing in it has a confidence below 1, as in all that people annotated."""
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
