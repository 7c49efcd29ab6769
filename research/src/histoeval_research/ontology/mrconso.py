"""MRCONSO.RRF, the names of the UMLS, read line by line: it has some 17 million of them.

Each line holds 18 fields between bars: the concept, the language, how preferred a name is, its
source, the name itself and whether it is to be suppressed. The lines of a concept stand together.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

FIELDS = 18
CUI, LANGUAGE, STATUS, STRING_TYPE, PREFERRED, SOURCE, NAME, SUPPRESS = 0, 1, 2, 4, 6, 11, 14, 16

Row = tuple[str, list[str], list[str]]


def read_mrconso(
    lines: Iterable[str],
    languages: Collection[str] = ("ENG",),
    sources: Collection[str] | None = None,
) -> Iterator[Row]:
    """Concepts with their names, preferred ones first; suppressed ones are skipped."""
    kept = (
        fields
        for fields in map(_fields, lines)
        if fields[LANGUAGE] in languages
        and fields[SUPPRESS] == "N"
        and (sources is None or fields[SOURCE] in sources)
    )
    for concept, group in groupby(kept, key=lambda fields: fields[CUI]):
        names = sorted(group, key=_preference)
        yield concept, [fields[NAME] for fields in names], []


def _fields(line: str) -> list[str]:
    fields = line.rstrip("\n").split("|")
    if len(fields) <= FIELDS - 1:
        raise ValueError(f"a line has {len(fields)} fields, not {FIELDS}: {line[:60]!r}")
    return fields


def _preference(fields: list[str]) -> tuple[bool, bool, bool]:
    """The preferred name first: preferred term, preferred form of it, preferred atom."""
    return (fields[STATUS] != "P", fields[STRING_TYPE] != "PF", fields[PREFERRED] != "Y")
