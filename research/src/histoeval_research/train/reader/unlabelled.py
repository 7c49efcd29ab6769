"""Unlabelled texts of a reader's training, and the windows of them that teachers label.

An unlabelled text is kept out when it is a dev report by its id, when it has a run of twelve words
in common with a dev passage, or when the shorter of the two stands whole in the other; case,
punctuation and line breaks do not count. A score on what was seen before, in whatever form, means
nothing.
"""

import random
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from histoeval.errors import InputError
from histoeval.io.reports import open_reports
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.train.reader.config import UnlabelledSource, Windows

RUN = 12  # words in a row that two texts have in common only when one was copied

TELLING = 5  # words that a short text must have before those are kept out that it is a part of

_WORD = re.compile(r"\S+")
_LETTERS = re.compile(r"[^\W_]+")


class UnlabelledTexts(NamedTuple):
    """The texts of each source, how many were kept out of all, and how many could not be read."""

    sources: tuple[tuple[UnlabelledSource, tuple[str, ...]], ...]
    kept_out: int = 0
    unread: int = 0

    @property
    def facts(self) -> dict[str, int]:
        size = sum(len(texts) for _, texts in self.sources)
        return {"texts": size, "kept_out": self.kept_out, "unread": self.unread}

    def to_adapt(self) -> list[str]:
        return [text for source, texts in self.sources for text in texts * source.repeat]


def read_pool(
    sources: Sequence[UnlabelledSource], dev: Sequence[AnnotatedPassage]
) -> UnlabelledTexts:
    """The texts of all files that have nothing to do with dev passages."""
    dev_reports = {passage.report_id for passage in dev}
    dev_texts = KnownTexts(passage.text for passage in dev)
    pool = []
    kept_out = unread = 0
    for source in sources:
        texts = []
        for row in open_reports(source.file, text=source.text, id_=source.id).rows():
            if row.text is None:
                unread += 1
            elif (source.exclude_reports_of_dev and row.id in dev_reports) or row.text in dev_texts:
                kept_out += 1
            else:
                texts.append(encodable(row.text))
        pool.append((source, tuple(texts)))
    if not any(texts for _, texts in pool):
        raise InputError(
            f"no unlabelled text is left: {kept_out:,} are also in dev, "
            f"{unread:,} could not be read"
        )
    return UnlabelledTexts(tuple(pool), kept_out, unread)


class KnownTexts:
    """Texts that shall not be seen again, in whole or in part."""

    def __init__(self, texts: Iterable[str]) -> None:
        plain = [_plain(text) for text in texts]
        self._runs = {run for text in plain for run in _runs(text)}
        self._short = [text for text in plain if TELLING <= len(text.split()) < RUN]
        self._whole = "|".join(plain)

    def __contains__(self, text: str) -> bool:
        plain = _plain(text)
        return (
            plain in self._whole
            or any(short in plain for short in self._short)
            or not self._runs.isdisjoint(_runs(plain))
        )


def _plain(text: str) -> str:
    """Letters and digits in small letters, one blank around every word."""
    return f" {' '.join(_LETTERS.findall(text.lower()))} "


def _runs(plain: str) -> set[str]:
    words = plain.split()
    return {" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def encodable(text: str) -> str:
    """The text with a question mark for each half of a character, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode()


def windows_to_label(
    pool: UnlabelledTexts, annotated: Iterable[str], settings: Windows
) -> list[str]:
    chance = random.Random(settings.seed)
    windows: list[str] = []
    for source, texts in pool.sources:
        lengths = source.words or settings.words
        most = settings.most if source.most is None else source.most
        least = settings.least if source.least is None else source.least
        sampled = texts
        if source.sample is not None:
            sampled = tuple(chance.sample(texts, min(source.sample, len(texts))))
        for text in sampled:
            cut = windows_of(text, chance.choice(lengths), least)
            windows += chance.sample(cut, min(most, len(cut)))
    windows += map(encodable, annotated)
    chance.shuffle(windows)
    return windows


def windows_of(text: str, length: int, least: int) -> list[str]:
    """Stretches of so many words, as they stand in the text; a rest that is too short is left."""
    words = list(_WORD.finditer(text))
    parts = [words[first : first + length] for first in range(0, len(words), length)]
    return [text[part[0].start() : part[-1].end()] for part in parts if len(part) >= least]
