"""Where a report states or denies something, only advises, or leaves a gap to fill in."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from histoeval.reader.sections import sections
from histoeval.resources import load_toml

Stretch = tuple[int, int]

_TO_FILL_IN = (
    r"insert|specify|specific|provide|include|describe|enter|select|choose|name|date|e\.g|etc|if |"
    r"possible|_{2,}|\.{3}|signature|your|patient|pathologist|institution|type of|number"
)
_GAP = re.compile(
    rf"\[(?=[^\[\]\n]*(?:{_TO_FILL_IN}))[^\[\]\n]{{3,}}\]|<(?:insert|specify|name|date)[^<>\n]*>",
    re.IGNORECASE,
)
"""What a template leaves to be filled in: nothing in it is a statement."""


_BREAK = re.compile(r"[.;:\n]")
_CLAUSE = re.compile(r"[.;:,\n]|\b(?:and|with|now|but)\b", re.IGNORECASE)
_CONTRAST = re.compile(
    r"\b(?:but|although|however|except|with|shows?|present|seen|identified|positive|is|are|was|were)\b"
    r"|[(]",
    re.IGNORECASE,
)
_CONTRAST_OR_COMMA = re.compile(rf"{_CONTRAST.pattern}|,\s*(?!or\b|and\b|nor\b)", re.IGNORECASE)
_LIST_GOES_ON = re.compile(r"(?:,\s*+(?:[\w-]++\s++){1,4}?){0,3}?,?\s*n?or\b", re.IGNORECASE)
_DENIED_LIST = re.compile(
    r"(?:^|[.;\n])[\s*-]{0,40}(?:not (?:seen|identified|present|found|detected)|absent"
    r"|negative(?: for)?|none of|no evidence of)\s*:[^.;:\n]*$",
    re.IGNORECASE,
)
"""A heading under which all that stands is denied."""
"""Where the reach of a denial ends before the statement does."""
_NOT = re.compile(r"\b(?:not|cannot be)\s+(?:\w+\s+)?$", re.IGNORECASE)
_UP_TO_WORD = (
    r"[ ]*+(?:(?:,|/|\band\b|\bor\b|\bnor\b)[ ]*+)?"
    r"(?!but\b|with\b|which\b|is\b|are\b|was\b|were\b|not?\b|in\b|of\b|by\b|on\b)"
)
_UP_TO_VERDICT = (
    rf"(?:(?:{_UP_TO_WORD}[\w-]++){{0,4}}?|(?:{_UP_TO_WORD}[\w-]++){{0,3}}{_UP_TO_WORD}[\w-]+)"
    r"[ ]*(?:[:=(-]\s*|\b(?:is|are|was|were|be|been)\s+)?(?:both |all |also )?"
)
"""Words between a thing and the verdict on it."""
_BETWEEN = re.compile(r"[\w\s,/:=(-]{1,400}")
"""All characters that such words can have."""
_VERDICT_CHARS = 30
"""No verdict is longer."""
_REACH, _CLAUSE_REACH = 100, 40


@dataclass(frozen=True, slots=True)
class TextScope:
    """The stretches of a text by what they are for."""

    diagnosis: tuple[Stretch, ...]
    gaps: tuple[Stretch, ...]

    def concludes(self, place: int) -> bool:
        """Whether this stands where the report says its diagnosis."""
        return _inside(place, self.diagnosis)

    def is_gap(self, place: int) -> bool:
        """Whether this stands in a gap of a template."""
        return _inside(place, self.gaps)


def scope_of(text: str) -> TextScope:
    """Read the layout of a text."""
    return TextScope(
        tuple(
            (section.body_start, section.end)
            for section in sections(text)
            if "diagnosis" in (section.kind, section.within)
        ),
        tuple(gap.span() for gap in _GAP.finditer(text)),
    )


def concluding_text(text: str, scope: TextScope) -> str:
    """What stands under the headings of the diagnosis, or all of it, without the gaps."""
    stretches = scope.diagnosis or ((0, len(text)),)
    return _GAP.sub(" ", " ".join(text[start:end] for start, end in stretches))


def before(text: str, place: int) -> str:
    """The words before a place in the same statement, near enough to concern it."""
    return _BREAK.split(text[max(0, place - _REACH) : place])[-1]


def clause_before(text: str, place: int) -> str:
    """The same, within one clause."""
    return _CLAUSE.split(text[max(0, place - _CLAUSE_REACH) : place])[-1]


@lru_cache(maxsize=1 << 12)
def stance_at(text: str, start: int, end: int) -> bool | None:
    """Whether the words around a stretch affirm it or deny it, if they plainly do either.

    `No` before it denies it and `absent` after it, `present` affirms it; and what is itself denied
    denies nothing: a margin that is not free is involved.
    """
    if _DENIED_LIST.search(text[max(0, start - _REACH) : start]):
        return False
    words = _within_list(before(text, start), text[end : end + _REACH])
    if denial := _last(_wording("denial"), words):
        return bool(_NOT.search(words[: denial.start()]))
    if _may_have_verdict(text, end) and (verdict := _verdict().match(text, end)):
        return verdict["denied"] is None
    return True if has_wording("affirmed_before", words) else None


def _within_list(words: str, after: str) -> str:
    """The words that concern what follows them; in a list that ends in `or`, from its beginning."""
    break_at = _CONTRAST if _LIST_GOES_ON.match(after) else _CONTRAST_OR_COMMA
    return break_at.split(words)[-1]


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for found in pattern.finditer(text):  # noqa: B007
        pass
    return found


def _may_have_verdict(text: str, end: int) -> bool:
    """Whether a verdict begins before anything that cannot stand between it and its thing.

    It spares most places the search by `_verdict`, which tries every way to part the words.
    """
    between = _BETWEEN.match(text, end)
    reach = (between.end() if between else end) + _VERDICT_CHARS
    return _verdict("").search(text, end, reach) is not None


@cache
def _verdict(before: str = _UP_TO_VERDICT) -> re.Pattern[str]:
    """A verdict with the words before it: of two that could be meant, the longer."""
    denied, affirmed = (
        "|".join(re.escape(each) for each in sorted(_listed()[kind], key=len, reverse=True))
        for kind in ("denied_after", "affirmed_after")
    )
    return re.compile(
        rf"{before}(?:(?P<denied>{denied})|(?P<affirmed>{affirmed}))(?![^\W_]|\s+for\b)",
        re.IGNORECASE,
    )


def has_wording(kind: str, text: str) -> bool:
    """Whether a wording of a kind (`wording.toml`) begins somewhere in a text."""
    return bool(_wording(kind).search(text))


@cache
def _listed() -> dict[str, list[str]]:
    return load_toml("facts/data/wording.toml")


@cache
def _wording(kind: str) -> re.Pattern[str]:
    either = "|".join(re.escape(each) for each in _listed()[kind])
    return re.compile(rf"(?<![^\W_])(?:{either})", re.IGNORECASE)


def _inside(place: int, stretches: Sequence[Stretch]) -> bool:
    before = bisect_right(stretches, place, key=lambda stretch: stretch[0])
    return before > 0 and place < stretches[before - 1][1]
