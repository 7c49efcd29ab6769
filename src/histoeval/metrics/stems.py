"""Stems of English words, remembered."""

from __future__ import annotations

from functools import lru_cache

from nltk.stem.porter import PorterStemmer

LONGEST_KEPT = 64
"""Words of more letters are stemmed anew each time, so that blobs of data fill no memory."""

_porter = PorterStemmer()
_kept = lru_cache(maxsize=1 << 16)(_porter.stem)


def stem(word: str) -> str:
    """The stem by nltk's Porter stemmer, lower-cased."""
    return str(_kept(word) if len(word) <= LONGEST_KEPT else _porter.stem(word))
