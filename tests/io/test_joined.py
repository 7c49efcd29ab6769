"""A file of references and one for each team, joined by id, as challenges keep them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import histoeval
from histoeval.errors import InputError
from histoeval.io.pairs import Columns, PairSource, open_source
from histoeval.io.reports import open_reports

TRUTH = [{"id": name, "report": f"Colon: adenoma {name}."} for name in ("a", "b", "c")]


def written(folder: Path, name: str, content: object) -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return file


def joined(folder: Path, **teams: object) -> PairSource:
    files = [written(folder, f"{team}.json", content) for team, content in teams.items()]
    return open_source([written(folder, "truth.json", TRUTH), *files])


def test_files_are_joined_by_id_whatever_their_order(tmp_path: Path) -> None:
    source = joined(tmp_path, one=TRUTH[::-1], two={each["id"]: each["report"] for each in TRUTH})
    rows = list(source.rows())
    assert [(row.id, row.system) for row in rows] == [
        (name, system) for name in ("a", "b", "c") for system in ("one", "two")
    ]
    assert all(row.pair and row.pair.reference == row.pair.candidate for row in rows)
    assert (source.name, source.notes) == ("truth.json, one.json, two.json", ())


def test_a_report_that_a_team_has_not_handed_in_is_its_error_and_counts(tmp_path: Path) -> None:
    results = histoeval.score(
        [
            written(tmp_path, "truth.json", TRUTH),
            written(tmp_path, "lazy.json", TRUTH[:1]),
            written(tmp_path, "good.csv", "case,text\nc,Colon.\nb,Colon.\na,Colon.\n"),
        ],
        metrics="rouge_l",
    )
    totals = results.summary["metrics"]["rouge_l"]["systems"]
    assert {name: (each["scored"], each["pairs"]) for name, each in totals.items()} == {
        "lazy": (1, 3),
        "good": (3, 3),
    }
    (problem,) = results["b", "lazy"].errors
    assert problem.code == "missing_value"
    assert problem.message.startswith("lazy has no report for 'b', which the references have")


def test_what_the_references_lack_and_what_comes_twice_is_said(tmp_path: Path) -> None:
    more = [*TRUTH, {"id": "z", "report": "Skin."}, {"id": "a", "report": "Skin."}]
    source = joined(tmp_path, team=more)
    assert [row.id for row in source.rows()] == ["a", "b", "c"]
    strangers, twice = source.notes
    assert strangers == "team: 1 ids that the references lack are not scored, for example: z"
    assert twice.startswith("team: 1 unusable rows are not scored, for example: ")
    assert "'a'" in twice


def test_files_without_ids_cannot_be_joined(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"team\.json has no column of ids"):
        joined(tmp_path, team=[{"report": "Colon."}])


def test_columns_can_be_named(tmp_path: Path) -> None:
    truth = written(tmp_path, "truth.json", [{"nr": "1", "gold": "Colon.", "text": "x"}])
    team = written(tmp_path, "team.json", [{"nr": "1", "said": "Skin.", "text": "x"}])
    named = Columns(id="nr", reference="gold", candidates=("said",))
    (row,) = open_source([truth, team], named).rows()
    assert row.pair is not None
    assert (row.pair.reference, row.pair.candidate) == ("Colon.", "Skin.")


def test_reports_by_id_are_a_table_but_one_object_is_not(tmp_path: Path) -> None:
    file = written(tmp_path, "team.json", {"case 1": "Colon.", "case 2": "Skin."})
    assert [(row.id, row.text) for row in open_reports(file).rows()] == [
        ("case 1", "Colon."),
        ("case 2", "Skin."),
    ]
    written(tmp_path, "team.json", {"id": "1", "text": "Colon."})
    with pytest.raises(InputError, match="no list of objects and no reports by id"):
        open_reports(file)
