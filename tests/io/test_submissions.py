"""Reports of systems, joined with a truth by id: good ones, and each flaw."""

import json
from pathlib import Path

import polars
import pytest

import histoeval
from histoeval.errors import InputError, OutputError, SettingError
from histoeval.io.pairs import Joining, PairSource, open_source
from histoeval.io.reports import open_reports
from histoeval.io.submissions import Submission, plain_id, read_submission, read_truth
from histoeval.io.tables.columns import Columns
from histoeval.run.results import Scores
from histoeval.run.score import references_of
from histoeval.view.html.scores import pair_html

CASES = [{"id": f"P{number}.tiff", "report": f"Colon: adenoma {number}."} for number in range(3)]
GOOD = {"id": "P0.tiff", "report": "Colon: adenoma."}


def submitted(folder: Path, rows: object, *, loose: bool = False) -> Submission:
    truth, team = folder / "truth.json", folder / "team.json"
    truth.write_text(json.dumps(CASES), "utf-8")
    team.write_text(rows if isinstance(rows, str) else json.dumps(rows), "utf-8")
    return read_submission(team, read_truth(truth), loose_ids=loose, longest=100)


@pytest.mark.parametrize(
    ("bad", "name", "code", "reason"),
    [
        (5, None, "not_an_object", "a number stands where an object was expected (row 2)"),
        ({"report": "Colon."}, None, "missing_id", "id is missing (row 2)"),
        ({"id": ["P1"], "report": "Colon."}, None, "not_a_name", "id is a list"),
        ({"id": "P0.tiff", "report": "Skin."}, "P0.tiff", "duplicate_id", "the id of row 1"),
        ({"id": "P1.tiff"}, "P1.tiff", "missing_value", "report is missing (row 2)"),
        ({"id": "P1.tiff", "report": 7}, "P1.tiff", "not_text", "report is a number"),
        ({"id": "P1.tiff", "report": " \n"}, "P1.tiff", "empty_text", "report is empty (row 2)"),
        ({"id": "P1.tiff", "report": "a" * 101}, "P1.tiff", "too_long", "101 characters"),
        ({"id": "Q1", "report": "Colon."}, "Q1", "unknown_id", "an id that is not in truth"),
        ({"id": "P1.svs", "report": "Colon."}, "P1.svs", "near_id", "correct the id to 'P1.tiff'"),
        ({"id": "P1.tiff", "report": "\0\1\2"}, "P1.tiff", "binary_text", "control characters"),
    ],
)
def test_a_bad_row_is_reported_by_id_and_reason_and_the_others_are_read(
    tmp_path: Path, bad: object, name: str | None, code: str, reason: str
) -> None:
    found = submitted(tmp_path, [GOOD, bad])
    assert dict(found.reports) == {"P0.tiff": "Colon: adenoma."}
    (problem,) = [each for each in found.problems if each.row == 2]
    assert (problem.id, problem.code) == (name, code)
    assert reason in problem.reason


def test_reports_that_are_missing_are_listed_in_the_order_of_the_truth(tmp_path: Path) -> None:
    problems = submitted(tmp_path, [GOOD]).problems
    assert [(each.id, each.row, each.code) for each in problems] == [
        ("P1.tiff", None, "missing_report"),
        ("P2.tiff", None, "missing_report"),
    ]


def test_near_ids_are_accepted_only_on_request(tmp_path: Path) -> None:
    rows = [GOOD, {"id": " p1.TIF", "report": "Colon."}, {"id": "p2", "report": "Colon."}]
    strict = submitted(tmp_path, rows)
    assert list(strict.reports) == ["P0.tiff"]
    assert {each.code for each in strict.problems} == {"near_id"}
    assert "loose_ids=True" in strict.problems[0].reason
    loose = submitted(tmp_path, rows, loose=True)
    assert list(loose.reports) == ["P0.tiff", "P1.tiff", "P2.tiff"]
    assert (loose.renamed, loose.problems) == ({" p1.TIF": "P1.tiff", "p2": "P2.tiff"}, ())


def test_an_id_that_could_mean_two_is_not_guessed(tmp_path: Path) -> None:
    rows = [GOOD, {"id": "P1.svs", "report": "Colon."}, {"id": "p1.tif", "report": "Skin."}]
    found = submitted(tmp_path, rows, loose=True)
    assert list(found.reports) == ["P0.tiff"]
    assert [each.code for each in found.problems if each.row] == ["unknown_id", "unknown_id"]


def test_plain_ids() -> None:
    assert plain_id(" PIT_01.ome.TIFF\n") == plain_id("pit_01") == "pit_01"
    assert plain_id("S21.1234") == "s21.1234"
    assert plain_id("/data/test/PIT_01.tiff") == plain_id("C:\\PIT_01.svs") == "pit_01"
    assert plain_id("S21/1234") == "s21/1234"
    assert plain_id("007") == plain_id("7") == plain_id("7.0") == "7"
    assert plain_id("0") == plain_id("000") == "0"
    assert plain_id("7.05") == "7.05"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("{", "not JSON"),
        ('"Colon."', "neither a list"),
        ("[]", "has no rows"),
        ("[1, 2]", "no row of"),
        ('[{"report": "Colon."}]', "no column of ids"),
        ('[{"id": "P0.tiff"}]', "no column for the text"),
    ],
)
def test_files_without_reports_by_id(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        submitted(tmp_path, content)


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
    assert problem.message.startswith("lazy has no report for 'b', which is in the references")


def test_what_the_references_lack_and_what_comes_twice_is_said(tmp_path: Path) -> None:
    more = [*TRUTH, {"id": "z", "report": "Skin."}, {"id": "a", "report": "Skin."}]
    source = joined(tmp_path, team=more)
    assert [row.id for row in source.rows()] == ["a", "b", "c", "z", "a"]
    strangers, twice = source.notes
    assert strangers.endswith("which are not scored: 1, for example: z")
    assert twice.startswith("team: unusable rows, which are not scored: 1, for example: ")
    assert "'a'" in twice


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


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ('{"a": "Colon.", "b": null}', "missing_value"),
        ('{"a": "Colon.", "b": 5, "c": "Skin."}', "not_text"),
        ('{"a": "Colon.", "b": "Ski', "broken_json"),
    ],
)
def test_one_broken_report_by_id_costs_no_other(tmp_path: Path, content: str, code: str) -> None:
    first, second, *_ = open_reports(written(tmp_path, "team.json", content)).rows()
    assert (first.id, first.text) == ("a", "Colon.")
    assert [problem.code for problem in second.problems] == [code]


def test_several_references_may_stand_by_id(tmp_path: Path) -> None:
    truth = written(tmp_path, "t.json", {"a": ["Colon: adenoma.", "Polyp."], "b": ["Skin: nevus."]})
    found = read_truth(truth)
    assert found.references == {"a": ("Colon: adenoma.", "Polyp."), "b": ("Skin: nevus.",)}
    assert not found.problems


def test_near_ids_of_joined_files_are_reported(tmp_path: Path) -> None:
    truth = written(tmp_path, "truth.json", [{"id": "P1.tiff", "report": "Colon: adenoma."}])
    team = written(tmp_path, "team.csv", "id,report\n p1.SVS,Colon.\n")
    row, outside = open_source([team], truth=truth).rows()
    assert [row.id, outside.id] == ["P1.tiff", " p1.SVS"]
    assert "but one for ' p1.SVS': correct the id to 'P1.tiff'" in row.problems[0].message
    assert [each.code for each in outside.problems] == ["unknown_id"]
    (accepted,) = open_source([team], truth=truth, joining=Joining(loose_ids=True)).rows()
    assert (accepted.id, accepted.pair and accepted.pair.candidate) == ("P1.tiff", "Colon.")


def test_rows_outside_of_the_truth_are_errors_and_no_pairs(tmp_path: Path) -> None:
    more = [*TRUTH, {"id": "z", "report": "Skin."}, {"id": "a", "report": "Skin."}, 7]
    results = histoeval.score(
        written(tmp_path, "team.json", more),
        truth=written(tmp_path, "truth.json", TRUTH),
        metrics="rouge_l",
        output=tmp_path / "run",
    )
    totals = results.summary["metrics"]["rouge_l"]["systems"]["team"]
    assert (totals["pairs"], totals["scored"], totals["coverage"]) == (3, 3, 1.0)
    assert {code: each["count"] for code, each in results.summary["errors"].items()} == {
        "unknown_id": 1,
        "repeated_report": 1,
        "unusable_row": 1,
    }
    assert [(row.id, row.row) for row in results.rows[3:]] == [("z", 4), ("a", 5), ("row 6", 6)]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "json", "parquet", "folder"])
def test_any_format_can_stand_on_either_side(tmp_path: Path, kind: str) -> None:
    frame = polars.DataFrame(TRUTH)
    other = tmp_path / "other"
    if kind == "folder":
        other.mkdir()
        for each in TRUTH:
            (other / f"{each['id']}.txt").write_text(each["report"], "utf-8")
    else:
        other = tmp_path / f"other.{kind}"
        writer, options = {
            "tsv": ("csv", {"separator": "\t"}),
            "jsonl": ("ndjson", {}),
        }.get(kind, (kind, {}))
        getattr(frame, f"write_{writer}")(other, **options)
    plain = written(tmp_path, "plain.json", TRUTH)
    for truth, team in ((plain, other), (other, plain)):
        rows = list(open_source([team], truth=truth).rows())
        assert [row.id for row in rows] == ["a", "b", "c"]
        assert all(row.pair and row.pair.reference == row.pair.candidate for row in rows)


def test_text_files_are_joined_by_line_and_with_nothing_else(tmp_path: Path) -> None:
    truth, team = (written(tmp_path, name, "Colon.\nSkin.\n") for name in ("t.txt", "a.txt"))
    assert [row.id for row in open_source([team], truth=truth).rows()] == ["0", "1"]
    with pytest.raises(InputError, match=r"a\.txt has a report in each line and no ids"):
        open_source([team], truth=written(tmp_path, "truth.json", TRUTH))


def test_systems_of_the_same_name_are_called_with_their_folder(tmp_path: Path) -> None:
    for team in ("one", "two"):
        (tmp_path / team).mkdir()
    truth = written(tmp_path, "truth.json", TRUTH)
    files = [written(tmp_path / team, "predictions.json", TRUTH) for team in ("one", "two")]
    systems = {row.system for row in open_source(files, truth=truth).rows()}
    assert systems == {"one/predictions", "two/predictions"}
    with pytest.raises(InputError, match="two systems would be called one/predictions: rename"):
        open_source([files[0], files[0]], truth=truth)


def test_references_and_candidates_may_be_in_memory(tmp_path: Path) -> None:
    texts = {each["id"]: each["report"] for each in TRUTH}
    file = written(tmp_path, "team.json", TRUTH[:2])
    for data in (texts, {"x": texts, "y": TRUTH[:1], "z": file}, polars.DataFrame(TRUTH)):
        results = histoeval.score(data, truth=texts, metrics="rouge_l")
        systems = results.summary["metrics"]["rouge_l"]["systems"]
        assert all(each["mean"] == 1 and each["pairs"] == 3 for each in systems.values())
    assert [*systems] == ["candidate"]


REFERENCES = [
    {"id": "a", "report": ["Colon: adenoma.", "Colon: tubular adenoma, low grade."]},
    {"id": "b", "report": "Skin: nevus."},
    {"id": "b", "report": "Skin: melanoma."},
]
ANSWERS = {"a": "Colon: tubular adenoma.", "b": "Skin: melanoma."}


def test_several_references_must_be_asked_for(tmp_path: Path) -> None:
    source = open_source(
        [written(tmp_path, "team.json", ANSWERS)], truth=written(tmp_path, "t.json", REFERENCES)
    )
    listed, first, second = source.rows()
    assert "is a list of 2 (row 1)" in listed.problems[0].message
    assert first.pair is not None
    assert second.problems[0].code == "duplicate_id"
    assert "take several together: several_references='best'" in second.problems[0].message


def test_a_system_cannot_have_several_reports_on_a_case(tmp_path: Path) -> None:
    reports = {"a": "Colon: adenoma.", "b": ["Skin: nevus.", "Skin: melanoma."]}
    listed = [{"id": name, "report": report} for name, report in reports.items()]
    team, truth = written(tmp_path, "t.json", listed), written(tmp_path, "r.json", ANSWERS)
    _, row = open_source([team], truth=truth).rows()
    (problem,) = row.problems
    where = "the report of t is a list of 2 (row 2 of its file)"
    assert problem.message == f"{where}: give one text"


def test_another_way_to_take_several_references_is_refused() -> None:
    with pytest.raises(SettingError, match="several_references='worst': of several references"):
        histoeval.score({"a": {"1": "x"}}, truth={"1": "x"}, several_references="worst")  # type: ignore[arg-type]


def test_an_unusable_report_is_named_by_its_row(tmp_path: Path) -> None:
    truth = {"1": "Colon: adenoma.", "2": "Skin: nevus.", "3": "Breast: carcinoma."}
    team = [{"id": "3", "report": ""}, {"id": "2", "report": 5}, {"id": "1", "report": "Colon"}]
    scores = histoeval.score({"a": team}, truth=truth, metrics="rouge_l")
    messages = {row.id: row.errors[0].message for row in scores.rows if row.errors}
    assert "the report of a is empty (row 1 of its file)" in messages["3"]
    assert "the report of a is a number and not a text (row 2 of its file)" in messages["2"]


def test_the_best_and_the_mean_over_references_and_each_of_them_are_kept(tmp_path: Path) -> None:
    def scored(mode: str, folder: str) -> Scores:
        return histoeval.score(
            written(tmp_path, "team.json", ANSWERS),
            truth=written(tmp_path, "t.json", REFERENCES),
            several_references=mode,  # type: ignore[arg-type]
            metrics="rouge_l,bleu,chrf",
            output=tmp_path / folder,
        )

    best, mean = scored("best", "best"), scored("mean", "mean")
    row = best["b"].scores["rouge_l"]
    each = row.evidence["references"]
    assert (row.value, each["best"], each["taken"]) == (1.0, 2, "best")
    assert [one["value"] for one in each["scores"]] == [0.5, 1.0]
    assert mean["b"].scores["rouge_l"].value == row.parts["references_mean"] == 0.75
    totals = mean.summary["metrics"]["rouge_l"]["systems"]["team"]
    bests = best.summary["metrics"]["rouge_l"]["systems"]["team"]
    assert totals["parts"]["references_best"] == bests["mean"]
    assert all("references:best" in line for line in best.signatures.values())
    assert scored("best", "best").summary == best.summary
    with pytest.raises(OutputError):
        scored("mean", "best")


def test_numbered_columns_are_several_references(tmp_path: Path) -> None:
    table = written(
        tmp_path,
        "pairs.csv",
        "id,reference_1,reference_2,candidate\n1,Colon.,Colon: adenoma.,Colon: adenoma.\n"
        "2,Skin.,,Skin.\n3,,,Skin.\n",
    )
    with pytest.raises(InputError, match=r"several columns of references \(reference_1, ref"):
        open_source([table])
    two, one, none = open_source([table], joining=Joining(references="best")).rows()
    assert two.pair is not None
    assert references_of(two.pair) == ("Colon.", "Colon: adenoma.")
    assert one.pair is not None
    assert references_of(one.pair) == ("Skin.",)
    assert [problem.code for problem in none.problems] == ["empty_text"]
    truth = written(tmp_path, "truth.csv", "id,report_1,report_2\n1,Colon.,Skin.\n")
    team = written(tmp_path, "team.csv", "id,report\n1,Skin.\n")
    (row,) = open_source([team], truth=truth, joining=Joining(references="mean")).rows()
    assert row.pair is not None
    assert references_of(row.pair) == ("Colon.", "Skin.")


def test_a_page_marks_the_best_reference(tmp_path: Path) -> None:
    histoeval.score(
        {"a": "Left breast: carcinoma."},
        truth={"a": ["Colon: adenoma.", "Left breast: carcinoma."]},
        several_references="best",
        metrics="concordance",
        output=tmp_path / "run",
    )
    row = json.loads((tmp_path / "run" / "scores.jsonl").read_text("utf-8"))
    texts = json.loads((tmp_path / "run" / "texts.jsonl").read_text("utf-8"))
    page = pair_html(row, texts, "concordance")
    assert "Reference 2 of 2" in page
    assert "adenoma" not in page
