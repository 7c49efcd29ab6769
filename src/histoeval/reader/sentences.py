"""Sentences of a report, as exact slices of its text.

A sentence here is what a pathologist would read in one breath: a sentence of prose, an item of
a list, a heading, or a label with its value. Nothing is copied, normalised or omitted: the
sentences stand in order, do not overlap, and hold every character that is not white space.

Reports come as prose, markdown, capitals without end, and scans whose line breaks were turned
into full stops. `stop_ends_sentence` decides what a full stop means, `layout_lines` what a line
break does.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from histoeval.reader.layout_lines import MARK, NEWLINE, NEWLINES, line_break_ends_sentence
from histoeval.reader.lexicon import kind_of, listed

_RULE = "_=~-"
_STOP = r".!?…\u3002\uff01\uff1f"
_BORDER = re.compile(rf"[{_STOP}][{_STOP}\"'\u2019”»)\]}}*_]*|{NEWLINE}\s*|[{_RULE}]{{8,}}")
_BRACKET = re.compile(r"[()\[\]]")
_NOT_SPACE = re.compile(r"\S")
_CAPITAL = re.compile(r"[A-Z]")
_MAX_ASIDE_CHARS = 200
_MIN_CHARS_WITHOUT_CAPITALS = 200


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A slice of a text, by the positions of its first character and of the one after its last."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Sentence(TextSpan):
    """A sentence, list item, heading or labelled value, without white space around it."""


@lru_cache(maxsize=1 << 8)  # a report is asked for its sentences by many
def sentences(text: str) -> tuple[Sentence, ...]:
    spans: list[Sentence] = []
    # Some models write small letters only, with spaces around every stop; capitals then do not
    # tell where sentences begin. A short piece of text may lack them by chance.
    is_short = len(text) < _MIN_CHARS_WITHOUT_CAPITALS and " . " not in text
    has_capitals = is_short or _CAPITAL.search(text) is not None
    asides = _asides(text)
    start = line = _skip_space(text, 0)
    for border in _BORDER.finditer(text, start):
        at, after = border.span()
        end = after
        if border[0][0].isspace():
            end = at
            ends = start < at and _ends_at_line_break(text, start, line, border, asides)
            line = after
        elif border[0][0] in _RULE:
            ends = True
        else:
            ends = stop_ends_sentence(text, start, at, after, has_capitals)
            ends = ends and not _holds(asides, after - 1)
        if ends:
            spans.append(_trimmed(text, start, end))
            start = _skip_space(text, end)
    if start < len(text):
        spans.append(_trimmed(text, start, len(text)))
    return tuple(spans)


def _ends_at_line_break(
    text: str, start: int, line: int, gap: re.Match[str], asides: list[tuple[int, int]]
) -> bool:
    """True if the sentence from `start` on ends where the present line does.

    It always does at a blank line, and never when it is only the number of a list so far.
    """
    if len(NEWLINES.findall(gap[0])) > 1:  # a blank line
        return True
    if only_marks(text, start, gap.start()) or _holds(asides, gap.start()):
        return False
    return line_break_ends_sentence(text, max(start, line), gap.start(), gap.end())


def _asides(text: str) -> list[tuple[int, int]]:
    """Spans of outermost brackets that are not too long.

    Scanned reports lose brackets, so a bracket pairs with the nearest that is still open.
    """
    opened: list[int] = []
    asides: list[tuple[int, int]] = []
    for bracket in _BRACKET.finditer(text):
        at = bracket.start()
        if text[at] in "([":
            opened.append(at)
        elif opened and at - (start := opened.pop()) <= _MAX_ASIDE_CHARS:
            while asides and asides[-1][0] > start:
                asides.pop()
            asides.append((start, at))
    return asides


def _holds(asides: list[tuple[int, int]], at: int) -> bool:
    i = bisect_right(asides, (at, at)) - 1
    return i >= 0 and at < asides[i][1]


def _skip_space(text: str, start: int) -> int:
    match = _NOT_SPACE.search(text, start)
    return match.start() if match else len(text)


def _trimmed(text: str, start: int, end: int) -> Sentence:
    return Sentence(start, start + len(text[start:end].rstrip()))


_NEXT_WORD = re.compile(r"[\W_]{0,8}([^\W_][\w'-]{0,40})?")
_NUMBER = re.compile(r"[\W_]{0,3}\d")
_LIST_NUMBER = re.compile(r"[\W_]{0,3}(?:\d{1,2}|[a-z]|[ivx]{2,5})[.)]\s+[^\W\da-z]")
_SMALL_LIST_MARK = re.compile(r"\(?[a-z]\)\s|[a-z]\.\s+[A-Z]|[ivx]{2,5}[.)]\s+[A-Z]")
_ONLY_MARKS = re.compile(
    rf"[\W_]*(?:(?:(?:part|specimen|slide|block)\s+)?{MARK}"
    rf"(?:[\W_]*[.):,;&-][\W_]*(?:and\s+)?{MARK})*)?[\W_]*",
    re.IGNORECASE,
)
_MAX_MARK_CHARS = 24
_BEGINS_WITH_CODE = re.compile(r"[a-z]{1,3}[A-Z0-9]|[a-z]-[A-Z]")
_STAGE = r"[ycra]{0,2}p?\s?(?:[TNM]\s?(?:[0-4][a-d]?|[xX]|is|O)|[LVRG]\s?[0-4xX])"
_ENDS_WITH_STAGE = re.compile(rf"(?<![A-Za-z]){_STAGE}\W*\Z")
_BEGINS_WITH_STAGE = re.compile(rf"\W?{_STAGE}\b(?!\s*:)")
_SIZE = re.compile(r"\d+\s?(?:[cm]m\b|[xX\u00d7%])")
_TIMES = re.compile(r"[xX\u00d7]\s?\.?\d")
_LABEL = re.compile(r"[^.:;\n]{1,50}:|\(?[A-Z1-9][.):]")
_CAPITAL_MARK = re.compile(r"\(?(?:\d{1,2}|[A-Z])[.)]\s+\S")
_ASIDE = re.compile(rf"\(see\b|\((?!{MARK}\))[^()\n]{{1,80}}\)\s?[.,;]", re.IGNORECASE)
_AROUND_WORDS = "()[]{}\"'“”\u2018\u2019*_,"
_BEFORE_SIZE = frozenset({"x", "\u00d7", "by", "is", "measures", "measuring", "of", "to"})
_DOCTOR = re.compile(r"[A-Z][\w'-]{1,30},?\s+(?:M\.?D|D\.?O|Ph\.?D|MBBS|FRCPath|FCAP|PA)\b")
_GLUED_BEFORE = re.compile(r"(?:[a-z]{3}|[A-Z]{4}|\d\s?[cm]m|[)\]%]|\S\s)\Z")
_GLUED_AFTER = re.compile(r"[A-Z][a-z]|[A-Z]{3}|[A-Z1-9]\.\s+[A-Z]")


class Stop(NamedTuple):
    """A full stop, question or exclamation mark, with what stands around it."""

    text: str
    sentence: int
    start: int
    end: int
    after: int
    words: list[str]  # the last two before it, as they stand
    word: str  # the nearer one in small letters, without the punctuation around it
    next: str
    capitals: bool


def stop_ends_sentence(text: str, sentence: int, start: int, end: int, capitals: bool) -> bool:
    """True if the sentence from `sentence` on ends with the stop `text[start:end]`.

    `capitals` says that the text has capital letters, so that a small one after a stop means
    that the sentence continues: in scanned reports a stop often stands for a line break.
    """
    if end == len(text):
        return True
    if text[start] in "\u3002\uff01\uff1f":
        return True
    if not text[end].isspace():
        # two sentences meet at a stop without a space between them
        before = text[max(sentence, start - 4) : start]
        return bool(_GLUED_AFTER.match(text, end) and _GLUED_BEFORE.search(before))
    if not (space := _NOT_SPACE.search(text, end)):
        return True
    after = space.start()
    words = text[max(sentence, start - 40) : start].split()
    following = _NEXT_WORD.match(text, after)
    next_word = (following and following[1]) or ""
    word = words[-1].lower().strip(_AROUND_WORDS) if words else ""
    stop = Stop(text, sentence, start, end, after, words[-2:], word, next_word, capitals)
    return not any(goes_on(stop) for goes_on in _RULES)


def only_marks(text: str, start: int, end: int) -> bool:
    """True for nothing but punctuation and the number of a list item."""
    return end - start <= _MAX_MARK_CHARS and _ONLY_MARKS.fullmatch(text, start, end) is not None


def _touches_a_mark(stop: Stop) -> bool:
    """A stop behind a comma, colon or hyphen stands for a line break; none precedes a mark."""
    if stop.text[stop.after] in ",;:.)]}%/&=":
        return True
    last = stop.words[-1][-1] if stop.words else " "
    if last in ";:-\u2013\u2014":
        return not _CAPITAL_MARK.match(stop.text, stop.after)
    return last in ",/(&=<"


def _is_no_full_stop(stop: Stop) -> bool:
    """A question mark asks about the word behind it; dots lead to a value, or omit something."""
    before = stop.text[stop.start - 1]
    if stop.text[stop.start] == "?" and before in " \t(":
        return True
    return stop.end - stop.start > 2 and before.isspace()


def _is_abbreviation(stop: Stop) -> bool:
    if stop.word in listed("abbreviations"):
        return True
    if len(stop.word) == 1 and stop.next.lower() in listed("species"):
        return True
    if not _NUMBER.match(stop.text, stop.after):
        return False
    if stop.word in listed("before_grade"):
        return not _LIST_NUMBER.match(stop.text, stop.after)
    return stop.word in listed("before_number")


def _is_unfinished(stop: Stop) -> bool:
    """No sentence ends with "of the", but specimen A may end one.

    In capitals, "SQUAMOUS." is followed by its noun, unless a label follows.
    """
    if stop.word in listed("never_last"):
        return stop.words[-1] != "A"
    if not (stop.next.isupper() and stop.words and stop.words[-1].isupper()):
        return False
    if not stop.text[stop.after].isalpha():
        return False
    return stop.word in listed("waiting") and not _LABEL.match(stop.text, stop.after)


def _is_initial(stop: Stop) -> bool:
    if len(stop.word) != 1 or not stop.words[-1][-1].isupper():
        return False
    before = stop.words[-2] if len(stop.words) > 1 else ""
    if before.lower().strip(".,:") in listed("titles"):
        return True
    initials = len(before) == 2 and before[0].isupper() and before[1] == "."
    return initials or _DOCTOR.match(stop.text, stop.after) is not None


def _parts_a_stage(stop: Stop) -> bool:
    before = stop.text[max(stop.sentence, stop.start - 8) : stop.start]
    return bool(_BEGINS_WITH_STAGE.match(stop.text, stop.after) and _ENDS_WITH_STAGE.search(before))


def _parts_a_size(stop: Stop) -> bool:
    """A decimal point with a space behind it, or a product that continues."""
    word = stop.word
    if _TIMES.match(stop.text, stop.after) and word[-2:] in {"cm", "mm"}:
        return True
    if word in {"x", "\u00d7"} and stop.next[:1].isdigit():
        return True
    if stop.next in {"CM", "MM"} and word[-1:].isdigit():
        return True
    if not (word.isdigit() and _SIZE.match(stop.text, stop.after)):
        return False
    return word == "0" or (len(stop.words) > 1 and stop.words[-2].lower() in _BEFORE_SIZE)


def _is_aside(stop: Stop) -> bool:
    """Brackets, as in "(see comment)" or "(4.0 cm).", belong to the sentence before."""
    return _ASIDE.match(stop.text, stop.after) is not None


def _goes_on_in_small_letters(stop: Stop) -> bool:
    word = stop.next
    if not word or not (word.islower() or word[0].islower()):
        return len(word) > 1 and word.isupper() and word.lower() in listed("never_first")
    if _SMALL_LIST_MARK.match(stop.text, stop.after):
        return False
    if not stop.capitals:
        return word in listed("never_first")
    return not _BEGINS_WITH_CODE.match(word)


def _is_list_number(stop: Stop) -> bool:
    """The number of a list item, at the start of a sentence or behind a heading and colon."""
    if only_marks(stop.text, stop.sentence, stop.end):
        return True
    if len(stop.words) < 2 or not stop.words[-2].endswith(":"):
        return False
    mark = stop.start - len(stop.words[-1])
    label = stop.text[max(stop.sentence, mark - 60) : mark].rstrip(": ").rpartition(":")[2]
    return only_marks(stop.text, mark, stop.end) and kind_of(label) not in {None, "other"}


_RULES = (
    _goes_on_in_small_letters,
    _is_list_number,
    _touches_a_mark,
    _is_no_full_stop,
    _is_abbreviation,
    _is_unfinished,
    _is_initial,
    _parts_a_stage,
    _parts_a_size,
    _is_aside,
)
