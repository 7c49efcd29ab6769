"""The names of the UMLS, from lines of our own writing in its format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from histoeval.errors import InputError
from histoeval_research.ontology.obo import read_mrconso, read_ontology


def line(  # the fields of MRCONSO that matter, the others filled in
    concept: str,
    name: str,
    *,
    language: str = "ENG",
    preferred: str = "P|PF|Y",
    source: str = "MSH",
    suppress: str = "N",
) -> str:
    status, kind, atom = preferred.split("|")
    before = [concept, language, status, "L1", kind, "S1", atom, "A1", "", "", "", source]
    return "|".join([*before, "PT", "D1", name, "0", suppress, "256", ""])


def test_names_of_a_concept_stand_together_and_the_preferred_one_first() -> None:
    lines = [
        line("C1", "kidney stone", preferred="S|VO|N"),
        line("C1", "Nephrolithiasis"),
        line("C2", "gallstone"),
    ]
    assert list(read_mrconso(lines)) == [
        ("C1", ["Nephrolithiasis", "kidney stone"], []),
        ("C2", ["gallstone"], []),
    ]


def test_other_languages_sources_and_suppressed_names_are_left_out() -> None:
    lines = [
        line("C1", "stone"),
        line("C1", "Stein", language="GER"),
        line("C1", "old stone", suppress="O"),
        line("C1", "calculus", source="SNOMEDCT_US"),
    ]
    assert [names for _, names, _ in read_mrconso(lines)] == [["stone", "calculus"]]
    assert [names for _, names, _ in read_mrconso(lines, sources=["MSH"])] == [["stone"]]
    assert [names for _, names, _ in read_mrconso(lines, languages=["GER"])] == [["Stein"]]


def test_concepts_are_given_before_the_file_is_read_to_its_end() -> None:
    def endless() -> Iterator[str]:
        number = 0
        while True:
            yield line(f"C{number}", f"name {number}")
            number += 1

    assert next(iter(read_mrconso(endless())))[0] == "C0"


def test_it_is_one_kind_of_ontology_and_a_short_line_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "MRCONSO.RRF"
    file.write_text(f"{line('C1', 'wart')}\n", "utf-8")
    (wart,) = read_ontology(file, "mrconso", sources=["MSH"])
    assert (wart.source, wart.id, wart.name) == ("MRCONSO", "C1", "wart")
    file.write_text("C1|ENG|P\n", "utf-8")
    with pytest.raises(InputError, match="a line has 3 fields"):
        list(read_ontology(file, "mrconso"))
