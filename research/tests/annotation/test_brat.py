"""brat standoff."""

from __future__ import annotations

from pathlib import Path

import pytest

from histoeval.errors import InputError, Problem
from histoeval_research.annotation.formats import read_standoff
from histoeval_research.annotation.passage import RefusedPassage, Vocabulary
from histoeval_research.corpus import AnnotatedPassage, read_corpus

TEXT = "😀 No invasive\ncarcinoma. Possible DCIS, grade 2.\n"
ANNOTATIONS = """\
T1\tDiagnosis 5 23\tinvasive carcinoma
T2\tDiagnosis 34 38\tDCIS
T3\tGrade 40 47\tgrade 2
A1\tNegation T1
M1\tAssertion T2 Possible
R1\tHas_Grade Arg1:T2 Arg2:T3
A2\tStatus T3 Draft
#1\tAnnotatorNotes T1\tto be discussed
N1\tReference T1 SNOMED:123\tcarcinoma
*\tEquiv T1 T2
"""


def read(annotations: str, text: str = TEXT) -> AnnotatedPassage:
    return read_standoff(text, annotations, "doc", "hospital", Vocabulary())


def test_entities_attributes_and_relations_are_read() -> None:
    passage = read(ANNOTATIONS)
    found = [(e.text, str(e.type), str(e.assertion)) for e in passage.content.entities]
    assert found == [
        ("invasive\ncarcinoma", "diagnosis", "absent"),
        ("DCIS", "diagnosis", "uncertain"),
        ("grade 2", "grade", "present"),
    ]
    assert [(r.head, r.tail) for r in passage.content.relations] == [(1, 2)]
    assert read(ANNOTATIONS.replace("\n", "\r\n")) == passage


def test_programs_that_count_an_emoji_twice_are_read_all_the_same() -> None:
    shifted = "T1\tDiagnosis 6 24\tinvasive carcinoma\n"
    assert read(shifted).content.entities[0].start == 5


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("T4\tDiagnosis 5 13;15 24\tinvasive carcinoma", "discontinuous_span"),
        ("T4\tDiagnosis 5 13\tcarcinoma", "broken_offsets"),
        ("T4\tDiagnosis 200 209\tcarcinoma", "broken_offsets"),
        ("T4\tDiagnosis five 13\tcarcinoma", "broken_annotation"),
        ("R4\tHas_Grade Arg1:T3 Arg2:T2", "impossible_relation"),
        ("R4\tHas_Grade Arg1:T2 Arg2:T9", "broken_relation"),
        ("R4\tHas_Grade", "broken_annotation"),
        ("E1\tGrading:T1 Theme:T2", "event"),
        ("A4\tAssertion T1 whatever", "unknown_assertion"),
    ],
)
def test_a_broken_document_is_refused(line: str, code: str) -> None:
    with pytest.raises(RefusedPassage) as refused:
        read(ANNOTATIONS + line + "\n")
    assert refused.value.code == code


def test_a_folder_is_read_document_by_document(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.txt").write_bytes(TEXT.encode())
        (tmp_path / folder / "1.ann").write_text(ANNOTATIONS, "utf-8")
    (tmp_path / "lost.ann").write_text("", "utf-8")
    (tmp_path / "bytes.ann").write_bytes(b"T1\t\xff")
    (tmp_path / "bytes.txt").write_text("x", "utf-8")
    problems: list[Problem] = []
    assert [p.id for p in read_corpus(tmp_path, on_problem=problems.append)] == ["a/1", "b/1"]
    assert {problem.code for problem in problems} == {"missing_text", "not_utf8"}
    (single,) = read_corpus(tmp_path / "a" / "1.ann")
    assert single.content == read(ANNOTATIONS).content


def test_a_folder_of_two_formats_asks_which(tmp_path: Path) -> None:
    (tmp_path / "1.ann").write_text("", "utf-8")
    (tmp_path / "1.tsv").write_text("", "utf-8")
    with pytest.raises(InputError, match="may be webanno or brat: say which"):
        list(read_corpus(tmp_path))
