"""A few passages with all that a tiny model can learn by heart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.report import Entity, EntityType, Relation, Report
from histoeval_research.corpus import AnnotatedPassage, write_corpus

LETTERS = {
    "D": EntityType.DIAGNOSIS,
    "S": EntityType.SITE,
    "G": EntityType.GRADE,
    "T": EntityType.STAGE,
    "M": EntityType.MARKER,
    "R": EntityType.RESULT,
}


class Learned(NamedTuple):
    """A model's folder, and the settings it was trained with."""

    folder: Path
    settings: dict[str, Any]


def passage(name: str, marked: str, *links: tuple[int, int]) -> AnnotatedPassage:
    """A passage from a text in which entities are marked, as in `no [D:tumour]`."""
    text, entities, last = "", [], 0
    for found in re.finditer(r"\[(\w):([^]]+)\]", marked):
        text += marked[last : found.start()]
        letter, words = found.groups()
        end = len(text) + len(words)
        entities.append(Entity(text=words, start=len(text), end=end, type=LETTERS[letter]))
        text += words
        last = found.end()
    content = Report(
        text=text + marked[last:],
        entities=tuple(entities),
        relations=tuple(Relation(head=head, tail=tail) for head, tail in links),
    )
    return AnnotatedPassage(id=name, source="written", report_id=name, content=content)


PASSAGES = (
    passage(
        "breast",
        "[S:Left breast] shows [D:invasive ductal carcinoma], [G:high grade]. "
        "[M:ER] is [R:positive] and [M:PR] [R:negative].",
        *[(1, 0), (1, 2), (3, 4), (5, 6)],
    ),
    passage(
        "colon",
        "[S:Colon] biopsy: [D:adenocarcinoma]. "
        "[M:CK7] is [R:negative] and [M:CDX2] [R:strongly] [R:positive].",
        *[(1, 0), (2, 3), (4, 5), (4, 6)],
    ),
    passage(
        "two",
        "[M:Ki-67] [R:low], [M:p53] [R:diffuse]: [D:lobular carcinoma] of the [S:right breast] "
        "and [D:benign tumour] of the [S:kidney].",
        *[(0, 1), (2, 3), (4, 5), (6, 7)],
    ),
)


def write_passages(folder: Path) -> Path:
    """The passages as a corpus file."""
    file = folder / "corpus.jsonl"
    write_corpus(file, PASSAGES)
    return file
