"""Statements on markers in other words, written as the reader of markers knows them.

"Does not express p16" is `negative for p16`, "amplification of MDM2 was not shown" is `MDM2
amplification absent` (`terms/data/marker_wordings.toml`).
"""

import re
from functools import cache
from typing import NamedTuple

from histoeval.resources import load_toml
from histoeval.terms.rewriting import RewrittenText

_PART = re.compile(r"(?<![Pg])<(\w+)>")  # and no name of a group


class Wording(NamedTuple):
    """An expression, the words in its place, and what stands in all that it matches."""

    pattern: re.Pattern[str]
    written: str
    cased: bool
    any_of: tuple[str, ...]


@cache
def wordings() -> tuple[Wording, ...]:
    table = load_toml("terms/data/marker_wordings.toml")

    def whole(expression: str) -> str:
        return _PART.sub(lambda part: whole(table["parts"][part[1]]), expression)

    return tuple(
        Wording(
            re.compile(whole(row["pattern"]), 0 if row.get("cased") else re.IGNORECASE),
            row["written"],
            row.get("cased", False),
            tuple(row["any_of"]),
        )
        for row in table["wording"]
    )


def plain_statements(text: str) -> RewrittenText:
    """Put statements on markers in the words of the reader; mostly nothing changes."""
    small = text.casefold().replace("\u0131", "i")  # what a pattern that ignores case may match
    return RewrittenText.of(
        text,
        (
            (match.start(), match.end(), match.expand(wording.written))
            for wording in wordings()
            if any(map((text if wording.cased else small).__contains__, wording.any_of))
            for match in wording.pattern.finditer(text)
        ),
    )
