"""Our own format: JSON lines, a passage in each."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from histoeval_research.annotation.draft import RefusedPassage, complaint
from histoeval_research.annotation.names import Vocabulary
from histoeval_research.annotation.passage import AnnotatedPassage, link_of


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
