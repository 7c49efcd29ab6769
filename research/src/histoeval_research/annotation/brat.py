"""brat standoff: a text file, and a file of annotations that point into it.

Text-bound annotations (T), binary relations (R) and attributes (A or M) are read; notes,
normalisations and equivalences are skipped.
"""

import re
from collections.abc import Callable

from histoeval_research.annotation.draft import DraftSpan, Link, PassageDraft, RefusedPassage
from histoeval_research.annotation.names import Vocabulary, attribute
from histoeval_research.annotation.offsets import place_of
from histoeval_research.annotation.passage import AnnotatedPassage

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
