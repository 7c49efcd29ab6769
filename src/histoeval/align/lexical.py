"""Phrases as the runs of letters they are made of: alike in spelling is near, and nothing else is.

Needs no model. `carcinomas` is near `carcinoma`, and `kidney` is not near `renal`.
"""

from collections import Counter
from collections.abc import Sequence
from zlib import crc32

import numpy as np

from histoeval.align.aligner import Vectors, unit

PLACES = 4096
"""Size of the hash table; two runs that share a place count as one."""

LENGTHS = (2, 3, 4)


class LexicalAligner:
    """Embeds a phrase by its runs of two to four letters, whatever their case."""

    @property
    def identity(self) -> str:
        """What the vectors depend on."""
        return f"lexical/{'-'.join(map(str, LENGTHS))}/{PLACES}"

    def embed(self, phrases: Sequence[str]) -> Vectors:
        """One unit-length row per phrase, in the order of the phrases."""
        rows = np.zeros((len(phrases), PLACES), dtype=np.float32)
        for row, phrase in zip(rows, phrases, strict=True):
            for place, count in Counter(_places(phrase)).items():
                row[place] = 1 + np.log(count)
        return unit(rows)


def _places(phrase: str) -> list[int]:
    """The places of all runs; those at the edges of words differ from those inside."""
    if not (words := phrase.casefold().split()):
        return []
    spelled = f" {' '.join(words)} "
    return [
        crc32(spelled[start : start + length].encode("utf-8", "surrogatepass")) % PLACES
        for length in LENGTHS
        for start in range(len(spelled) - length + 1)
    ]
