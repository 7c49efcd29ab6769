"""A few passages with all that a tiny model can learn by heart."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.report import EntityType, Relation
from histoeval_research.corpus import AnnotatedPassage, write_corpus
from tests.support.report_builder import report

LETTERS = {
    "D": EntityType.DIAGNOSIS,
    "S": EntityType.SITE,
    "G": EntityType.GRADE,
    "T": EntityType.STAGE,
    "M": EntityType.MARKER,
    "R": EntityType.RESULT,
}


class Learned(NamedTuple):
    folder: Path
    settings: dict[str, Any]


def passage(name: str, marked: str, *links: tuple[int, int]) -> AnnotatedPassage:
    """A passage from a text in which entities are marked, as in `no [D:tumour]`."""
    words = re.sub(r"\[(\w):([^]]+)\]", lambda at: f"{{{LETTERS[at[1]]}:{at[2]}}}", marked)
    relations = tuple(Relation(head=head, tail=tail) for head, tail in links)
    content = report(words).model_copy(update={"relations": relations})
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
    file = folder / "corpus.jsonl"
    write_corpus(file, PASSAGES)
    return file
