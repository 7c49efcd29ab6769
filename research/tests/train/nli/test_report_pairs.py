"""Pairs of the names of an ontology, of sentences of true reports, and of what they become."""

import gzip
import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import InputError
from histoeval.nli.entailer import LabelledPair, NliPair
from histoeval.terms.naming import main_concept
from histoeval_research.train.nli.report_pairs import (
    changed_pairs,
    companion_pairs,
    ontology_pairs,
    stranger_pairs,
)

CONCEPTS = [
    ("C1", "Thymic Neoplasm", [], []),
    ("C2", "Thymoma Type A", ["Spindle Cell Thymoma", "Stage II Thymoma"], ["C1"]),
    ("C3", "Thymoma Type B3", ["Well Differentiated Thymic Cancer"], ["C1"]),
    ("C4", "Recurrent Thymoma", ["Thymoma Come Back"], ["C1"]),
]
NAMES = {
    "C1": {"thymic neoplasm"},
    "C2": {"thymoma type a", "spindle cell thymoma"},
    "C3": {"thymoma type b3", "well differentiated thymic cancer"},
}
REPORT = (
    "The capsule of the thymus is intact throughout. The epithelial cells are spindled and bland. "
    "Lymphocytes are scarce in all of the sections. Ok. Margins lie two millimetres away at best."
)
OTHER = "The antrum shows mild chronic inflammation. No intestinal metaplasia was found anywhere."


def write(path: Path, rows: Sequence[Any]) -> Path:
    data = "\n".join(json.dumps(row) for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def ontology(path: Path, concepts: Sequence[Any] = CONCEPTS) -> Path:
    keys = ("id", "name", "synonyms", "parents")
    return write(path, [dict(zip(keys, concept, strict=True)) for concept in concepts])


def concept_in(text: str) -> str:
    (concept,) = (key for key, names in NAMES.items() if any(n in text.lower() for n in names))
    return concept


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[LabelledPair]:
    file = ontology(tmp_path_factory.mktemp("ontology") / "names.jsonl.gz")
    found = list(ontology_pairs(file, 300, seed=3))
    assert found[:40] == list(ontology_pairs(file, 40, seed=3))
    assert found[:40] != list(ontology_pairs(file, 40, seed=4))
    return found


@pytest.mark.parametrize(
    ("kind", "label", "said"),
    [
        ("synonym", "entailment", {("C2", "C2"), ("C3", "C3")}),
        ("parent", "entailment", {("C2", "C1"), ("C3", "C1")}),
        ("child", "neutral", {("C1", "C2"), ("C1", "C3")}),
        ("sibling", "contradiction", {("C2", "C3"), ("C3", "C2")}),
    ],
)
def test_what_a_name_says_of_another_follows_from_the_ontology(
    pairs: list[LabelledPair], kind: str, label: str, said: set[tuple[str, str]]
) -> None:
    of_kind = [pair for pair in pairs if pair.category == kind]
    assert {pair.label for pair in of_kind} == {label}
    assert {(concept_in(pair.premise), concept_in(pair.hypothesis)) for pair in of_kind} == said


def test_names_of_a_stage_or_a_course_are_left_out(pairs: list[LabelledPair]) -> None:
    texts = " ".join(pair.premise + pair.hypothesis for pair in pairs).lower()
    assert "stage ii" not in texts
    assert "come back" not in texts, "a concept is left out with its first name"


@pytest.mark.parametrize(
    "concepts",
    [
        [*CONCEPTS, ("C5", "Thymoma Type A, Atypical", [], ["C2"])],
        [
            ("C1", "Thymic Neoplasm", [], []),
            ("C2", "Thymoma Type A", ["Medullary Thymoma"], ["C1"]),
            ("C3", "Spindle Thymoma", ["medullary thymoma"], ["C1"]),
        ],
    ],
    ids=["one has kinds of its own", "both share a name"],
)
def test_siblings_that_may_be_the_same_do_not_contradict(
    tmp_path: Path, concepts: Sequence[Any]
) -> None:
    found = ontology_pairs(ontology(tmp_path / "names.jsonl", concepts), 200, seed=3)
    assert "contradiction" not in {pair.label for pair in found}


@pytest.mark.parametrize("concepts", [[], [("C1", "Thymoma", [], []), ("C2", "Cyst", [], ["C9"])]])
def test_an_ontology_without_pairs_is_refused(tmp_path: Path, concepts: list[Any]) -> None:
    with pytest.raises(InputError, match="gives no pairs"):
        list(ontology_pairs(ontology(tmp_path / "names.jsonl", concepts), 5, seed=3))


@pytest.mark.parametrize("row", [["C1"], {"id": "C1", "name": "Thymoma"}])
def test_a_row_that_is_no_concept_is_named(tmp_path: Path, row: Any) -> None:
    file = ontology(tmp_path / "names.jsonl", CONCEPTS[:1])
    file.write_text(file.read_text("utf-8") + "\n" + json.dumps(row), "utf-8")
    with pytest.raises(InputError, match="line 2"):
        list(ontology_pairs(file, 5, seed=3))


def test_companions_are_sentences_of_one_report_and_have_no_label(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl.gz", [{"text": REPORT}, {"text": "Only one sentence here."}])
    two = write(tmp_path / "two.jsonl", [{"answer": OTHER}, {"question": "What is seen?"}])
    found = list(companion_pairs([one, two], 120, seed=5))
    assert len(found) == 120
    assert all(type(pair) is NliPair for pair in found)
    for premise, hypothesis in found:
        source = REPORT if hypothesis in REPORT else OTHER
        assert hypothesis in source
        assert hypothesis not in premise
        sentences = [sentence for sentence in premise.split(". ") if sentence]
        assert 1 <= len(sentences) <= 3
        assert all(sentence.rstrip(".") in source for sentence in sentences)
    assert "Ok." not in {pair.hypothesis for pair in found}, "too short to say something"
    assert {pair.hypothesis in OTHER for pair in found} == {True, False}
    assert found[:20] == list(islice(companion_pairs([one, two], 120, seed=5), 20))


def test_reports_without_two_sentences_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "reports.jsonl", [{"text": "Only one sentence is in this report."}])
    with pytest.raises(InputError, match="two sentences"):
        list(companion_pairs([file], 3, seed=5))
    assert not list(companion_pairs([file], 0, seed=5))
    assert not list(companion_pairs([], 3, seed=5))


REPORTS = (
    (
        "Left breast, wide local excision.",
        "Invasive ductal carcinoma, 23 mm across.",
        "Lymphovascular invasion is not identified.",
    ),
    ("Colon, polypectomy.", "Tubular adenoma of 6 mm.", "No high-grade dysplasia."),
)
SOURCES = (REPORTS[:1], REPORTS[1:])


def test_a_statement_with_something_changed_contradicts_and_one_renamed_is_entailed() -> None:
    found = list(changed_pairs(SOURCES, 300, seed=1))
    assert len(found) == 300
    for pair in found:
        if pair.category == "changed: nothing":
            assert pair.label == "entailment"
        if pair.category in {"changed: number", "changed: side", "changed: pole"}:
            assert pair.label == "contradiction"
            assert pair.hypothesis not in pair.premise
    diagnoses = [pair for pair in found if pair.category == "changed: diagnosis"]
    assert {pair.label for pair in diagnoses} == {"entailment", "contradiction"}
    assert found[:20] == list(changed_pairs(SOURCES, 20, seed=1))
    assert found[:20] != list(changed_pairs(SOURCES, 20, seed=4))


def test_another_name_of_a_diagnosis_is_of_the_same_diagnosis() -> None:
    adenoma = main_concept("tubular adenoma")
    for pair in changed_pairs((((REPORTS[1][1],),),), 60, seed=2):
        if pair.category == "changed: diagnosis":
            is_same = main_concept(pair.hypothesis) == adenoma
            assert is_same == (pair.label == "entailment"), pair.hypothesis


def test_a_stranger_is_a_statement_of_another_report() -> None:
    for pair in stranger_pairs(SOURCES, 40, seed=1):
        assert pair.hypothesis not in pair.premise
