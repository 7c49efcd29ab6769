"""The word lists and tables of the rules, and their version for the signature.

`logic.toml` has the words of most rules; tables that are long have files of their own in `data`.
"""

import re
from functools import cache
from hashlib import sha256

from histoeval.resources import resource_bytes
from histoeval.terms.lexicon import Lexicon

_FILES = [
    f"pathgls/logic/data/{name}.toml"
    for name in ("logic", "grade", "diagnosis", "appearance", "organ")
]
LOGIC, GRADE, DIAGNOSIS, APPEARANCE, ORGAN = (Lexicon(file, literal=True) for file in _FILES)


@cache
def version() -> str:
    return sha256(b"".join(map(resource_bytes, _FILES))).hexdigest()[:12]


def pattern(name: str) -> re.Pattern[str]:
    """A list of `[words]` in `logic.toml`: beginnings of words, in any case."""
    return LOGIC.pattern("words", name)


def listed(name: str) -> frozenset[str]:
    """A list of `[lists]` in `logic.toml`: ids of the catalogues of `terms`."""
    return LOGIC.ids("lists", name)
