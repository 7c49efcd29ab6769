"""HL7 messages and FHIR resources as reports."""

import base64
import json
from pathlib import Path

import pytest

from histoeval.errors import InputError
from histoeval.io.documents import hl7
from histoeval.io.reports import TextRow, open_reports
from histoeval.io.submissions import read_truth
from tests.support.documents import diagnostic_report, oru, pdf, presented


def rows(folder: Path, content: str | bytes, encoding: str | None = None) -> list[TextRow]:
    file = folder / "export.hl7"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(open_reports(file, encoding=encoding).rows())


def text_of(folder: Path, content: str | bytes) -> str | None:
    (row,) = rows(folder, content)
    return row.text


def test_lines_of_one_kind_are_one_text(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, oru("S1^LAB", "TX|^Report||Colon, biopsy:", "TX|^Report||Adenoma."))
    assert (row.id, row.text) == ("S1", "Colon, biopsy:\nAdenoma.")


def test_several_kinds_stand_under_their_names(tmp_path: Path) -> None:
    message = oru(
        "S1",
        "FT|22637-3^FINAL DIAGNOSIS^LN||Adenoma.",
        "CE|^GRADE||LG^low grade^L",
        "NM|^SIZE||12|mm",
    )
    text = "FINAL DIAGNOSIS:\nAdenoma.\nGRADE:\nlow grade\nSIZE:\n12 mm"
    assert text_of(tmp_path, message) == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"a\.br\b", "a\nb"),
        (r"a\T\b \F\ \S\ \R\ \E\ c", r"a&b | ^ ~ \ c"),
        (r"a\X0D0A\b\X0D\c", "a\nb\nc"),
        (r"\H\bold\N\ word", "bold word"),
        (r"a\.sp2\b\.in+4\c", "a\n\nbc"),
        (r"5\6 path C:\dir stays", r"5\6 path C:\dir stays"),
        ("a~b", "a\nb"),
        ("a^b", "a^b"),
    ],
)
def test_escapes_and_repetitions(tmp_path: Path, written: str, text: str) -> None:
    assert text_of(tmp_path, oru("S1", f"FT|^Report||{written}")) == text


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_many_messages_with_any_line_ends_and_frames(tmp_path: Path, end: str) -> None:
    messages = [oru(f"S{n}", "TX|^R||Colon.").replace("\r", end) for n in range(3)]
    assert [row.id for row in rows(tmp_path, "".join(messages))] == ["S0", "S1", "S2"]
    framed = "".join(f"\x0b{each}\x1c\r" for each in messages)
    assert [row.text for row in rows(tmp_path, framed)] == ["Colon."] * 3
    batch = f"FHS|^~\\&|x{end}BHS|^~\\&|x{end}{''.join(messages)}BTS|3{end}FTS|1{end}"
    assert [row.text for row in rows(tmp_path, batch)] == ["Colon."] * 3


def test_the_character_set_is_the_one_that_the_message_names(tmp_path: Path) -> None:
    codecs = {"UNICODE UTF-8": "utf-8", "8859/1": "latin-1", "8859/15": "latin9"}
    for charset, codec in codecs.items():
        message = oru("S1", "TX|^R||Größe 5 mm é", charset=charset).encode(codec)
        assert text_of(tmp_path, message) == "Größe 5 mm é"
    (row,) = rows(tmp_path, oru("S1", "TX|^R||é", charset="8859/1").encode(), encoding="utf-8")
    assert row.text == "é"


def test_the_orders_of_a_message_are_reports_of_their_own(tmp_path: Path) -> None:
    message = oru("S1", "TX|^R||Colon.") + "OBR|2|P2||x\rOBX|1|TX|^R||Skin.\r"
    found = [(row.id, row.text) for row in rows(tmp_path, message)]
    assert found == [("S1", "Colon."), ("P2", "Skin.")]


def test_documents_inside_a_message_are_read(tmp_path: Path) -> None:
    plain = base64.b64encode(b"Colon.").decode()
    assert text_of(tmp_path, oru("1", f"ED|^R||LIS^TEXT^PLAIN^Base64^{plain}")) == "Colon."
    html = base64.b64encode(b"<p>Colon.</p><p>Skin.</p>").decode()
    assert text_of(tmp_path, oru("1", f"ED|^R||LIS^TEXT^HTML^Base64^{html}")) == "Colon.\nSkin."
    (row,) = rows(tmp_path, oru("1", "ED|^R||LIS^IM^JPEG^Base64^AAAA"))
    assert row.problems[0].code == "not_text"
    pytest.importorskip("pypdf")
    scan = base64.b64encode(pdf([])).decode()
    (row,) = rows(tmp_path, oru("1", f"ED|^R||LIS^AP^PDF^Base64^{scan}"))
    assert row.problems[0].code == "no_text_layer"


def test_withdrawn_observations_and_other_messages_are_problems(tmp_path: Path) -> None:
    gone = oru("S1", "TX|^R||Colon.||||||X")
    other = oru("S2", "TX|^R||Colon.", kind="ADT^A01")
    none = oru("S3")
    found = rows(tmp_path, gone + other + none + oru("S4", "TX|^R||Colon."))
    assert [row.problems[0].code if row.problems else "" for row in found] == [
        "empty_text",
        "not_a_report",
        "empty_text",
        "",
    ]
    assert "ADT^A01 holds no report (row 2)" in found[1].problems[0].message


def test_a_message_of_another_type_is_told_as_that_where_ids_are_needed(tmp_path: Path) -> None:
    (tmp_path / "a.hl7").write_text(oru("S1", "TX|^R||Colon.") + "MSH|^~\\&|||||||ADT^A01\rPID|1\r")
    found = read_truth(tmp_path / "a.hl7")
    assert [each.code for each in found.problems] == ["not_a_report"]


def test_repeated_and_missing_order_numbers(tmp_path: Path) -> None:
    message = oru("S1", "TX|^R||Colon.")
    first, second, unnamed = rows(tmp_path, message * 2 + oru("", "TX|^R||Skin."))
    assert first.text == "Colon."
    assert second.problems[0].code == "duplicate_id"
    assert (unnamed.id, unnamed.text) == ("2", "Skin.")


def test_missing_and_endless_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="holds no HL7 message: no line begins with MSH"):
        rows(tmp_path, "PID|1\r")
    with pytest.raises(InputError, match="empty"):
        rows(tmp_path, "")
    monkeypatch.setattr(hl7, "RECORD_LIMIT", 10_000)
    monkeypatch.setattr(hl7, "CHUNK", 1_000)
    long = oru("S1", f"TX|^R||{'a' * 50_000}")
    found = rows(tmp_path, oru("S0", "TX|^R||Colon.") + long + oru("S2", "TX|^R||Skin."))
    assert [row.text for row in found] == ["Colon.", None, "Skin."]
    assert found[1].problems[0].code == "record_too_long"


def test_a_damaged_message_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    assert rows(tmp_path, "MSH|")[0].problems[0].code == "not_a_report"
    assert text_of(tmp_path, "MSH|^~\\&|||||||ORU\rOBX|1|TX|||Colon.") == "Colon."


def test_a_folder_of_messages_is_one_source_and_a_bad_file_costs_no_other(tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / f"{n}.hl7").write_text(oru(f"S{n}", "TX|^R||Colon."), "utf-8")
    (tmp_path / "1.hl7").write_text("rubbish", "utf-8")
    found = list(open_reports(tmp_path).rows())
    assert [(row.id, row.text) for row in found if row.text] == [("S0", "Colon."), ("S2", "Colon.")]
    assert "1.hl7 holds no HL7 message" in found[1].problems[0].message


OBSERVATION: dict[str, object] = {
    "resourceType": "Observation",
    "id": "o1",
    "status": "final",
    "code": {"text": "Diagnosis"},
    "valueString": "Adenoma.",
}


def resources(folder: Path, content: object, name: str = "export.json") -> list[TextRow]:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return list(open_reports(file).rows())


def bundle(*resources: dict[str, object]) -> dict[str, object]:
    entries = [{"fullUrl": f"urn:uuid:{n}", "resource": each} for n, each in enumerate(resources)]
    return {"resourceType": "Bundle", "type": "collection", "entry": entries}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"presentedForm": presented("Colon: ä.")}, "Colon: ä."),
        ({"presentedForm": presented("Größe", "text/plain; charset=utf-8")}, "Größe"),
        ({"presentedForm": presented("é".encode("latin-1"))}, "é"),
        ({"presentedForm": presented("<p>A &lt; B</p><p>C</p>", "text/html")}, "A < B\nC"),
        ({"conclusion": "Adenoma."}, "Adenoma."),
        (
            {"contained": [OBSERVATION], "result": [{"reference": "#o1"}], "conclusion": "Benign."},
            "Diagnosis: Adenoma.\nBenign.",
        ),
        ({"text": {"status": "generated", "div": "<div>Adenoma.</div>"}}, "Adenoma."),
        ({"presentedForm": presented("x", "image/png"), "conclusion": "Benign."}, "Benign."),
    ],
)
def test_the_text_of_a_report(tmp_path: Path, fields: dict[str, object], text: str) -> None:
    (row,) = resources(tmp_path, diagnostic_report("r1", **fields))
    assert (row.id, row.text) == ("r1", text)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "empty_text"),
        ({"status": "entered-in-error", "conclusion": "Benign."}, "withdrawn_report"),
        ({"presentedForm": [{"url": "https://example.org/1"}]}, "missing_value"),
        ({"presentedForm": presented("x", "image/png")}, "not_text"),
        ({"presentedForm": [{"data": "%"}]}, "empty_text"),
        ({"presentedForm": "x", "result": 5, "contained": {}, "identifier": "y"}, "empty_text"),
    ],
)
def test_reports_without_text(tmp_path: Path, fields: dict[str, object], code: str) -> None:
    bad, good = resources(
        tmp_path, [diagnostic_report("r1", **fields), diagnostic_report("r2", conclusion="Benign.")]
    )
    assert [problem.code for problem in bad.problems] == [code]
    assert good.text == "Benign."


def test_the_text_layer_of_a_pdf_inside_is_read(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    form = presented(pdf(["Colon: adenoma."]), "application/pdf")
    (row,) = resources(tmp_path, diagnostic_report("r1", presentedForm=form))
    assert row.text == "Colon: adenoma."


def test_bundles_lists_and_lines_hold_many_reports(tmp_path: Path) -> None:
    patient: dict[str, object] = {"resourceType": "Patient", "id": "p"}
    reports = [
        diagnostic_report("r1", result=[{"reference": "Observation/o1"}]),
        diagnostic_report("r2", identifier=[{"value": "S2"}], result=[{"reference": "urn:uuid:3"}]),
    ]
    found = resources(tmp_path, bundle(patient, *reports, OBSERVATION))
    assert [(row.id, row.text) for row in found] == [
        ("r1", "Diagnosis: Adenoma."),
        ("S2", "Diagnosis: Adenoma."),
    ]
    simple = [diagnostic_report(name, conclusion="Benign.") for name in ("r1", "r2")]
    assert [row.id for row in resources(tmp_path, simple)] == ["r1", "r2"]
    lines = "".join(json.dumps(each) + "\n" for each in (patient, *simple))
    for name in ("export.ndjson", "export.jsonl", "export.json"):
        assert [row.id for row in resources(tmp_path, lines, name)] == ["r1", "r2"]
    broken = resources(tmp_path, lines + "{\n", "export.ndjson")
    assert [row.problems[0].code for row in broken if row.problems] == ["broken_json"]


def test_what_has_no_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no DiagnosticReport"):
        resources(tmp_path, {"resourceType": "Patient", "id": "p"})
    with pytest.raises(InputError, match="is not JSON"):
        resources(tmp_path, '{"resourceType": "Bundle", "entry": [')


def test_a_folder_of_resources_is_read_and_of_other_json_is_not(tmp_path: Path) -> None:
    resources(tmp_path, diagnostic_report("r1", conclusion="Benign."), "1.json")
    assert [row.id for row in open_reports(tmp_path).rows()] == ["r1"]
    (tmp_path / "1.json").write_text('{"a": 1}', "utf-8")
    with pytest.raises(InputError, match="holds no reports"):
        open_reports(tmp_path)
