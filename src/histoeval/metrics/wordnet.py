"""WordNet on this machine: its place and its synonyms.

It is looked for where nltk keeps its data (the environment variable NLTK_DATA and nltk's own
list of folders) and then where Debian's package `wordnet-base` puts it.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from io import BytesIO, TextIOWrapper
from itertools import product
from pathlib import Path
from threading import Lock
from zipfile import BadZipFile, ZipFile, is_zipfile

import nltk.data
from nltk.corpus.reader.wordnet import WordNetCorpusReader, WordNetError

from histoeval.errors import MissingDependency

DEBIAN = Path("/usr/share/wordnet")
NEEDED = tuple(
    pattern.format(part)
    for pattern, part in product(("index.{}", "data.{}", "{}.exc"), ("adj", "adv", "noun", "verb"))
)
MAX_CACHED_LETTERS = 64  # longer words are not cached, so that blobs of data fill no memory

_reading = Lock()


def find() -> Path | None:
    return next((path for path in places() if is_whole(path)), None)


def places() -> Iterator[Path]:
    folders = os.environ.get("NLTK_DATA", "").split(os.pathsep)
    for root in (*folders, *nltk.data.path):
        if root:
            yield Path(root, "corpora", "wordnet")
            yield Path(root, "corpora", "wordnet.zip")
    yield DEBIAN


def is_whole(place: Path) -> bool:
    if place.is_dir():
        return all((place / name).is_file() for name in NEEDED)
    if not is_zipfile(place):
        return False
    with ZipFile(place) as archive:
        return {f"wordnet/{name}" for name in NEEDED} <= set(archive.namelist())


def read(place: Path, name: str) -> bytes:
    if place.is_dir():
        return (place / name).read_bytes()
    with ZipFile(place) as archive:
        return archive.read(f"wordnet/{name}")


@lru_cache(maxsize=4)
def identity(place: Path) -> str:
    """Return its version and a hash of its files, which do not depend on its folder."""
    files = [read(place, name) for name in NEEDED]
    version = re.search(rb"WordNet ([\w.+]+) Copyright", files[NEEDED.index("data.noun")][:4096])
    digest = sha256(b"".join(sha256(content).digest() for content in files)).hexdigest()
    return f"{version[1].decode() if version else 'unknown'}-{digest[:8]}"


class _Root(nltk.data.PathPointer):  # type: ignore[misc]
    """The root of a corpus; nltk's own refuse folders outside its data path, such as Debian's."""

    def __init__(self, place: Path, name: str = "") -> None:
        self.path = place
        self.name = name

    def join(self, fileid: str) -> _Root:
        return _Root(self.path, fileid)

    def file_size(self) -> int:
        """The size when unpacked, which nltk needs to search by halves."""
        return len(read(self.path, self.name))

    def open(self, encoding: str | None = None) -> TextIOWrapper:
        """Open the file in memory, so that processes do not share a position in it."""
        return TextIOWrapper(BytesIO(read(self.path, self.name)), encoding=encoding)


class _Reader(WordNetCorpusReader):  # type: ignore[misc]
    """A reader like nltk's, content with the files that synonyms need.

    Debian leaves out `lexnames`, the names of the 45 files that WordNet was written in, which
    label a synset and matter to nothing here, and `index.sense`, which nltk reads only to map
    other languages onto WordNet 3.0. So this reader makes up labels and maps no languages.
    """

    def open(self, file: str) -> TextIOWrapper:
        if file == "lexnames":
            labels = "".join(f"{number:02}\tfile{number:02}\t0\n" for number in range(45))
            return TextIOWrapper(BytesIO(labels.encode()), encoding=self._ENCODING)
        return _Root(self._root.path, file).open(self._ENCODING)

    def map_wn(self, version: str = "wordnet") -> None:
        """Do nothing: there are no other languages here to map."""

    def forget(self) -> None:
        """Drop the synsets read so far, all of which the base class would cache."""
        self._synset_offset_cache.clear()


@lru_cache(maxsize=1)
def load(place: Path) -> _Reader:
    try:
        # nltk warns that other languages are missing when there are none.
        with warnings.catch_warnings(action="ignore"):
            return _Reader(_Root(place), omw_reader=None)
    except (WordNetError, LookupError, StopIteration, ValueError, OSError, BadZipFile) as error:
        raise MissingDependency(f"the WordNet in {place} cannot be read: {error}") from error


def synonyms(place: Path, word: str) -> frozenset[str]:
    """Return the word and the single words that share a synset with it, in WordNet's spelling."""
    return _cached(place, word) if len(word) <= MAX_CACHED_LETTERS else _looked_up(place, word)


def _looked_up(path: Path, word: str) -> frozenset[str]:
    with _reading:  # the reader moves about in its files, so one thread at a time
        reader = load(path)
        synsets = reader.synsets(word)
        reader.forget()
    if None in synsets:
        raise MissingDependency(f"the WordNet in {path} is damaged: {word!r} leads nowhere")
    names = (name for synset in synsets for name in synset.lemma_names())
    return frozenset(name for name in names if "_" not in name) | {word}


_cached = lru_cache(maxsize=1 << 14)(_looked_up)
