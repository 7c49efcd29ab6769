"""The sections of a report: what stands under which heading, as exact slices of its text.

The sections tile the text: the first begins at its first character, each ends where the next
begins, and the last ends with the text. Text before the first heading is a section without a
title. A heading is known by name, or it is marked as one: in markdown, or by capitals and a
colon on a line of its own.

The parts of a specimen ("A. Colon, biopsy:") are sections of the kind `specimen_part`. They and
the headings that are not known by name stand inside the section of the last heading that is,
and name its kind in `within`. Everything under a diagnosis is thus in the sections
whose `kind` or `within` is "diagnosis".
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from histoeval.reader.layout_lines import LINE_END, NEWLINE
from histoeval.reader.lexicon import (
    is_field,
    kind_of,
    listed,
    may_be_field,
    names_procedure,
    names_specimen,
    plain,
)
from histoeval.reader.sentences import TextSpan, sentences

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


_LINE_BREAK = re.compile(NEWLINE)
_CAPITALS_BEGIN = re.compile(r"(?<=[^A-Z\s])\s+(?=[A-Z]{4})")
_ORDINAL = re.compile(r"(?:part|specimen)?[\s#(]*(?:(\d{1,2})|([A-Z])(?![A-Z]))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Section(TextSpan):
    """A heading and what stands under it; the body begins at `body_start`."""

    title: str
    kind: str
    body_start: int
    within: str = ""


def sections(text: str) -> list[Section]:
    """The sections of a text, in order, from its first character to its last."""
    headings = list(_nested(text))
    if text and (not headings or text[: headings[0][0].start].strip()):
        headings.insert(0, (Heading(0, 0, "", OTHER, known=False), ""))
    starts = [heading.start if i else 0 for i, (heading, _) in enumerate(headings)]
    ends = [*starts[1:], len(text)]
    return [
        Section(start, end, heading.title, heading.kind, heading.body_start, within)
        for (heading, within), start, end in zip(headings, starts, ends, strict=False)
    ]


def _nested(text: str) -> Iterator[tuple[Heading, str]]:
    """The headings of a text, each with the kind of the section that it stands within.

    A comment on one part of a specimen does not take in the next part.
    """
    inside = resumed = ""
    number, previous, covered = 0, 0, 0
    for sentence in sentences(text):
        new_line = not previous or _LINE_BREAK.search(text, previous, sentence.start)
        previous = sentence.end
        look = heading_at_line_start if new_line else heading_at
        for heading in _in_sentence(
            HeadingCandidate(text, sentence.start, sentence.end, inside), look
        ):
            if heading.start < covered:
                continue  # a line that is a heading as a whole may hold the end of a sentence
            covered = heading.body_start
            if heading.known:
                inside = heading.kind
            elif heading.kind == PART:
                last, number = number, _ordinal(heading.title)
                if inside == "comment" and number == last + 1:
                    inside = resumed
                resumed = inside
            yield heading, "" if heading.known else inside


def _in_sentence(
    place: HeadingCandidate, look: Callable[[HeadingCandidate], Heading | None]
) -> Iterator[Heading]:
    """The heading at the start of a sentence, those behind it, and those recognised by capitals."""
    while True:
        if heading := look(place):
            yield heading
            inside = heading.kind if heading.known else place.inside
            place, look = replace(place, at=heading.body_start, inside=inside), heading_at
        elif gap := _CAPITALS_BEGIN.search(place.text, place.at, place.end):
            word = place.text[max(place.at, gap.start() - 20) : gap.start()].rpartition(" ")[2]
            place = replace(place, at=gap.end())
            look = _nothing if word in listed("never_last") else heading_in_capitals
        else:
            return


def _nothing(_: HeadingCandidate) -> None:
    """No heading stands behind "see" or "in the"."""


def _ordinal(title: str) -> int:
    """The number of a part, or of its letter."""
    found = _ORDINAL.match(title)
    if not found:
        return 0
    return int(found[1]) if found[1] else ord(found[2].upper()) - ord("A") + 1
