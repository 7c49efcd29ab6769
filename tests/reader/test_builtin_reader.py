"""What the shipped reader finds in reports, and that no text is too odd for it."""

import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from histoeval.reader.builtin import BuiltinReader
from histoeval.report import Assertion, Entity, EntityType, Relation, Report
from tests.support.report_words import make_report

BREAST = """\
Right breast, core biopsy: Invasive ductal carcinoma, Nottingham grade 2.
The tumour measures 1.4 cm. No lymphovascular invasion is identified.
Estrogen receptor: positive (95%). Progesterone receptor: negative. HER2: negative. Ki-67: 20%."""
NODES = """\
Sentinel lymph node, left axilla, excision: Three lymph nodes, negative for metastatic carcinoma.
No extranodal extension."""
HEDGED = """\
Lung, right upper lobe, biopsy: Atypical cells, suspicious for adenocarcinoma.
Squamous cell carcinoma cannot be excluded."""
COLON = """\
Colon, sigmoid, resection: Moderately differentiated adenocarcinoma, pT3 N1a."""


def kinds(report: Report) -> dict[str, EntityType]:
    return {entity.text: entity.type for entity in report.entities}


def assertions(report: Report) -> dict[str, Assertion]:
    return {entity.text: entity.assertion for entity in report.entities}


def related(report: Report) -> set[tuple[str, str]]:
    texts = [entity.text for entity in report.entities]
    return {(texts[relation.head], texts[relation.tail]) for relation in report.relations}


def test_a_breast_biopsy_with_its_markers(reader: BuiltinReader) -> None:
    (report,) = reader.read([BREAST])
    expected = {
        "Right breast": EntityType.SITE,
        "core biopsy": EntityType.PROCEDURE,
        "Invasive ductal carcinoma": EntityType.DIAGNOSIS,
        "1.4 cm": EntityType.MEASUREMENT,
        "lymphovascular invasion": EntityType.FINDING,
        "Estrogen receptor": EntityType.MARKER,
        "HER2": EntityType.MARKER,
        "Ki-67": EntityType.MARKER,
        "20%": EntityType.RESULT,
        "negative": EntityType.RESULT,
    }
    assert expected.items() <= kinds(report).items()
    said = assertions(report)
    assert said["Invasive ductal carcinoma"] is Assertion.PRESENT
    assert said["lymphovascular invasion"] is Assertion.ABSENT
    assert min(entity.score for entity in report.entities) > 0.5
    assert min(relation.score for relation in report.relations) > 0.5


def test_each_marker_is_related_to_its_own_result_and_the_diagnosis_to_its_grade(
    reader: BuiltinReader,
) -> None:
    (report,) = reader.read([BREAST])
    pairs = related(report)
    for pair in (
        ("Estrogen receptor", "positive"),
        ("Progesterone receptor", "negative"),
        ("HER2", "negative"),
        ("Ki-67", "20%"),
        ("Invasive ductal carcinoma", "Right breast"),
    ):
        assert pair in pairs
    assert any("grade 2" in tail for head, tail in pairs if head == "Invasive ductal carcinoma")
    assert ("Ki-67", "positive") not in pairs
    assert ("Estrogen receptor", "20%") not in pairs


@pytest.mark.parametrize(
    ("text", "words", "assertion"),
    [
        (NODES, "metastatic carcinoma", Assertion.ABSENT),
        (NODES, "extranodal extension", Assertion.ABSENT),
        (HEDGED, "adenocarcinoma", Assertion.UNCERTAIN),
        (HEDGED, "Squamous cell carcinoma", Assertion.UNCERTAIN),
        *(  # a line of a form ends what is named in it
            (form, words, assertion)
            for form, present, absent in [
                (
                    "Pattern: Trabecular\nVascular invasion: Absent",
                    "Trabecular",
                    "Vascular invasion",
                ),
                ("Matrix: Chondromyxoid, fibrillary\nAtypia: None", "fibrillary", "Atypia"),
                ("Chorionic vessels: Thrombus\nInfarction: None", "Thrombus", "Infarction"),
            ]
            for words, assertion in [(present, Assertion.PRESENT), (absent, Assertion.ABSENT)]
        ),
    ],
)
def test_what_is_denied_is_absent_and_what_is_hedged_uncertain(
    reader: BuiltinReader, text: str, words: str, assertion: Assertion
) -> None:
    (report,) = reader.read([text])
    assert assertions(report)[words] is assertion


def test_grade_and_stage_belong_to_the_diagnosis(reader: BuiltinReader) -> None:
    (report,) = reader.read([COLON])
    assert kinds(report)["resection"] is EntityType.PROCEDURE
    assert ("adenocarcinoma", "Moderately differentiated") in related(report)
    assert EntityType.STAGE in kinds(report).values()


def test_text_without_a_word_has_no_entities(reader: BuiltinReader) -> None:
    for text in ("", " \n", "\x01\x02", "\0"):
        assert reader.read([text]) == [Report(text=text)]


def test_in_a_text_of_many_windows_everything_is_found_where_it_stands(
    reader: BuiltinReader,
) -> None:
    text = "\n\n".join([BREAST, COLON, NODES, HEDGED] * 5)
    (report,) = reader.read([text])
    by_place = {entity.start: entity for entity in report.entities}
    for found in re.finditer("HER2|Ki-67", text):
        assert by_place[found.start()].type is EntityType.MARKER
        assert by_place[found.start()].text == found[0]
    tails = {
        report.entities[relation.head].start: report.entities[relation.tail].start
        for relation in report.relations
    }
    own = [found.start(1) for found in re.finditer("HER2: (negative)", text)]
    assert [tails[place - len("HER2: ")] for place in own] == own


def test_a_megabyte_that_is_one_word_is_no_burden(reader: BuiltinReader) -> None:
    started = time.process_time()
    text = "Invasive carcinoma, ER: positive " + "1" * 1_000_000
    (report,) = reader.read([text])
    assert time.process_time() - started < 20
    assert EntityType.DIAGNOSIS in kinds(report).values()


def given_entities(text: str, *spans: tuple[str, EntityType]) -> Report:
    """A report in which somebody has marked the first occurrence of each of these."""
    entities = (
        Entity(
            text=words,
            start=text.index(words),
            end=text.index(words) + len(words),
            type=kind,
            assertion=Assertion.UNCERTAIN,
        )
        for words, kind in spans
    )
    return Report(text=text, entities=tuple(entities))


def test_completing_keeps_entities_types_and_order_and_adds_what_it_sees(
    reader: BuiltinReader,
) -> None:
    report = given_entities(
        BREAST,
        ("20%", EntityType.RESULT),
        ("lymphovascular invasion", EntityType.FINDING),
        ("Ki-67", EntityType.MARKER),
        ("Invasive ductal carcinoma", EntityType.DIAGNOSIS),
        ("Nottingham grade 2", EntityType.GRADE),
        ("HER2", EntityType.MARKER),
    )
    (completed,) = reader.complete([report])
    unsaid = {"assertion": Assertion.PRESENT}
    assert [e.model_copy(update=unsaid) for e in completed.entities] == [
        e.model_copy(update=unsaid) for e in report.entities
    ]
    said = assertions(completed)
    assert said["lymphovascular invasion"] is Assertion.ABSENT
    assert said["Invasive ductal carcinoma"] is Assertion.PRESENT
    assert said["20%"] is Assertion.PRESENT
    assert related(completed) == {
        ("Ki-67", "20%"),
        ("Invasive ductal carcinoma", "Nottingham grade 2"),
    }


def test_completing_does_not_look_at_the_relations_or_the_order_that_were_given(
    reader: BuiltinReader,
) -> None:
    (read,) = reader.read([BREAST])
    (completed,) = reader.complete([read])
    order = list(range(len(read.entities)))
    random.Random(3).shuffle(order)
    shuffled = Report(
        text=BREAST,
        entities=tuple(read.entities[i] for i in order),
        relations=(Relation(head=order.index(2), tail=order.index(0), score=0.1),),
    )
    (again,) = reader.complete([shuffled])
    assert {e.start: e for e in again.entities} == {e.start: e for e in completed.entities}
    assert related(again) == related(completed) == related(read)


def test_completing_what_was_read_gives_the_same_again(reader: BuiltinReader) -> None:
    text = "\n\n".join([make_report(random.Random(2), 500), BREAST])
    (read,) = reader.read([text])
    assert reader.complete([read]) == [read]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\x01\x02\x03", "\x02"),
        ("carcinoma of the lung \x01\x02", "\x02"),
        ("carcinoma of the lung  \n", " \n"),
        ("\x01\x02 carcinoma of the lung", "\x01\x02"),
        ("carcinoma \x01\x02 of the lung", "\x01"),
        (" ", " "),
    ],
)
def test_entities_on_which_no_token_stands_come_back(
    reader: BuiltinReader, text: str, words: str
) -> None:
    spans = [(words, EntityType.SITE), (text[0], EntityType.DIAGNOSIS)]
    report = given_entities(text, *spans)
    (completed,) = reader.complete([report])
    assert [(e.start, e.end, e.type) for e in completed.entities] == [
        (e.start, e.end, e.type) for e in report.entities
    ]
    assert completed.entities[0].assertion is Assertion.PRESENT


def test_entities_that_overlap_can_be_completed(reader: BuiltinReader) -> None:
    report = given_entities(
        BREAST * 12,
        (BREAST, EntityType.FINDING),
        ("Invasive ductal carcinoma", EntityType.DIAGNOSIS),
        ("carcinoma", EntityType.DIAGNOSIS),
        ("ductal carcinoma, Nottingham", EntityType.GRADE),
        (f"{BREAST[-4:]}{BREAST[:5]}", EntityType.SITE),
    )
    (completed,) = reader.complete([report])
    assert [e.text for e in completed.entities] == [e.text for e in report.entities]


def test_an_entity_that_no_window_shows_whole_is_linked_to_nothing(reader: BuiltinReader) -> None:
    text = BREAST * 12
    report = given_entities(text, (text, EntityType.FINDING), ("breast", EntityType.SITE))
    (completed,) = reader.complete([report])
    assert completed.relations == ()


FRESH = """
import socket, sys

class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "transformers", "huggingface_hub", "requests"}:
            raise AssertionError(f"{name} was asked for")

def no_socket(*given, **named):
    raise AssertionError("a socket was opened")

sys.meta_path.insert(0, Forbidden())
socket.socket = socket.create_connection = socket.getaddrinfo = no_socket

from histoeval.reader.builtin import BuiltinReader

report, = BuiltinReader().read(["Left breast, biopsy: invasive carcinoma. ER: positive."])
print(*sorted({str(entity.type) for entity in report.entities}), len(report.relations) > 0)
"""


def test_it_reads_in_a_fresh_process_without_torch_and_without_a_network(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FRESH],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["diagnosis", "marker", "procedure", "result", "site", "True"]
    assert ran.stderr == ""


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("Invasive lobular carcinoma, ER 90 %, PR 80 %, HER2 negative, 14 mm.", {"14 mm"}),
        ("Ki-67 20%, 14 mm. p16 positive, 3 cm. S100 positive 2 cm", {"14 mm", "3 cm", "2 cm"}),
        ("Melanoma; Melan-A positive; 3 x 2.5 cm", {"3 x 2.5 cm"}),
    ],
)
def test_a_length_is_no_result_of_a_marker(
    reader: BuiltinReader, text: str, lengths: set[str]
) -> None:
    (report,) = reader.read([text])
    found = {entity.text: entity.type for entity in report.entities}
    assert {found[each] for each in lengths} == {EntityType.MEASUREMENT}
    of_markers = {
        report.entities[each.tail].text
        for each in report.relations
        if report.entities[each.head].type is EntityType.MARKER
    }
    assert of_markers
    assert not of_markers & lengths
