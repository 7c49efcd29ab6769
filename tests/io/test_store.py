"""The store of rows: what is written is read back, and what others wrote is left alone."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval import OutputError, Problem, Score, Signature
from histoeval.io.results import MetricResult, ResultFolder, ResultRow
from histoeval.io.store import RowStore
from histoeval.io.writing import write_json

RUN = {"input": "pairs.csv", "metrics": {"bleu": "bleu|order:4"}}
finite = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]))
problems = st.builds(
    Problem, code=texts, message=texts, column=st.none() | texts, metric=st.none() | texts
)
results = st.builds(
    MetricResult,
    value=finite,
    parts=st.dictionaries(texts, finite, max_size=3),
    evidence=st.dictionaries(texts, texts | finite | st.lists(texts), max_size=2),
    counts=st.lists(finite, max_size=3).map(tuple),
)
rows = st.builds(
    ResultRow,
    id=texts,
    system=st.none() | texts,
    row=st.integers(1, 10**9),
    scores=st.dictionaries(texts, results, max_size=2),
    errors=st.lists(problems, max_size=2).map(tuple),
)


def make_row(number: int) -> ResultRow:
    scores = {"bleu": MetricResult(value=number / 7, parts={"precision_1": 0.1})}
    return ResultRow(id=f"case {number}", system="candidate", row=number, scores=scores)


def file_store(path: Path) -> RowStore[ResultRow]:
    return RowStore(path, ResultRow.model_validate_json)


@pytest.fixture(params=["folder", "file"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> RowStore[ResultRow]:
    """A folder or a file with three finished rows."""
    made: RowStore[ResultRow] = ResultFolder(tmp_path / "results")
    if request.param == "file":
        made = file_store(tmp_path / "results" / "out.jsonl")
    with made.opened(RUN):
        made.write(map(make_row, (1, 2, 3)))
    return made


@pytest.fixture
def folder(tmp_path: Path) -> ResultFolder:
    made = ResultFolder(tmp_path / "results")
    with made.opened(RUN):
        made.write(map(make_row, (1, 2, 3)))
    return made


def prepare(
    folder: RowStore[ResultRow], run: Mapping[str, Any], *, overwrite: bool = False
) -> None:
    with folder.opened(run, overwrite=overwrite):
        pass


def contents(store: RowStore[ResultRow]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.path.parent.iterdir()}


@given(st.lists(rows, max_size=3))
def test_rows_come_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, written: list[ResultRow]
) -> None:
    folder = ResultFolder(tmp_path_factory.mktemp("results"))
    with folder.opened(RUN):
        folder.write(written)
    read = list(folder)
    assert [repr(row) for row in read] == [repr(row) for row in written]


def test_a_row_is_one_line_of_json_with_nothing_left_out(folder: ResultFolder) -> None:
    line = folder.path.read_bytes().splitlines()[0]
    assert json.loads(line) == {
        "id": "case 1",
        "system": "candidate",
        "row": 1,
        "scores": {
            "bleu": {"value": 1 / 7, "parts": {"precision_1": 0.1}, "evidence": {}, "counts": []}
        },
        "errors": [],
    }


def test_what_is_kept_of_a_score_is_all_but_its_signature_and_texts() -> None:
    score = Score(
        value=0.5,
        parts={"precision": 1.0},
        evidence={"matched": ["carcinoma"]},
        counts=(1, 2),
        signature=Signature(metric="mine"),
    )
    expected = score.model_dump(exclude={"signature", "pair"})
    assert MetricResult.of(score).model_dump() == expected


def test_folders_that_are_missing_are_made(tmp_path: Path) -> None:
    for store in (ResultFolder(tmp_path / "a" / "b"), file_store(tmp_path / "c" / "d" / "e.jsonl")):
        prepare(store, RUN)
        assert list(store) == []
    assert json.loads((tmp_path / "a" / "b" / "run.json").read_bytes()) == RUN


def test_the_same_run_goes_on_after_what_is_there(store: RowStore[ResultRow]) -> None:
    with store.opened(RUN):
        store.write([make_row(4)])
    assert list(store) == [make_row(number) for number in (1, 2, 3, 4)]


@pytest.mark.parametrize("cut", [1, 2, 30, 100])
def test_half_a_line_is_dropped(store: RowStore[ResultRow], cut: int) -> None:
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:-cut])
    prepare(store, RUN)
    assert list(store) == [make_row(1), make_row(2)]
    assert whole.startswith(store.path.read_bytes())


@pytest.mark.parametrize(("kept", "half"), [(True, b"x" * 200_000), (False, b'{"id": "cas')])
def test_half_a_line_of_any_length(folder: ResultFolder, kept: bool, half: bytes) -> None:
    whole = folder.path.read_bytes() if kept else b""
    folder.path.write_bytes(whole + half)
    prepare(folder, RUN)
    assert folder.path.read_bytes() == whole


def test_another_run_is_refused_by_what_differs(store: RowStore[ResultRow]) -> None:
    before = contents(store)
    with pytest.raises(OutputError, match=r"different: input, sha256\).*--overwrite"):
        prepare(store, RUN | {"input": "other.csv", "sha256": "1"})
    assert contents(store) == before


def test_a_run_that_ended_before_its_first_row_is_no_results(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path / "results")
    prepare(folder, {**RUN, "metrics": {"judge": "of a server that was not there"}})
    prepare(folder, RUN)


def test_another_run_may_replace_it_when_told_to(folder: ResultFolder) -> None:
    folder.finish({"rows": 3})
    (folder.home / "notes.txt").write_text("mine")
    prepare(folder, {"input": "other.csv"}, overwrite=True)
    assert list(folder) == []
    assert sorted(contents(folder)) == ["notes.txt", "run.json", "scores.jsonl"]


@pytest.mark.parametrize("content", ["", "[1]", "no json", None])
def test_results_of_unknown_origin(store: RowStore[ResultRow], content: str | None) -> None:
    store.meta.unlink()
    if content is not None:
        store.meta.write_text(content)
    before = contents(store)
    with pytest.raises(OutputError, match="do not say what made them"):
        prepare(store, RUN)
    assert contents(store) == before


def test_where_the_rows_are_gone_what_is_said_of_them_is_replaced(tmp_path: Path) -> None:
    store = file_store(tmp_path / "out.jsonl")
    with store.opened(RUN):
        store.write([make_row(1)])
    store.path.unlink()
    prepare(store, {"input": "other.csv"})
    assert json.loads(store.meta.read_bytes())["run"] == {"input": "other.csv"}


def test_an_output_is_a_file_of_a_form_that_is_known(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"must end in \.jsonl"):
        file_store(tmp_path / "out.csv")
    (tmp_path / "out.jsonl").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        prepare(file_store(tmp_path / "out.jsonl"), RUN)


def test_a_line_that_is_no_row_is_named(folder: ResultFolder) -> None:
    lines = folder.path.read_bytes().splitlines(keepends=True)
    folder.path.write_bytes(lines[0] + b'{"id": 1}\n' + lines[2])
    prepare(folder, RUN)
    with pytest.raises(OutputError, match=r"line 2 of .*scores\.jsonl is not a row"):
        list(folder)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("below", ["", "sub", "sub/sub"])
def test_a_file_is_not_a_folder(tmp_path: Path, below: str, overwrite: bool) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    with pytest.raises(OutputError, match="file"):
        prepare(ResultFolder(file / below), RUN, overwrite=overwrite)
    assert file.read_text() == "precious"


def test_a_folder_in_the_place_of_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "scores.jsonl").mkdir()
    with pytest.raises(OutputError, match=r"cannot use .* for results"):
        prepare(ResultFolder(tmp_path), RUN, overwrite=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk always full")
def test_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ResultFolder(tmp_path)
    folder.path.symlink_to("/dev/full")
    with (
        folder.opened(RUN),
        pytest.raises(OutputError, match=r"No space left.*make room, then run the same command"),
    ):
        folder.write([make_row(1)])
    folder.path.unlink()
    with Path("/dev/full").open("wb") as full:
        monkeypatch.setattr(os, "fdopen", lambda *_: full)
        with pytest.raises(OutputError, match="No space left"):
            folder.finish({"all": "x" * 10_000})
    assert not (tmp_path / "summary.json.part").exists()


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_after_a_write_that_failed_half_way_whole_rows_are_there_and_the_run_resumes(
    folder: ResultFolder, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    real = os.write
    room = [len(make_row(4).line()) + 10]

    def write(file: int, data: memoryview) -> int:
        if not room[0]:
            raise OSError(reason, os.strerror(reason))
        written = real(file, data[: room[0]])
        room[0] -= written
        return written

    with folder.opened(RUN):
        monkeypatch.setattr("histoeval.io.store.os.write", write)
        with pytest.raises(OutputError, match=os.strerror(reason)):
            folder.write([make_row(4), make_row(5)])
        monkeypatch.undo()
    assert list(folder) == [make_row(number) for number in (1, 2, 3, 4)]
    with folder.opened(RUN):
        folder.write([make_row(5)])
    assert list(folder) == [make_row(number) for number in (1, 2, 3, 4, 5)]


LIMITED = """
import resource, sys
from pathlib import Path
from histoeval.errors import OutputError
from histoeval.io.results import ResultFolder, ResultRow

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
folder = ResultFolder(Path(sys.argv[1]))
try:
    with folder.opened({}):
        for number in range(len(list(folder)), 1000):
            folder.write([ResultRow(id=f"case {number}", system="s", row=number)])
except OutputError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_a_file_that_may_not_grow_keeps_its_rows(tmp_path: Path) -> None:
    def run(limit: int) -> str:
        command = [sys.executable, "-c", LIMITED, str(tmp_path), str(limit)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "File too large; finished rows are kept: make room" in run(10_000)
    kept = [row.id for row in ResultFolder(tmp_path)]
    assert kept == [f"case {number}" for number in range(len(kept))]
    assert 50 < len(kept) < 1000
    assert run(10**9) == ""
    assert [row.row for row in ResultFolder(tmp_path)] == list(range(1000))


def test_an_error_of_the_work_is_not_blamed_on_the_output(folder: ResultFolder) -> None:
    with pytest.raises(OSError, match="the input is gone") as caught, folder.opened(RUN):
        raise OSError(errno.EIO, "the input is gone")
    assert not isinstance(caught.value, OutputError)


def test_a_second_writer_is_refused(store: RowStore[ResultRow], tmp_path: Path) -> None:
    again = ResultFolder(store.home) if store.is_folder else file_store(store.home)
    held = rf"written by another run \(process {os.getpid()} "
    with store.opened(RUN):
        for overwrite in (False, True):
            with pytest.raises(OutputError, match=held), again.opened(RUN, overwrite=overwrite):
                pytest.fail("two runs hold one store")
    prepare(again, RUN)
    assert not [path.name for path in tmp_path.rglob("*lock")]


HOLDING = """
import sys, time
from pathlib import Path
from histoeval.io.results import ResultFolder

with ResultFolder(Path(sys.argv[1])).opened({"input": "pairs.csv"}):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_lock_of_a_killed_process_is_free_again(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDING, str(tmp_path)]
    folder, run = ResultFolder(tmp_path), {"input": "pairs.csv"}
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(OutputError, match=rf"process {process.pid} on .*another --output"):
            prepare(folder, run)
        process.kill()
    prepare(folder, run)


def test_json_that_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_json(path, {"rows": 1})
    with pytest.raises(TypeError):
        write_json(path, {"rows": object()})
    assert json.loads(path.read_text()) == {"rows": 1}


@pytest.mark.parametrize("name", ["befund_größe_日本.csv", "caf\udce9.csv"])
def test_any_name_of_a_file_can_be_written_and_read_back(tmp_path: Path, name: str) -> None:
    content: dict[str, Any] = {"input": name}
    write_json(tmp_path / "run.json", content)
    assert json.loads((tmp_path / "run.json").read_text("utf-8")) == content
    prepare(ResultFolder(tmp_path), content)
