"""How headings look: in markdown, in capitals, with a colon, numbered as parts of a specimen."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from histoeval.reader.layout_lines import LINE_END
from histoeval.reader.lexicon import (
    is_field,
    kind_of,
    may_be_field,
    names_procedure,
    names_specimen,
    plain,
)

PART = "specimen_part"
OTHER = "other"

_HASHED = re.compile(
    r"#{1,6}\s+(?P<title>(?![^\S\n\r]{2})[^\n\r]{1,120}?):?[ \t#*_]{0,80}+" + LINE_END
)
_HASHED_NAME = re.compile(r"#{1,6}\s+(?P<title>[^\n\r:]{1,80}):(?=\s)")
_BOLD = re.compile(
    r"(?P<item>[-*•]\s+|\d{1,2}[.)]\s+)?(?P<bold>\*\*|__)\s?(?P<title>[^*_\n\r]{1,120}?)\s?"
    rf"(?::\s?(?P=bold)|(?P=bold)\s?:|(?P=bold){LINE_END})"
)
_NAMED = re.compile(
    r"(?:[^\w\s(\"#]{1,5}\s?)?(?P<title>[A-Za-z][^\n\r:.;!?*]{1,70}?)\s?[*=]{0,5}"
    rf"(?:(?P<mark>[:;]|\.(?=\s|\Z))|{LINE_END})"
)
_BEFORE_LIST = re.compile(r"(?P<title>[A-Z][A-Z /&-]{3,60}?)\s+(?=\(?(?:[A-Z]|\d{1,2})[.)]\s)")
_CAPITALS = re.compile(rf"(?P<title>[A-Z\"(][^\n\r:a-z]{{2,100}}?)\s?:{LINE_END}")
_NUMBER = r"(?:\((?:[A-Z]|\d{1,2})\)[.:]?|(?:[A-Z]|\d{1,2}|[IVX]{2,4})(?:\)\.?|[.:]))"
_PART_WORD = re.compile(
    r"(?P<title>(?i:part|specimen)(?:[ \t]#?[A-Z]|[ \t]?#?[ \t]?\d{1,2}|[ \t][IVX]{2,4}))[ \t]?"
    r"(?:[:.)]|-(?=\s))(?=\s|\Z|[A-Z])"
)
_PART_LABEL = re.compile(
    rf"(?P<title>{_NUMBER}\s*(?P<label>[A-Z\"“][^:*]{{2,200}}?))\s?:(?=\s|\Z|[A-Z])"
)
_PART_CAPITALS = re.compile(
    rf"(?P<title>{_NUMBER}\s*(?P<label>[A-Z][^:*\n\ra-z]{{2,150}}?))\s[-\u2013](?=\s)"
)
_PART_LETTER = re.compile(r"(?P<title>[A-Z]|\d{1,2})\s?:\s*(?=[A-Z\"“])")
_PART_LINE = re.compile(
    rf"(?P<title>{_NUMBER}\s*(?P<label>[A-Z][^\n\r:.*]{{2,150}}?))[ \t]?[;-]?{LINE_END}"
)
_NUMBERED = re.compile(rf"{_NUMBER}\s*\S")
_SAYS_SOMETHING = re.compile(r"\b(?:is|are|was|were|received|consists|measur\w+)\b", re.IGNORECASE)
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Heading:
    """Where a heading begins, where its body does, and whether it is known by name."""

    start: int
    body_start: int
    title: str
    kind: str
    known: bool


@dataclass(frozen=True, slots=True)
class HeadingCandidate:
    """A place where a heading may stand, the end of its sentence, and the kind it is inside."""

    text: str
    at: int
    end: int
    inside: str


_Form = Callable[[HeadingCandidate], Heading | None]


def heading_at(place: HeadingCandidate) -> Heading | None:
    """The heading that stands at the start of a sentence, or behind another heading."""
    return _first(_FORMS, place)


def heading_at_line_start(place: HeadingCandidate) -> Heading | None:
    """The heading that stands at the start of a line, where more forms are possible."""
    return _first(_LINE_FORMS, place)


def heading_in_capitals(place: HeadingCandidate) -> Heading | None:
    """The heading that stands in the middle of a line, recognised by its capitals."""
    found = _first((_named,), place)
    return found if found and found.title.isupper() else None


def _first(forms: tuple[_Form, ...], place: HeadingCandidate) -> Heading | None:
    """What the first form that fits makes of the place."""
    if place.at >= place.end:
        return None
    return next((heading for form in forms if (heading := form(place))), None)


def _known(found: re.Match[str] | None) -> Heading | None:
    """A heading, if its title is known by name."""
    kind = kind_of(found["title"]) if found else None
    return _made(found, kind, known=True) if found and kind else None


def _marked(found: re.Match[str]) -> Heading:
    """A heading that is marked as one, whether or not its title is known by name."""
    title = found["title"].strip()
    is_part = _NUMBERED.match(title) or ("," in title and names_procedure(title))
    return _known(found) or _made(found, PART if is_part else OTHER, known=False)


def _part(found: re.Match[str]) -> Heading:
    return _made(found, PART, known=False)


def _made(found: re.Match[str], kind: str, *, known: bool) -> Heading:
    body = _SPACE.match(found.string, found.end())
    body_start = body.end() if body else found.end()
    return Heading(found.start(), body_start, found["title"].strip(), kind, known)


def _hashed(place: HeadingCandidate) -> Heading | None:
    """`## Diagnosis`, or with its body on the same line, if it is known by name."""
    if named := _known(_HASHED_NAME.match(place.text, place.at)):
        return named
    found = _HASHED.match(place.text, place.at)
    return _marked(found) if found else None


def _bold(place: HeadingCandidate) -> Heading | None:
    """`**Diagnosis:**`, known by name."""
    return _known(_BOLD.match(place.text, place.at))


def _bold_line(place: HeadingCandidate) -> Heading | None:
    """`**Some title:**` at the start of a line; in an item of a list it must be known."""
    found = _BOLD.match(place.text, place.at)
    if not found or found["item"] or is_field(found["title"]):
        return _known(found)
    return _marked(found)


def _named(place: HeadingCandidate) -> Heading | None:
    """`Diagnosis: ...`, `Gross Description. ...` or `DIAGNOSIS. ...`, known by name."""
    found = _NAMED.match(place.text, place.at)
    if not found or not found["mark"]:
        return None
    title = found["title"]
    if found["mark"] in ":;":
        return None if _is_field_here(place, found) else _known(found)
    is_heading = title.isupper() or (title[0].isupper() and " " in plain(title))
    return _known(found) if is_heading else None


def _named_line(place: HeadingCandidate) -> Heading | None:
    """`Diagnosis` on a line of its own, known by name."""
    found = _NAMED.match(place.text, place.at)
    if found and not found["mark"] and found["title"][0].isupper():
        return _known(found)
    return _named(place)


def _is_field_here(place: HeadingCandidate, found: re.Match[str]) -> bool:
    """Whether a name with its value is a line of a checklist where it stands."""
    if place.inside not in {"diagnosis", "synoptic"} or found["title"].isupper():
        return False
    return may_be_field(found["title"]) and found.end() < place.end


def _before_list(place: HeadingCandidate) -> Heading | None:
    """`DIAGNOSIS (A) ...`, known by name."""
    return _known(_BEFORE_LIST.match(place.text, place.at))


def _capital_line(place: HeadingCandidate) -> Heading | None:
    """`ANYTHING IN CAPITALS:` on a line of its own."""
    found = _CAPITALS.match(place.text, place.at)
    return _marked(found) if found and not is_field(found["title"]) else None


def _part_word(place: HeadingCandidate) -> Heading | None:
    """`PART 2:` or `Specimen B:`."""
    found = _PART_WORD.match(place.text, place.at)
    return _part(found) if found else None


def _part_label(place: HeadingCandidate) -> Heading | None:
    """`1. Left breast, biopsy:`, but not `1. Tumour size:`."""
    found = _PART_LABEL.match(place.text, place.at, place.end)
    if not found or is_field(found["label"]) or _SAYS_SOMETHING.search(found["label"]):
        return None
    if kind := kind_of(found["label"]):
        return _made(found, kind, known=True)
    return _part(found) if _is_specimen(place, found) else None


def _is_specimen(place: HeadingCandidate, found: re.Match[str]) -> bool:
    """Whether a numbered label names a specimen; in a checklist most do not."""
    label = found["label"]
    if place.inside == "synoptic":
        return names_procedure(label)
    by_letter = found["title"].lstrip("(")[0].isalpha()
    return names_specimen(label) or (by_letter and (label.isupper() or label[0] in '"“'))


def _part_capitals(place: HeadingCandidate) -> Heading | None:
    """`(A) LEFT KIDNEY - ...`."""
    found = _PART_CAPITALS.match(place.text, place.at, place.end)
    return _part(found) if found and names_specimen(found["label"]) else None


def _part_letter(place: HeadingCandidate) -> Heading | None:
    """`A: Kidney, nephrectomy.`."""
    found = _PART_LETTER.match(place.text, place.at, place.end)
    label = place.text[place.at : min(place.end, place.at + 150)]
    return _part(found) if found and names_specimen(label) else None


def _part_line(place: HeadingCandidate) -> Heading | None:
    """`A. Colon, biopsy` on a line of its own, if it says how the specimen was taken."""
    found = _PART_LINE.match(place.text, place.at)
    if not found or _SAYS_SOMETHING.search(found["label"]):
        return None
    return _part(found) if names_procedure(found["label"]) else None


_FORMS: tuple[_Form, ...] = (
    _bold,
    _part_word,
    _named,
    _before_list,
    _part_label,
    _part_letter,
    _part_capitals,
)
_LINE_FORMS: tuple[_Form, ...] = (
    _hashed,
    _bold_line,
    _part_word,
    _named_line,
    _before_list,
    _part_label,
    _part_line,
    _part_letter,
    _part_capitals,
    _capital_line,
)
