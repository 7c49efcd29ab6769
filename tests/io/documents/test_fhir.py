"""FHIR resources as reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from histoeval.errors import InputError
from histoeval.io.reports import TextRow, open_reports
from tests.support.documents import diagnostic_report, pdf, presented

OBSERVATION: dict[str, object] = {
    "resourceType": "Observation",
    "id": "o1",
    "status": "final",
    "code": {"text": "Diagnosis"},
    "valueString": "Adenoma.",
}


def rows(folder: Path, content: object, name: str = "export.json") -> list[TextRow]:
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
    (row,) = rows(tmp_path, diagnostic_report("r1", **fields))
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
def test_a_report_without_text_is_a_problem(
    tmp_path: Path, fields: dict[str, object], code: str
) -> None:
    bad, good = rows(
        tmp_path, [diagnostic_report("r1", **fields), diagnostic_report("r2", conclusion="Benign.")]
    )
    assert [problem.code for problem in bad.problems] == [code]
    assert good.text == "Benign."


def test_the_text_layer_of_a_pdf_inside_is_read(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    form = presented(pdf(["Colon: adenoma."]), "application/pdf")
    (row,) = rows(tmp_path, diagnostic_report("r1", presentedForm=form))
    assert row.text == "Colon: adenoma."


def test_bundles_lists_and_lines_hold_many_reports(tmp_path: Path) -> None:
    patient: dict[str, object] = {"resourceType": "Patient", "id": "p"}
    reports = [
        diagnostic_report("r1", result=[{"reference": "Observation/o1"}]),
        diagnostic_report("r2", identifier=[{"value": "S2"}], result=[{"reference": "urn:uuid:3"}]),
    ]
    found = rows(tmp_path, bundle(patient, *reports, OBSERVATION))
    assert [(row.id, row.text) for row in found] == [
        ("r1", "Diagnosis: Adenoma."),
        ("S2", "Diagnosis: Adenoma."),
    ]
    simple = [diagnostic_report(name, conclusion="Benign.") for name in ("r1", "r2")]
    assert [row.id for row in rows(tmp_path, simple)] == ["r1", "r2"]
    lines = "".join(json.dumps(each) + "\n" for each in (patient, *simple))
    for name in ("export.ndjson", "export.jsonl", "export.json"):
        assert [row.id for row in rows(tmp_path, lines, name)] == ["r1", "r2"]
    broken = rows(tmp_path, lines + "{\n", "export.ndjson")
    assert [row.problems[0].code for row in broken if row.problems] == ["broken_json"]


def test_what_has_no_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no DiagnosticReport"):
        rows(tmp_path, {"resourceType": "Patient", "id": "p"})
    with pytest.raises(InputError, match="is not JSON"):
        rows(tmp_path, '{"resourceType": "Bundle", "entry": [')


def test_a_folder_of_resources_is_read_and_of_other_json_is_not(tmp_path: Path) -> None:
    rows(tmp_path, diagnostic_report("r1", conclusion="Benign."), "1.json")
    assert [row.id for row in open_reports(tmp_path).rows()] == ["r1"]
    (tmp_path / "1.json").write_text('{"a": 1}', "utf-8")
    with pytest.raises(InputError, match="holds no reports"):
        open_reports(tmp_path)
