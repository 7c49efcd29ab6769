"""What the layers of a UIMA annotation tool (INCEpTION, WebAnno) hold of an annotation."""

from __future__ import annotations

from collections.abc import Mapping

from histoeval.io.annotation.names import attribute
from histoeval.report import Assertion

NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
MACHINERY = ("uima.", "de.tudarmstadt.ukp.")
"""Layers that begin so hold words, sentences, syntax and book-keeping; but for named entities."""

LABEL_FEATURES = ("value", "label", "type", "entity", "category")
"""Features in which a type is looked for before all others."""


def holds_entities(layer: str) -> bool:
    """Whether annotations of a layer can be entities."""
    return layer == NAMED_ENTITY or not layer.startswith(MACHINERY)


def names_and_assertion(
    layer: str, features: Mapping[str, str | None]
) -> tuple[tuple[str, ...], Assertion]:
    """The names that may say the type, the layer's own last, and the assertion."""
    assertion = Assertion.PRESENT
    values: dict[str, str] = {}
    for name, value in features.items():
        if value is None:
            continue
        found = attribute(name, value)
        assertion = found or assertion
        if found is None and value:
            values[name] = value
    first = [values[name] for name in LABEL_FEATURES if name in values]
    others = [value for name, value in values.items() if name not in LABEL_FEATURES]
    return (*first, *others, layer.rpartition(".")[2]), assertion
