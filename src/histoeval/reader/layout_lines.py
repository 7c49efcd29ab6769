"""Kinds of lines in a report, and the line breaks at which a sentence ends."""

import re

from histoeval.reader.lexicon import kind_of, listed

_NEWLINE_CHARACTERS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
NEWLINE = f"[{_NEWLINE_CHARACTERS}]"
# Python before 3.11.5 has a fault in possessive groups, so only classes of characters are
LINE_END = rf"(?=[^\S{_NEWLINE_CHARACTERS}]*+(?:{NEWLINE}|\Z))"

# numbers an item of a list: 1, 2b, A, A1, iv; not T2, which is a stage
MARK = r"(?:\d{1,3}[A-Za-z]?|(?![TNM]\d)[A-Z]\d?|[a-z]|[ivx]{2,5}|[IVX]{2,5})"

NEWLINES = re.compile(rf"\r\n|{NEWLINE}")
_BULLET = re.compile(r"[-\u2013\u2014*+]\s+\S|[•·▪◦●‣\u2043∙]|-(?=[A-Z])")
_NUMBERED = re.compile(
    rf"#?\s?[(\[]?{MARK}(?:[)\]][.:]?|\.\)?)(?:\s+\S|[A-Z(\"])"
    r"|#\s?\d{1,2}\s?:|\d{1,2}\s?:\s*[A-Z]"
    r"|(?![TNM])(?:[A-Z]\d{1,2}|\d{1,2}[A-Z])(?:\s?[-,]\s?[A-Z]?\d{1,2}[A-Z]?)?\s?[-:)=]\s?\S"
    r"|(?:part|specimen)\s+(?:[A-Z]|\d{1,2})\s?[:.)-]",
    re.IGNORECASE,
)
_HASHED = re.compile(r"#{1,6}\s+\S")
_RULED = re.compile(rf"(?:[-=_*~.#]\s?){{3,200}}{LINE_END}")
_LABELLED = re.compile(r"(?:\*\*|__)?[A-Z][^\n\r.:;!?]{0,60}:(?:\*\*|__)?(?=\s|\Z|[A-Z*])")
_BOLD = re.compile(
    rf"(\*\*|__)[^*_\n\r]{{1,80}}(?::\s?\1|\1\s?:|\1{LINE_END})",
)
_SHORT_LINE = re.compile(rf"(?:[*=]{{1,5}}\s?)?[A-Z][^\n\r]{{1,60}}?{LINE_END}")
_CAPITALS = re.compile(r"(?=.*[A-Z]{4})[A-Z][A-Z &/()'-]{3,50}")
_ENDS_IN_CAPITALS = re.compile(r"[A-Z]{3}[.,;]?\s*\Z")
_CAPITALISED = re.compile(r"[A-Z][a-z]{2}")
_LAST_WORD = re.compile(r"(\w+)\W*\Z")
_MAX_LABEL_WORDS = 8
_MAX_LABEL_CHARS = 100


def line_break_ends_sentence(text: str, line: int, end: int, following: int) -> bool:
    """True if the sentence ends where the line `text[line:end]` does.

    The next line begins at `following`. Prose is wrapped anywhere, so a line break alone says
    nothing: either the next line must open something new, or this one must be a heading.
    """
    if _is_heading(text, line, end, text[following : following + 1]):
        return True
    if _BULLET.match(text, following) or _HASHED.match(text, following):
        return True
    before = text[max(line, end - 40) : end].rstrip()
    last = _LAST_WORD.search(before)
    last_word = last[1].lower() if last else ""
    is_unfinished = last_word in listed("never_last")
    if _NUMBERED.match(text, following):  # "grade", or what else a number or letter follows
        expects_label = is_unfinished or last_word in listed("before_label")
        return before.endswith(":") or not expects_label
    label = _LABELLED.match(text, following)
    if label and kind_of(label[0]):
        return True
    if is_unfinished or before.endswith((",", "-")):
        return False
    if _BOLD.match(text, following) or _RULED.match(text, following):
        return True
    if label and len(label[0].split()) <= _MAX_LABEL_WORDS:
        return True
    # a heading that is known by name, or by its capitals, which the other line has not
    following_line = _SHORT_LINE.match(text, following)
    if following_line and kind_of(following_line[0]):
        return True
    this_line = text[line:end]
    if following_line and _CAPITALS.fullmatch(following_line[0]):
        return not _ENDS_IN_CAPITALS.search(this_line)
    return bool(_CAPITALS.fullmatch(this_line.strip()) and _CAPITALISED.match(text, following))


def _is_heading(text: str, line: int, end: int, following: str) -> bool:
    """True if a whole line is a heading, a label that ends in a colon, or a drawn rule.

    A single word is none if the next line continues in small letters.
    """
    if end - line > _MAX_LABEL_CHARS:
        return False
    if _HASHED.match(text, line) or _RULED.match(text, line):
        return True
    content = text[line:end].strip(" \t*_")
    if not content or content[0].islower():
        return False
    bold = _BOLD.match(text[line:end].rstrip())
    if content.endswith(":") or (bold and bold.end() == len(bold.string)):
        return True
    is_one_word = content.isalpha() and not content.isupper()
    return kind_of(content) is not None and not (is_one_word and following.islower())
