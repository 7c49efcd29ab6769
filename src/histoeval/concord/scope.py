"""Where a report states something, and where it only advises, or leaves a gap to be filled in."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from histoeval.extract.sections import sections

Stretch = tuple[int, int]

_TO_FILL_IN = (
    r"insert|specify|specific|provide|include|describe|enter|select|choose|name|date|e\.g|etc|if |"
    r"possible|_{2,}|\.{3}|signature|your|patient|pathologist|institution|type of|number"
)
_GAP = re.compile(
    rf"\[(?=[^\[\]\n]*(?:{_TO_FILL_IN}))[^\[\]\n]{{3,}}\]|<(?:insert|specify|name|date)[^<>\n]*>",
    re.IGNORECASE,
)
"""What a template leaves to be filled in: nothing in it is said by anybody."""


_BREAK = re.compile(r"[.;:\n]")
_CLAUSE = re.compile(r"[.;:,\n]|\b(?:and|with|now|but)\b", re.IGNORECASE)
_REACH, _CLAUSE_REACH = 100, 40


@dataclass(frozen=True, slots=True)
class Scope:
    """The stretches of a text by what they are for."""

    diagnosis: tuple[Stretch, ...]
    gaps: tuple[Stretch, ...]

    def concludes(self, place: int) -> bool:
        """Whether this stands where the report says its diagnosis."""
        return _inside(place, self.diagnosis)

    def is_gap(self, place: int) -> bool:
        """Whether this stands in a gap of a template."""
        return _inside(place, self.gaps)


def scope_of(text: str) -> Scope:
    """Read the layout of a text."""
    return Scope(
        tuple(
            (section.body_start, section.end)
            for section in sections(text)
            if "diagnosis" in (section.kind, section.within)
        ),
        tuple(gap.span() for gap in _GAP.finditer(text)),
    )


def concluding_text(text: str, scope: Scope) -> str:
    """What stands under the headings of the diagnosis, or all of it, without the gaps."""
    stretches = scope.diagnosis or ((0, len(text)),)
    return _GAP.sub(" ", " ".join(text[start:end] for start, end in stretches))


def before(text: str, place: int) -> str:
    """What stands before a place in the same statement, and near enough to be said of it."""
    return _BREAK.split(text[max(0, place - _REACH) : place])[-1]


def clause_before(text: str, place: int) -> str:
    """The same, within one clause."""
    return _CLAUSE.split(text[max(0, place - _CLAUSE_REACH) : place])[-1]


def has_wording(kind: str, text: str) -> bool:
    """Whether a wording of a kind (`wording.toml`) begins somewhere in a text."""
    return bool(_wording(kind).search(text))


@cache
def _wording(kind: str) -> re.Pattern[str]:
    listed = tomllib.loads(files(__package__).joinpath("wording.toml").read_text("utf-8"))
    either = "|".join(re.escape(each) for each in listed[kind])
    return re.compile(rf"(?<![^\W_])(?:{either})", re.IGNORECASE)


def _inside(place: int, stretches: Sequence[Stretch]) -> bool:
    before = bisect_right(stretches, place, key=lambda stretch: stretch[0])
    return before > 0 and place < stretches[before - 1][1]
