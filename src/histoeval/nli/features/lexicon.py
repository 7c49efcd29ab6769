"""Word lists of the features (`data/cues.toml`, `data/pairs.toml`); all texts are in lower case."""

import re
from functools import cache

from histoeval.terms.lexicon import Lexicon

CUES, PAIRS = (
    Lexicon(
        f"nli/features/data/{name}.toml", before="(?<![a-z0-9-])", after="(?![a-z0-9])", flags=0
    )
    for name in ("cues", "pairs")
)


# One for all: an empty set takes as much memory as one of four
_NONE: frozenset[int] = frozenset()


@cache
def _contrasts() -> tuple[tuple[re.Pattern[str], ...], ...]:
    return tuple(tuple(map(CUES.any_of, row)) for row in CUES.entry("contrasts"))


def contrasts_in(text: str) -> tuple[frozenset[int], ...]:
    """For each row of opposites, which of them a text has."""
    return tuple(
        frozenset(place for place, word in enumerate(row) if word.search(text)) or _NONE
        for row in _contrasts()
    )


@cache
def scenes() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...]:
    """Ways and times of examination, each as a pair of patterns that are not the same."""
    return tuple(
        (name, PAIRS.any_of(first), PAIRS.any_of(second))
        for name, (first, second) in PAIRS.entry("scenes").items()
    )
