"""What the lines of a report look like, and at which line breaks a sentence ends."""

import re

from histoeval.reader.lexicon import kind_of, listed

_NEWLINE_CHARACTERS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
NEWLINE = f"[{_NEWLINE_CHARACTERS}]"
LINE_END = rf"(?=[^\S{_NEWLINE_CHARACTERS}]*+(?:{NEWLINE}|\Z))"
"""Python before 3.11.5 has a fault in possessive groups, so only classes of characters are."""

MARK = r"(?:\d{1,3}[A-Za-z]?|(?![TNM]\d)[A-Z]\d?|[a-z]|[ivx]{2,5}|[IVX]{2,5})"
"""What numbers an item of a list: 1, 2b, A, A1, iv. Not T2, which is a stage."""

_NEWLINES = re.compile(rf"\r\n|{NEWLINE}")
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


def parts_paragraphs(gap: str) -> bool:
    """Whether white space holds a blank line."""
    return len(_NEWLINES.findall(gap)) > 1


def line_break_ends_sentence(text: str, line: int, end: int, following: int) -> bool:
    """Whether the sentence ends where the line `text[line:end]` does.

    The next line begins at `following`. Prose is wrapped anywhere, so a line break alone says
    nothing: either the next line must open something new, or this one must be a heading.
    """
    if _is_heading(text, line, end, text[following : following + 1]):
        return True
    if _BULLET.match(text, following) or _HASHED.match(text, following):
        return True
    before = text[max(line, end - 40) : end].rstrip()
    if _NUMBERED.match(text, following):
        return not _expects_label(before)
    label = _LABELLED.match(text, following)
    if label and kind_of(label[0]):
        return True
    return not _is_unfinished(before) and (
        _opens_field(text, following)
        or _is_known_heading(text, following)
        or _turns_capital(text[line:end], text, following)
    )


def _is_heading(text: str, line: int, end: int, following: str) -> bool:
    """Whether a whole line is a heading, a label that ends in a colon, or a drawn rule.

    A single word is none if the next line continues in small letters.
    """
    if end - line > _MAX_LABEL_CHARS:
        return False
    if _HASHED.match(text, line) or _RULED.match(text, line):
        return True
    content = text[line:end].strip(" \t*_")
    if not content or content[0].islower():
        return False
    if content.endswith(":") or _is_whole_bold(text[line:end]):
        return True
    is_one_word = content.isalpha() and not content.isupper()
    return kind_of(content) is not None and not (is_one_word and following.islower())


def _is_whole_bold(line: str) -> bool:
    bold = _BOLD.match(line.rstrip())
    return bold is not None and bold.end() == len(line.rstrip())


def _is_known_heading(text: str, at: int) -> bool:
    """Whether a whole line is a heading that is known by name."""
    short = _SHORT_LINE.match(text, at)
    return short is not None and kind_of(short[0]) is not None


def _opens_field(text: str, at: int) -> bool:
    """Whether a line begins with a short label and a colon, or is drawn."""
    if _BOLD.match(text, at) or _RULED.match(text, at):
        return True
    label = _LABELLED.match(text, at)
    return label is not None and len(label[0].split()) <= _MAX_LABEL_WORDS


def _turns_capital(line: str, text: str, following: int) -> bool:
    """Whether one of two lines is a heading by its capitals, which the other has not."""
    following_line = _SHORT_LINE.match(text, following)
    if following_line and _CAPITALS.fullmatch(following_line[0]):
        return not _ENDS_IN_CAPITALS.search(line)
    return bool(_CAPITALS.fullmatch(line.strip()) and _CAPITALISED.match(text, following))


def _is_unfinished(before: str) -> bool:
    """Whether a line breaks off in the middle of a phrase."""
    last = _LAST_WORD.search(before)
    return before.endswith((",", "-")) or (
        last is not None and last[1].lower() in listed("never_last")
    )


def _expects_label(before: str) -> bool:
    """Whether a line ends in a word that is followed by a number or letter, such as grade."""
    last = _LAST_WORD.search(before)
    if last is None or before.endswith(":"):
        return False
    return last[1].lower() in listed("before_label") | listed("never_last")
