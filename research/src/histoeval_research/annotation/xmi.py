"""UIMA CAS XMI, as INCEpTION exports it together with its TypeSystem.xml; read by dkpro-cassis.

An annotation with a governor and a dependent is a relation from the one to the other.
"""

import io
import warnings
from importlib import import_module
from typing import Any

from histoeval.errors import MissingDependency, pip_install, reason_of
from histoeval_research.annotation.draft import DraftSpan, Link, PassageDraft, RefusedPassage
from histoeval_research.annotation.names import Vocabulary, holds_entities, names_and_assertion
from histoeval_research.annotation.passage import AnnotatedPassage

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
