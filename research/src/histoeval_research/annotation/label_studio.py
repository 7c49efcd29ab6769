"""Label Studio: its JSON and JSON-MIN exports in; tasks with pre-annotations out.

Regions are labelled with types, an assertion is a choice per region, relations are arrows. JSON-MIN
has no arrows. A task without an annotation is read by its pre-annotation.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from pydantic import BaseModel, ValidationError

from histoeval.errors import explain_validation
from histoeval.report import RELATION_TYPES, Assertion, Entity, EntityType
from histoeval.resources import load_toml
from histoeval_research.annotation.passage import (
    ASSERTION,
    AnnotatedPassage,
    DraftSpan,
    Link,
    PassageDraft,
    RefusedPassage,
    assertion_named,
    assertion_of,
    place_of,
)

# names of the two parts of the labelling view, to which pre-annotations refer
LABELS, TEXT = "label", "text"

ASSERTED = (EntityType.DIAGNOSIS, EntityType.FINDING)
REGIONS = ("labels", "hypertextlabels")


class _Value(BaseModel):
    start: int | None = None
    end: int | None = None
    text: str | None = None
    labels: list[str] = []
    hypertextlabels: list[str] = []
    choices: list[str] = []


class _Item(BaseModel):
    id: str = ""
    type: str = "labels"
    from_name: str = ""
    value: _Value = _Value()
    score: float | None = None
    from_id: str = ""
    to_id: str = ""
    direction: Literal["right", "left", "bi"] | None = "right"


def read_task(draft: PassageDraft, task: Mapping[str, Any]) -> None:
    data = task.get("data", task)
    if not isinstance(data, dict):
        raise RefusedPassage("broken_annotation", "the task's data is not an object")
    draft.id = str(data.get("id", task.get("id", draft.id)))
    draft.report_id = str(data.get("report", draft.id))
    draft.source = str(data.get("source", draft.source))
    texts = [value for value in data.values() if isinstance(value, str)]
    if isinstance(data.get(TEXT), str):
        texts = [data[TEXT]]
    if len(texts) != 1:
        reason = "the task has no text, or several and none called so"
        raise RefusedPassage("broken_annotation", reason)
    draft.text = texts[0]
    try:
        items = [_Item.model_validate(item) for item in _result(task)]
    except ValidationError as error:
        raise RefusedPassage("broken_annotation", explain_validation(error, "")) from error
    chosen = {
        item.id: assertion_of(choice)
        for item in items
        if item.type == "choices" and item.from_name.lower() == ASSERTION
        for choice in item.value.choices
    }
    for item in items:
        if item.type in REGIONS:
            draft.spans[item.id] = _span(draft.text, item, chosen.get(item.id))
        elif item.type == "relation":
            ends = (item.from_id, item.to_id)
            ends = ends[::-1] if item.direction == "left" else ends
            draft.links.append(Link(*ends, item.direction in ("left", "right")))


def _result(task: Mapping[str, Any]) -> Sequence[Any]:
    """The items of the annotation by people, else of the prediction."""
    if "data" not in task:
        return list(_minimal(task))
    annotations = task.get("annotations", task.get("completions")) or []
    done = [a for a in annotations if isinstance(a, dict) and not a.get("was_cancelled")]
    chosen = [a for a in done if a.get("ground_truth")] or done
    if len(chosen) > 1:
        raise RefusedPassage(
            "several_annotations",
            f"there are {len(chosen)} annotations of it: mark one as the ground truth, or export "
            "those of each annotator by themselves",
        )
    guesses = [p for p in task.get("predictions") or [] if isinstance(p, dict)]
    is_exported = "annotations" in task or "completions" in task
    if not chosen and (is_exported or not guesses):
        raise RefusedPassage("no_annotation", "it has no annotation")
    result = (chosen or guesses)[0].get("result", [])
    return result if isinstance(result, list) else []


def _minimal(task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The items of a minimal export, where regions have no ids but only places."""
    values = [
        (name, value, (value.get("start"), value.get("end")))
        for name, listed in task.items()
        for value in (listed if isinstance(listed, list) else [])
        if isinstance(value, dict)
    ]
    regions = [row for row in values if not row[1].keys().isdisjoint(REGIONS)]
    for number, (name, value, place) in enumerate(regions):
        yield {"id": str(number), "type": "labels", "from_name": name, "value": value}
        for control, other, other_place in values:
            if "choices" in other and other_place == place:
                yield {"id": str(number), "type": "choices", "from_name": control, "value": other}


def _span(text: str, item: _Item, chosen: Assertion | None) -> DraftSpan:
    value = item.value
    if value.start is None or value.end is None:
        raise RefusedPassage("broken_offsets", f"the region {item.id!r} has no start or no end")
    place = place_of(text, value.start, value.end, value.text)
    labels = {label: assertion_named(label) for label in (*value.labels, *value.hypertextlabels)}
    names = tuple(label for label, assertion in labels.items() if assertion is None)
    named = next(filter(None, labels.values()), Assertion.PRESENT)
    return DraftSpan(*place, names, chosen or named, 1.0 if item.score is None else item.score)


def write_task(passage: AnnotatedPassage) -> dict[str, Any]:
    """The passage as a task with a pre-annotation, for `label_studio_config`.

    Offsets are in characters, as Label Studio has counted since 2022.
    """
    report = passage.content
    result = [item for n, entity in enumerate(report.entities) for item in _items(n, entity)]
    result += [
        {
            "type": "relation",
            "from_id": f"e{relation.head}",
            "to_id": f"e{relation.tail}",
            "direction": "right",
            "labels": ["-".join(report.relation_type(relation))],
        }
        for relation in report.relations
    ]
    prediction: dict[str, Any] = {"model_version": "histoeval", "result": result}
    if not passage.is_sure and report.entities:
        prediction["score"] = sum(e.score for e in report.entities) / len(report.entities)
    data = {"text": passage.text, "id": passage.id}
    data |= {"source": passage.source, "report": passage.report_id}
    return {"data": data, "predictions": [prediction]}


def _items(number: int, entity: Entity) -> Iterator[dict[str, Any]]:
    """A region and, unless the thing is simply there, the choice of its assertion."""
    place = {"start": entity.start, "end": entity.end, "text": entity.text}
    region: dict[str, Any] = {
        "id": f"e{number}",
        "from_name": LABELS,
        "to_name": TEXT,
        "type": "labels",
        "value": place | {"labels": [str(entity.type)]},
    }
    yield region if entity.score == 1.0 else region | {"score": entity.score}
    if entity.assertion is not Assertion.PRESENT:
        choice = {"type": "choices", "value": place | {"choices": [str(entity.assertion)]}}
        yield region | {"from_name": ASSERTION} | choice


def label_studio_config() -> str:
    """The labelling view for our types, assertions and relations, to be set up in the project."""
    view = Element("View")
    relations = SubElement(view, "Relations")
    for kinds in sorted(RELATION_TYPES):
        SubElement(relations, "Relation", value="-".join(kinds))
    labels = SubElement(view, "Labels", name=LABELS, toName=TEXT)
    colours = load_toml("view/entity_colours.toml")
    for kind in EntityType:
        SubElement(labels, "Label", value=kind, background=colours[kind])
    SubElement(view, "Text", name=TEXT, value=f"${TEXT}", granularity="symbol")
    choices = SubElement(
        view,
        "Choices",
        name=ASSERTION,
        toName=TEXT,
        perRegion="true",
        choice="single-radio",
        visibleWhen="region-selected",
        whenLabelValue=",".join(ASSERTED),
    )
    for assertion in Assertion:
        SubElement(choices, "Choice", value=assertion)
    indent(view)
    return tostring(view, encoding="unicode") + "\n"
