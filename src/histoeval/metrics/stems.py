"""Stems of English words, cached."""

from functools import lru_cache

from nltk.stem.porter import PorterStemmer

MAX_CACHED_LETTERS = 64  # longer words are not cached, so that blobs of data fill no memory

_porter = PorterStemmer()
_cached = lru_cache(maxsize=1 << 16)(_porter.stem)


def stem(word: str) -> str:
    return str(_cached(word) if len(word) <= MAX_CACHED_LETTERS else _porter.stem(word))
