"""UIMA CAS XMI with its type system, as INCEpTION writes them."""

import sys
import zipfile
from pathlib import Path

import pytest

from histoeval.errors import InputError, MissingDependency, Problem
from histoeval.report import Assertion
from histoeval_research.annotation.formats import read_cas
from histoeval_research.annotation.passage import PassageDraft, RefusedPassage, Vocabulary
from histoeval_research.corpus import AnnotatedPassage, read_corpus


def feature(name: str, kind: str = "uima.cas.String") -> str:
    return (
        f"<featureDescription><name>{name}</name><description/>"
        f"<rangeTypeName>{kind}</rangeTypeName></featureDescription>"
    )


def described(name: str, *features: str) -> str:
    return (
        f"<typeDescription><name>{name}</name><description/>"
        "<supertypeName>uima.tcas.Annotation</supertypeName>"
        f"<features>{''.join(features)}</features></typeDescription>"
    )


SEGMENTATION = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"
ENDS = [feature(end, "webanno.custom.Entity") for end in ("Governor", "Dependent")]
TYPES = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<typeSystemDescription xmlns="http://uima.apache.org/resourceSpecifier"><types>'
    + described("webanno.custom.Entity", feature("value"), feature("assertion"))
    + described("webanno.custom.Related", feature("kind"), *ENDS)
    + described(f"{SEGMENTATION}.Sentence", feature("id"))
    + "</types></typeSystemDescription>"
).encode()

CAS = """<?xml version="1.0" encoding="UTF-8"?>
<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore"
 xmlns:custom="http:///webanno/custom.ecore"
 xmlns:type="http:///de/tudarmstadt/ukp/dkpro/core/api/segmentation/type.ecore"
 xmi:version="2.0">
<cas:NULL xmi:id="0"/>
<type:Sentence xmi:id="2" sofa="1" begin="0" end="25"/>
<custom:Entity xmi:id="3" sofa="1" begin="6" end="15" value="Diagnosis" assertion="absent"/>
<custom:Entity xmi:id="4" sofa="1" begin="17" end="19" value="IHC Marker"/>
<custom:Entity xmi:id="5" sofa="1" begin="20" end="24" value="IHC Modifier"/>
<custom:Related xmi:id="6" sofa="1" begin="20" end="24" Governor="4" Dependent="5"/>
<cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text"
 sofaString="&#x1F600; No carcinoma. ER weak."/>
<cas:View sofa="1" members="2 3 4 5 6"/>
</xmi:XMI>
"""


def read(cas: str, types: bytes = TYPES) -> AnnotatedPassage:
    draft = PassageDraft("doc", "hospital", "report")
    read_cas(draft, cas.encode(), types)
    return draft.finish(Vocabulary())


def test_entities_assertions_and_relations_are_read_behind_an_emoji() -> None:
    pytest.importorskip("cassis")
    passage = read(CAS)
    assert passage.text == "😀 No carcinoma. ER weak."
    found = [(e.text, str(e.type), e.assertion) for e in passage.content.entities]
    assert found == [
        ("carcinoma", "diagnosis", Assertion.ABSENT),
        ("ER", "marker", Assertion.PRESENT),
        ("weak", "result", Assertion.PRESENT),
    ]
    assert [(r.head, r.tail) for r in passage.content.relations] == [(1, 2)]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('Governor="4" Dependent="5"', 'Governor="5" Dependent="4"', "impossible_relation"),
        ('Governor="4" Dependent', "Dependent", "broken_relation"),
        ('begin="20" end="24" value', 'begin="20" end="240" value', "wrong_format"),
        ("</xmi:XMI>", "", "wrong_format"),
        ("custom:Entity", "custom:Unknown", "wrong_format"),
        ('assertion="absent"', 'assertion="hm"', "unknown_assertion"),
    ],
)
def test_a_broken_document_is_refused(old: str, new: str, code: str) -> None:
    pytest.importorskip("cassis")
    assert old in CAS
    with pytest.raises(RefusedPassage) as refused:
        read(CAS.replace(old, new))
    assert refused.value.code == code


def test_archives_and_archives_in_archives_are_read(tmp_path: Path) -> None:
    pytest.importorskip("cassis")
    inner = tmp_path / "anna.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("anna.xmi", CAS)
        archive.writestr("TypeSystem.xml", TYPES)
    (single,) = read_corpus(inner)
    assert single.id == "anna"
    outer = tmp_path / "project.zip"
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(inner, "curation/case 7.txt/CURATION_USER.zip")
    (nested,) = read_corpus(outer)
    assert (nested.id, nested.source) == ("case 7", "project")
    assert nested.content == single.content


def test_a_file_needs_its_type_system_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("cassis")
    file = tmp_path / "case.xmi"
    file.write_text(CAS, "utf-8")
    with pytest.raises(InputError, match=r"no TypeSystem\.xml beside it"):
        list(read_corpus(file))
    (tmp_path / "TypeSystem.xml").write_bytes(TYPES)
    problems: list[Problem] = []
    assert [p.id for p in read_corpus(file, on_problem=problems.append)] == ["case"]
    assert problems == []


def test_without_cassis_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cassis", None)
    with pytest.raises(MissingDependency, match=r"histoeval\[train\]"):
        read(CAS)
