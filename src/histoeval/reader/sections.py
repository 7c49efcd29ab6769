"""The sections of a report: what stands under which heading, as exact slices of its text.

The sections tile the text, and text before the first heading is one without a title. A heading
is known by name, or marked as one: in markdown, or by capitals and a colon on a line of its own.

The parts of a specimen ("A. Colon, biopsy:") have the kind `specimen_part`. They and headings that
are not known by name name in `within` the kind of the last heading that is: everything under a
diagnosis is in the sections whose `kind` or `within` is "diagnosis".
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

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


class Heading(NamedTuple):
    """The start of a heading and of its body, and whether it is known by name."""

    start: int
    body_start: int
    title: str
    kind: str
    is_known: bool


class HeadingCandidate(NamedTuple):
    """A position where a heading may stand, the end of its sentence, and the kind it is inside."""

    text: str
    at: int
    end: int
    inside: str


_Form = Callable[[HeadingCandidate], Heading | None]


def _known(match: re.Match[str] | None) -> Heading | None:
    kind = kind_of(match["title"]) if match else None
    return _heading(match, kind, is_known=True) if match and kind else None


def _marked(match: re.Match[str]) -> Heading:
    """A heading that is marked as one, whether or not its title is known by name."""
    title = match["title"].strip()
    is_part = _NUMBERED.match(title) or ("," in title and names_procedure(title))
    return _known(match) or _heading(match, PART if is_part else OTHER)


def _heading(match: re.Match[str], kind: str, *, is_known: bool = False) -> Heading:
    body_start = match.end() + len(_SPACE.match(match.string, match.end())[0])  # type: ignore[index]
    return Heading(match.start(), body_start, match["title"].strip(), kind, is_known)


def _hashed(candidate: HeadingCandidate) -> Heading | None:
    """`## Diagnosis`, or with its body on the same line, if it is known by name."""
    if named := _known(_HASHED_NAME.match(candidate.text, candidate.at)):
        return named
    match = _HASHED.match(candidate.text, candidate.at)
    return _marked(match) if match else None


def _bold(candidate: HeadingCandidate) -> Heading | None:
    return _known(_BOLD.match(candidate.text, candidate.at))


def _bold_line(candidate: HeadingCandidate) -> Heading | None:
    """`**Some title:**` at the start of a line; in an item of a list it must be known."""
    match = _BOLD.match(candidate.text, candidate.at)
    if not match or match["item"] or is_field(match["title"]):
        return _known(match)
    return _marked(match)


def _named(candidate: HeadingCandidate) -> Heading | None:
    """`Diagnosis: ...`, `Gross Description. ...` or `DIAGNOSIS. ...`, known by name."""
    match = _NAMED.match(candidate.text, candidate.at)
    if not match or not match["mark"]:
        return None
    title = match["title"]
    if match["mark"] in ":;":
        may_be_line = candidate.inside in {"diagnosis", "synoptic"} and not title.isupper()
        is_line = may_be_line and may_be_field(title) and match.end() < candidate.end
        return None if is_line else _known(match)  # a line of a checklist with its value
    is_heading = title.isupper() or (title[0].isupper() and " " in plain(title))
    return _known(match) if is_heading else None


def _named_line(candidate: HeadingCandidate) -> Heading | None:
    """`Diagnosis` on a line of its own, known by name."""
    match = _NAMED.match(candidate.text, candidate.at)
    if match and not match["mark"] and match["title"][0].isupper():
        return _known(match)
    return _named(candidate)


def _before_list(candidate: HeadingCandidate) -> Heading | None:
    return _known(_BEFORE_LIST.match(candidate.text, candidate.at))


def _capital_line(candidate: HeadingCandidate) -> Heading | None:
    """`ANYTHING IN CAPITALS:` on a line of its own."""
    match = _CAPITALS.match(candidate.text, candidate.at)
    return _marked(match) if match and not is_field(match["title"]) else None


def _part_word(candidate: HeadingCandidate) -> Heading | None:
    """`PART 2:` or `Specimen B:`."""
    match = _PART_WORD.match(candidate.text, candidate.at)
    return _heading(match, PART) if match else None


def _part_label(candidate: HeadingCandidate) -> Heading | None:
    """`1. Left breast, biopsy:`, but not `1. Tumour size:`; in a checklist most are no specimen."""
    match = _PART_LABEL.match(candidate.text, candidate.at, candidate.end)
    if not match or is_field(match["label"]) or _SAYS_SOMETHING.search(match["label"]):
        return None
    label = match["label"]
    if kind := kind_of(label):
        return _heading(match, kind, is_known=True)
    if candidate.inside == "synoptic":
        is_specimen = names_procedure(label)
    else:
        has_letter = match["title"].lstrip("(")[0].isalpha()
        is_specimen = names_specimen(label) or (
            has_letter and (label.isupper() or label[0] in '"“')
        )
    return _heading(match, PART) if is_specimen else None


def _part_capitals(candidate: HeadingCandidate) -> Heading | None:
    """`(A) LEFT KIDNEY - ...`."""
    match = _PART_CAPITALS.match(candidate.text, candidate.at, candidate.end)
    return _heading(match, PART) if match and names_specimen(match["label"]) else None


def _part_letter(candidate: HeadingCandidate) -> Heading | None:
    """`A: Kidney, nephrectomy.`."""
    match = _PART_LETTER.match(candidate.text, candidate.at, candidate.end)
    label = candidate.text[candidate.at : min(candidate.end, candidate.at + 150)]
    return _heading(match, PART) if match and names_specimen(label) else None


def _part_line(candidate: HeadingCandidate) -> Heading | None:
    """`A. Colon, biopsy` on a line of its own, if it says how the specimen was taken."""
    match = _PART_LINE.match(candidate.text, candidate.at)
    if not match or _SAYS_SOMETHING.search(match["label"]):
        return None
    return _heading(match, PART) if names_procedure(match["label"]) else None


def _in_capitals(candidate: HeadingCandidate) -> Heading | None:
    """A known heading in the middle of a line, recognised by its capitals."""
    heading = _named(candidate)
    return heading if heading and heading.title.isupper() else None


# what may stand at the start of a sentence or behind a heading; and at the start of a line
_FORMS = (_bold, _part_word, _named, _before_list, _part_label, _part_letter, _part_capitals)
_LINE_FORMS = (
    *(_hashed, _bold_line, _part_word, _named_line, _before_list, _part_label, _part_line),
    *(_part_letter, _part_capitals, _capital_line),
)


_LINE_BREAK = re.compile(NEWLINE)
_CAPITALS_BEGIN = re.compile(r"(?<=[^A-Z\s])\s+(?=[A-Z]{4})")
_ORDINAL = re.compile(r"(?:part|specimen)?[\s#(]*(?:(\d{1,2})|([A-Z])(?![A-Z]))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Section(TextSpan):
    """A heading and the text under it; the body begins at `body_start`."""

    title: str
    kind: str
    body_start: int
    within: str = ""


def sections(text: str) -> list[Section]:
    headings = list(_nested(text))
    if text and (not headings or text[: headings[0][0].start].strip()):
        headings.insert(0, (Heading(0, 0, "", OTHER, is_known=False), ""))
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
        candidate = HeadingCandidate(text, sentence.start, sentence.end, inside)
        for heading in _in_sentence(candidate, _LINE_FORMS if new_line else _FORMS):
            if heading.start < covered:
                continue  # a line that is a heading as a whole may hold the end of a sentence
            covered = heading.body_start
            if heading.is_known:
                inside = heading.kind
            elif heading.kind == PART:
                match = _ORDINAL.match(heading.title)
                letter = match[2].upper() if match and match[2] else "@"  # comes before A
                last, number = number, int((match and match[1]) or ord(letter) - ord("@"))
                if inside == "comment" and number == last + 1:
                    inside = resumed
                resumed = inside
            yield heading, "" if heading.is_known else inside


def _in_sentence(candidate: HeadingCandidate, forms: tuple[_Form, ...]) -> Iterator[Heading]:
    while True:
        headings = (form(candidate) for form in forms) if candidate.at < candidate.end else ()
        if heading := next(filter(None, headings), None):
            yield heading
            inside = heading.kind if heading.is_known else candidate.inside
            candidate, forms = candidate._replace(at=heading.body_start, inside=inside), _FORMS
        elif gap := _CAPITALS_BEGIN.search(candidate.text, candidate.at, candidate.end):
            word = candidate.text[max(candidate.at, gap.start() - 20) : gap.start()].rpartition(
                " "
            )[2]
            candidate = candidate._replace(at=gap.end())
            # no heading stands behind "see" or "in the"
            forms = () if word in listed("never_last") else (_in_capitals,)
        else:
            return
