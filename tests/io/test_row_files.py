"""Rows come back from each form as the very lines they were, and packing them is safe to kill."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import histoeval
from histoeval import InputError, OutputError, SettingError
from histoeval.io import row_files, store
from histoeval.io.finished_run import read_texts
from histoeval.io.results import MetricResult, ReadRow, ResultFolder, ResultRow, read_rows
from histoeval.io.row_files import FORMS, pack, row_lines, stored_as
from histoeval.io.store import RowStore
from histoeval.io.writing import write_json
from histoeval.run.compare.compare import compare
from histoeval.run.results import Scores
from histoeval.web.run_index import RunIndex
from tests.io.test_store import make_row, rows

RUN = {"input": "pairs.csv"}
PACKED = ("jsonl.gz", "parquet")
PAIRS = [
    {"id": "a", "reference": "Left breast: carcinoma.", "one": "Left breast.", "two": "Benign."},
    {"id": "b", "reference": "Colon: adenoma.", "one": "", "two": "Colon: adenoma."},
]


def scored(folder: Path, form: str | None = None, **more: Any) -> Scores:
    return histoeval.score(
        PAIRS, metrics="bleu,rouge_l", candidate=["one", "two"], output=folder, format=form, **more
    )


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@given(st.lists(rows, max_size=3))
def test_lines_of_scores_come_back_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, written: list[ResultRow]
) -> None:
    plain = tmp_path_factory.mktemp("rows") / "scores.jsonl"
    plain.write_bytes(b"".join(row.line() for row in written))
    for form in PACKED:
        packed = plain.with_name(f"scores.{form}")
        pack(plain, packed)
        assert b"".join(row_lines(packed)) == plain.read_bytes()


def test_row_groups_come_back_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "ROW_GROUP", 4)
    plain, packed = tmp_path / "scores.jsonl", tmp_path / "scores.parquet"
    plain.write_bytes(b"".join(make_row(number).line() for number in range(11)))
    pack(plain, packed)
    assert b"".join(row_lines(packed)) == plain.read_bytes()


def test_columns_of_parquet_have_the_numbers_and_json_for_the_rest(tmp_path: Path) -> None:
    scored(tmp_path / "plain")
    scored(tmp_path / "run", "parquet")
    frame = polars.read_parquet(tmp_path / "run" / "scores.parquet")
    lines = (tmp_path / "plain" / "scores.jsonl").read_text("utf-8").splitlines()
    stored = [json.loads(line) for line in lines]
    assert frame.columns[:5] == ["id", "system", "row", "bleu", "bleu.precision_1"]
    assert frame["row"].to_list() == [1, 1, 2, 2]
    found = [row["scores"].get("bleu", {}).get("value") for row in stored]
    assert frame["bleu"].to_list() == found
    assert frame["bleu"].dtype == frame["rouge_l.recall"].dtype == polars.Float64
    assert json.loads(frame["errors"][2]) == stored[2]["errors"]
    assert frame["errors"][0] is None


def test_a_metric_may_be_called_as_a_column_is(tmp_path: Path) -> None:
    scores = {
        "id": MetricResult(value=0.1, parts={"evidence": 0.2}, evidence={"a": [1, {}]}),
        "id.evidence": MetricResult(value=0.3, counts=(1.0, 2.0)),
        "layout": MetricResult(value=0.4),
    }
    row = ResultRow(id="x", system=None, row=1, scores=scores)
    (tmp_path / "scores.jsonl").write_bytes(row.line())
    pack(tmp_path / "scores.jsonl", tmp_path / "scores.parquet")
    assert [*read_rows(tmp_path / "scores.parquet")] == [row]


@pytest.mark.parametrize("form", PACKED)
def test_the_same_rows_make_the_same_bytes(form: str, tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        scored(tmp_path / name, form)
        written.append(
            {each: (tmp_path / name / each).read_bytes() for each in names(tmp_path / name)}
        )
    assert written[0] == written[1]
    assert sorted(written[0]) == ["run.json", f"scores.{form}", "summary.json", "texts.jsonl.gz"]


def test_gz_is_the_plain_file_compressed_without_name_and_time(tmp_path: Path) -> None:
    scored(tmp_path / "plain")
    scored(tmp_path / "run", "jsonl.gz")
    for name in ("scores.jsonl", "texts.jsonl"):
        packed = (tmp_path / "run" / f"{name}.gz").read_bytes()
        assert gzip.decompress(packed) == (tmp_path / "plain" / name).read_bytes()
        assert packed[3:8] == bytes(5)  # no name, no time


@pytest.mark.parametrize("form", PACKED)
def test_every_reader_takes_every_form(form: str, tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain" / "run", tmp_path / form / "run"
    expected, found = scored(plain), scored(packed, form)
    assert found.to_dicts() == expected.to_dicts()
    assert found["b", "two"] == expected["b", "two"]
    assert found.summary == expected.summary
    assert [*read_rows(packed)] == [*read_rows(packed / f"scores.{form}")] == [*expected]
    for to in ("html", "csv", "json", "md"):
        reports = [histoeval.write_report(run, to=to).read_bytes() for run in (plain, packed)]
        assert reports[0] == reports[1]
    assert histoeval.write_report(packed / f"scores.{form}").parent == packed
    few: dict[str, Any] = {"metric": "rouge_l", "resamples": 100, "permutations": 20}
    assert compare(packed, **few).to_dicts() == compare(plain, **few).to_dicts()
    assert [*read_texts(packed)] == [*read_texts(plain)]
    (run,) = RunIndex(packed.parent).runs()
    assert (run.kind, run.finished) == ("score", True)


@pytest.mark.parametrize("form", [None, *FORMS])
@pytest.mark.parametrize("before", FORMS)
def test_a_finished_folder_changes_its_form(before: str, form: str | None, tmp_path: Path) -> None:
    plain = scored(tmp_path / "plain").rows
    scored(tmp_path / "run", before)
    assert [*scored(tmp_path / "run", form).rows] == [*plain]
    now = form or before
    texts = "texts.jsonl" if now == "jsonl" else "texts.jsonl.gz"
    assert names(tmp_path / "run") == ["run.json", f"scores.{now}", "summary.json", texts]


STOPS = ("before the file is there", "before the plain file is gone", "before the summary")


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("form", PACKED)
def test_a_run_that_is_stopped_while_it_packs_is_finished_by_the_same_command(
    form: str, stop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise Killed

    scored(tmp_path / "whole", form)
    with monkeypatch.context() as patched:
        where = dict(zip(STOPS, ("pack", "remove", "write_json"), strict=True))[stop]
        real = write_json
        if where == "write_json":
            patched.setattr(
                store,
                where,
                lambda path, *a: (killed if path.stem == "summary" else real)(path, *a),
            )
        else:
            patched.setattr(store, where, killed)
        with pytest.raises(Killed):
            scored(tmp_path / "run", form)
    assert "summary.json" not in names(tmp_path / "run")
    scored(tmp_path / "run", form)
    for name in names(tmp_path / "whole"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert names(tmp_path / "run") == names(tmp_path / "whole")


@pytest.mark.parametrize("form", PACKED)
def test_packed_rows_that_are_too_few_are_unpacked_to_go_on(form: str, tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path, form)
    with folder.opened(RUN):
        folder.write([make_row(1)])
        folder.finish({})
    with folder.opened(RUN):
        folder.write([make_row(2)])
        assert [*folder] == [make_row(1), make_row(2)]
        folder.finish({})
    assert [*folder] == [make_row(1), make_row(2)]
    assert names(tmp_path) == ["run.json", f"scores.{form}", "summary.json"]


@pytest.mark.parametrize("ending", PACKED)
def test_what_extract_writes_is_packed_by_its_ending(ending: str, tmp_path: Path) -> None:
    reports = ["Left breast: invasive carcinoma, 2.5 cm.", "", "Colon: no malignancy."]
    plain, packed = tmp_path / "out.jsonl", tmp_path / f"packed.{ending}"
    expected = histoeval.extract(reports, output=plain)
    found = histoeval.extract(reports, output=packed)
    assert [*found] == [*expected] == [*RowStore(packed, ReadRow.of_line)]
    assert b"".join(row_lines(packed)) == plain.read_bytes()
    files = [plain.name, packed.name]
    assert names(tmp_path) == sorted([*files, *(f"{name}.meta.json" for name in files)])
    page = histoeval.write_report(packed)
    assert page.name == "packed.report.html"
    assert [*histoeval.extract(reports, output=packed)] == [*expected]
    with pytest.raises(OutputError, match="another run"):
        histoeval.extract(reports[:2], output=packed)


@pytest.mark.parametrize("form", PACKED)
def test_a_damaged_file_is_named(form: str, tmp_path: Path) -> None:
    scored(tmp_path / "run", form)
    file = tmp_path / "run" / f"scores.{form}"
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(InputError, match=rf"scores\.{form} is not a row of results"):
        [*read_rows(tmp_path / "run")]
    with pytest.raises(InputError, match="damaged"):
        histoeval.write_report(tmp_path / "run")


def test_parquet_of_another_program_is_no_file_of_results(tmp_path: Path) -> None:
    polars.DataFrame({"id": ["a"]}).write_parquet(tmp_path / "scores.parquet")
    with pytest.raises(InputError, match="not a row of results"):
        [*read_rows(tmp_path / "scores.parquet")]
    with pytest.raises(OutputError, match="do not say what made them"):
        scored(tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"output": "out", "format": "xml"}, "'xml'; choose one of jsonl, jsonl.gz, parquet"),
        ({"format": "parquet"}, "needs a folder"),
    ],
)
def test_what_cannot_be_is_refused_first(
    settings: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingError, match=message):
        histoeval.score(["a"], ["b"], metrics="bleu", **settings)
    assert not names(tmp_path)


LIMITED = """
import resource, sys
from pathlib import Path
from histoeval.errors import OutputError
from histoeval.io.results import ResultFolder

resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
folder = ResultFolder(Path(sys.argv[1]), sys.argv[2])
try:
    with folder.opened({"input": "pairs.csv"}):
        folder.finish({})
except OutputError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
@pytest.mark.parametrize("form", PACKED)
def test_a_disk_that_is_full_while_rows_are_packed_costs_nothing(form: str, tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path, form)

    def noise() -> Iterator[ResultRow]:
        for number in range(1, 200):
            yield ResultRow(id=f"{hash(str(number))}", system="s", row=number)

    with folder.opened(RUN):
        folder.write(noise())
    command = [sys.executable, "-c", LIMITED, str(tmp_path), form]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "File too large; finished rows are kept: make room" in told
    assert stored_as(folder.path) == folder.path
    assert names(tmp_path) == ["run.json", "scores.jsonl"]
    with folder.opened(RUN):
        folder.finish({})
    assert [row.row for row in folder] == list(range(1, 200))
