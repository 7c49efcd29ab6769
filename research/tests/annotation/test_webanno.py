"""WebAnno TSV 3.3, as INCEpTION writes it."""

import zipfile
from pathlib import Path

import pytest

from histoeval.errors import InputError, Problem
from histoeval.report import Assertion
from histoeval_research.annotation.passage import PassageDraft, RefusedPassage, Vocabulary
from histoeval_research.annotation.webanno import read_document
from histoeval_research.corpus import AnnotatedPassage, read_corpus

HEAD = """\
#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|coarseValue|PosValue
#T_SP=webanno.custom.Entity|assertion|value
#T_CH=de.tudarmstadt.ukp.dkpro.core.api.coref.type.CoreferenceLink|referenceRelation|referenceType
#T_RL=webanno.custom.Related|kind|BT_webanno.custom.Entity

"""

# Two sentences; the first has an emoji, which takes two units, and runs over two lines.
DOCUMENT = (
    HEAD
    + """
#Text=😀 No invasive
#Text=carcinoma.
1-1\t0-2\t😀\t_\t_\t_\t_\t_\t_\t_\t_\t
1-2\t3-5\tNo\tDET\tDT\t_\t_\t_\t_\t_\t_\t
1-3\t6-14\tinvasive\tADJ\tJJ\tabsent[1]\tPathological Diagnosis[1]\t_\t_\t_\t_\t
1-4\t15-24\tcarcinoma\tNOUN\tNN\tabsent[1]\tPathological Diagnosis[1]\t_\t_\t_\t_\t
1-5\t24-25\t.\t_\t_\t_\t_\t_\t_\t_\t_\t

#Sentence.id=s2
#Text=ER\\\\PR 90% strong
2-1\t27-32\tER\\\\PR\t_\t_\t_\t_\t_\t_\t_\t_\t
2-1.1\t27-29\tER\t_\t_\t*\tIHC\\_Marker\t_\t_\t_\t_\t
2-1.2\t30-32\tPR\t_\t_\t*\tIHC\\_Marker\t_\t_\t_\t_\t
2-2\t33-36\t90%\t_\t_\t*[4]|*[5]\tresult[4]|measurement[5]\t_\t_\tof|of\t2-1.1[0_4]|2-1.2[0_4]\t
2-3\t37-43\tstrong\t_\t_\t*\tresult\t_\t_\tof\t2-1.1\t
"""
)


def read(text: str, labels: dict[str, str | None] | None = None) -> AnnotatedPassage:
    draft = PassageDraft("doc", "hospital", "report")
    read_document(draft, text)
    return draft.finish(Vocabulary(labels))


def test_spans_over_tokens_in_tokens_and_upon_each_other_are_read() -> None:
    passage = read(DOCUMENT)
    assert passage.text == "😀 No invasive\ncarcinoma.\n ER\\PR 90% strong", "as by INCEpTION"
    found = [(e.text, str(e.type), e.start) for e in passage.content.entities]
    assert found == [
        ("invasive\ncarcinoma", "diagnosis", 5),
        ("ER", "marker", 26),
        ("PR", "marker", 29),
        ("90%", "result", 32),
        ("90%", "measurement", 32),
        ("strong", "result", 36),
    ]
    absent, *present = [entity.assertion for entity in passage.content.entities]
    assert absent is Assertion.ABSENT
    assert set(present) == {Assertion.PRESENT}


def test_relations_go_from_the_named_row_to_the_row_they_stand_in() -> None:
    passage = read(DOCUMENT)
    entities = passage.content.entities
    found = [(entities[r.head].text, entities[r.tail].text) for r in passage.content.relations]
    assert found == [("ER", "90%"), ("PR", "90%"), ("ER", "strong")]
    assert all(entities[r.tail].type == "result" for r in passage.content.relations)


def test_sentences_without_a_gap_stay_together_and_crlf_is_no_text() -> None:
    text = (
        "#FORMAT=WebAnno TSV 3.2\n\n\n#Text=One.\n1-1\t0-4\tOne.\t\n\n#Text=Two\n2-1\t4-7\tTwo\t\n"
    )
    assert read(text).text == "One.Two"
    assert read(text.replace("\n", "\r\n")).text == "One.Two"


def test_a_layer_without_features_has_a_column_and_its_name_may_be_the_type() -> None:
    text = """\
#FORMAT=WebAnno TSV 3.3
#T_SP=webanno.custom.Site
#T_SP=webanno.custom.Finding|negated

#Text=colon ulcer
1-1\t0-5\tcolon\t*\t_\t
1-2\t6-11\tulcer\t_\ttrue\t
"""
    found = [(e.text, str(e.type), str(e.assertion)) for e in read(text).content.entities]
    assert found == [("colon", "site", "present"), ("ulcer", "finding", "absent")]


def test_an_unknown_label_must_be_explained() -> None:
    strange = DOCUMENT.replace("Pathological Diagnosis", "Dx")
    with pytest.raises(InputError, match="'Dx' is not known"):
        read(strange)
    assert read(strange, {"dx": "diagnosis"}).content == read(DOCUMENT).content
    assert len(read(strange, {"dx": "O"}).content.entities) == 5


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("#FORMAT=WebAnno TSV 3.3", "#FORMAT=WebAnno TSV 2", "wrong_format"),
        ("1-2\t3-5", "1-2\t2-4", "broken_offsets"),
        ("1-1\t0-2\t😀", "1-1\t0-1\t😀", "broken_offsets"),
        ("1-2\t3-5\tNo\tDET", "1-2\tDET", "broken_text"),
        ("2-1\t27-32", "2-1\t9-14", "broken_text"),
        ("of\t2-1.1\t", "of\t1-3[1_0]\t", "impossible_relation"),
        ("of\t2-1.1\t", "of\t2-9\t", "broken_relation"),
        ("absent[1]", "maybe[1]", "unknown_assertion"),
        ("result[4]|", "result[4]x|", "broken_text"),
    ],
)
def test_a_broken_document_is_refused(old: str, new: str, code: str) -> None:
    assert old in DOCUMENT
    with pytest.raises(RefusedPassage) as refused:
        read(DOCUMENT.replace(old, new))
    assert refused.value.code == code


def test_a_project_is_read_by_document_and_annotator(tmp_path: Path) -> None:
    file = tmp_path / "project.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("annotation/case 1.txt/anna.tsv", DOCUMENT)
        archive.writestr("annotation/case 1.txt/INITIAL_CAS.tsv", DOCUMENT)
        archive.writestr("annotation/case 2.txt/anna.tsv", DOCUMENT)
        archive.writestr("annotation/case 2.txt/ben.tsv", "nothing")
        archive.writestr("exportedproject.json", "{}")
    problems: list[Problem] = []
    read_ones = list(read_corpus(file, on_problem=problems.append))
    assert [(p.id, p.report_id) for p in read_ones] == [
        ("case 1", "case 1"),
        ("case 2/anna", "case 2"),
    ]
    assert {p.source for p in read_ones} == {"project"}
    assert problems[0].message.startswith("case 2/ben: ")


def test_a_single_file_and_a_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text(DOCUMENT, "utf-8")
    (single,) = read_corpus(tmp_path / "one.tsv")
    (listed,) = read_corpus(tmp_path)
    assert single.content == listed.content == read(DOCUMENT).content
    assert single.id == listed.id == "one"
