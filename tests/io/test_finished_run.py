"""A folder or file of results is known by what lies in it; its scores are read back."""

import json
from pathlib import Path

import pytest

import histoeval
from histoeval.errors import InputError, OutputError
from histoeval.io.finished_run import (
    RowTexts,
    beside,
    finished_run,
    has_texts,
    read_texts,
    write_texts,
)
from histoeval.io.results import read_scored, read_summary

SUMMED_UP: dict[str, object] = {"input": {}, "metrics": {}, "routes": {}}


def put(folder: Path, **files: object) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        ending = "jsonl" if name in ("scores", "trust") else "json"
        (folder / f"{name}.{ending}").write_text(json.dumps(content), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("score", {"scores": {}, "summary": SUMMED_UP, "run": {}}),
        ("judge", {"scores": {}, "summary": {"judge": {}, **SUMMED_UP}, "run": {}, "usage": {}}),
        ("trust", {"trust": {}, "summary": SUMMED_UP}),
        ("agree", {"agreement": {}}),
        ("compare", {"comparison": {}}),
        ("experiment", {"table1": {"found": []}}),
    ],
)
def test_kinds_are_known_by_files(kind: str, files: dict[str, object], tmp_path: Path) -> None:
    found = finished_run(put(tmp_path, **files))
    assert (found.kind, found.folder) == (kind, tmp_path)
    assert found.beside("html") == tmp_path / "report.html"


def test_the_file_of_a_run_stands_for_its_folder(tmp_path: Path) -> None:
    put(tmp_path, scores={}, summary=SUMMED_UP)
    assert finished_run(tmp_path / "scores.jsonl").place == tmp_path


@pytest.mark.parametrize(
    "files", [{"scores": {}, "run": {}}, {"run": {}}, {"trust": {}}], ids=["score", "none", "trust"]
)
def test_an_unfinished_run_says_how_to_finish_it(files: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not finished: run the same .* command again"):
        finished_run(put(tmp_path, **files))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"scores": {}, "summary": {"a": 1}}, r"not of `histoeval score` \(missing: input, met"),
        ({"trust": {}, "summary": {"input": {}}}, r"not of `histoeval trust` \(missing: routes"),
        ({"scores": {}, "summary": []}, "summary.json is damaged, or of another program"),
        ({"run": {}, "summary": SUMMED_UP}, "scores.jsonl is missing: the rows of the run are go"),
    ],
)
def test_damaged_folders(files: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        finished_run(put(tmp_path, **files))


@pytest.mark.parametrize("line", ['{"id":', "5", "null"])
def test_damaged_texts_are_named_by_their_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text(line, "utf-8")
    with pytest.raises(InputError, match=r"line 1 of .*texts.jsonl .* the run is damaged; run it"):
        list(read_texts(tmp_path))


def test_an_agreement_without_its_end_is_unfinished(tmp_path: Path) -> None:
    put(tmp_path / "scores", scores={})
    with pytest.raises(InputError, match="not finished: run the same `agree` command"):
        finished_run(tmp_path)


def test_the_file_of_extract_is_a_run(tmp_path: Path) -> None:
    file, meta = tmp_path / "out.jsonl", tmp_path / "out.jsonl.meta.json"
    file.write_text("", "utf-8")
    with pytest.raises(InputError, match="is not the results of a run"):
        finished_run(file)
    meta.write_text(json.dumps({"run": {}, "finished": False}), "utf-8")
    with pytest.raises(InputError, match="not finished: run the same `extract` command"):
        finished_run(file)
    meta.write_text(json.dumps({"finished": True, "summary": {"entities": {}}}), "utf-8")
    assert finished_run(file).kind == "extract"
    assert finished_run(file).beside("csv") == tmp_path / "out.report.csv"
    meta.write_text(json.dumps({"finished": True, "summary": {"labels": {}}}), "utf-8")
    with pytest.raises(InputError, match="is not of `histoeval extract`"):
        finished_run(file)


def test_anything_else_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no results that a report is made of"):
        finished_run(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        finished_run(tmp_path / "none")


def test_texts_come_back_as_they_were_and_fit_their_rows(tmp_path: Path) -> None:
    rows: list[RowTexts] = [{"id": "a", "report": "one\u2028\udc80"}, {"id": "b", "report": None}]
    assert list(beside([{"id": "a"}], tmp_path)) == [({"id": "a"}, None)]
    write_texts(tmp_path, rows)
    assert has_texts(tmp_path)
    assert list(read_texts(tmp_path)) == rows
    assert [texts for _, texts in beside([{"id": "a"}, {"id": "b"}], tmp_path)] == rows
    with pytest.raises(OutputError, match="does not fit"):
        list(beside([{"id": "b"}], tmp_path))


def test_texts_are_kept_where_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_texts(tmp_path, [{"id": "a", "report": "one"}])
    monkeypatch.setenv("HISTOEVAL_KEEP_TEXTS", "0")
    write_texts(tmp_path, [{"id": "a", "report": "one"}])
    assert not has_texts(tmp_path)


RECORDS = [
    {"id": "a", "reference": "benign naevus", "candidate": "benign naevus"},
    {"id": "b", "reference": "benign naevus", "candidate": "melanoma"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    histoeval.score(RECORDS, metrics="rouge_1,chrf", output=tmp_path / "scored")
    return tmp_path / "scored"


def test_every_metric_comes_with_its_scores_and_what_they_mean(folder: Path) -> None:
    found = read_scored(folder)
    assert list(found) == ["rouge_1", "chrf"]
    assert found["rouge_1"].values == {("a", "candidate"): 1.0, ("b", "candidate"): 0.0}
    assert found["rouge_1"].range == (0.0, 1.0)
    assert found["rouge_1"].higher_is_better
    assert found["chrf"].signature.startswith("chrf|")


def test_a_file_and_its_folder_are_the_same(folder: Path) -> None:
    assert read_scored(folder) == read_scored(folder / "scores.jsonl")


def test_without_a_summary_there_are_scores_and_no_signature(folder: Path) -> None:
    (folder / "summary.json").unlink()
    assert read_summary(folder) == {}
    found = read_scored(folder)["rouge_1"]
    assert (found.signature, found.range, len(found.values)) == ("", None, 2)


def test_rows_of_another_tool_need_id_system_row_and_values(tmp_path: Path) -> None:
    file = tmp_path / "judge.jsonl"
    file.write_text('{"id":"a","system":"m","row":1,"scores":{"judge":{"value":4}}}\n', "utf-8")
    assert read_scored(file)["judge"].values == {("a", "m"): 4.0}


@pytest.mark.parametrize(("content", "told"), [("", "has no rows"), ("[]\n", "line 1 of")])
def test_what_holds_no_scores_is_refused(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_text(content, "utf-8")
    with pytest.raises(InputError, match=told):
        read_scored(file)
    with pytest.raises(InputError, match="does not exist"):
        read_scored(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no scores; give a folder of `histoeval score`"):
        read_scored(tmp_path)
