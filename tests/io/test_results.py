"""Result folders: what is written is read back, and what others wrote is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval import OutputError, Problem, Score, Signature
from histoeval.io.results import MetricResult, ResultFolder, ResultRow, write_json, write_rows

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


@pytest.fixture
def folder(tmp_path: Path) -> ResultFolder:
    """A folder with three finished rows."""
    made = ResultFolder(tmp_path / "results")
    made.prepare(RUN)
    with made.append() as file:
        write_rows(file, map(make_row, (1, 2, 3)))
    return made


def contents(folder: ResultFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.path.iterdir()}


@given(st.lists(rows, max_size=3))
def test_rows_come_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, written: list[ResultRow]
) -> None:
    folder = ResultFolder(tmp_path_factory.mktemp("results"))
    with folder.append() as file:
        write_rows(file, written)
    read = list(folder.finished())
    assert [repr(row) for row in read] == [repr(row) for row in written]


def test_a_row_is_one_line_of_json_with_nothing_left_out(folder: ResultFolder) -> None:
    line = folder.scores.read_bytes().splitlines()[0]
    assert json.loads(line) == {
        "id": "case 1",
        "system": "candidate",
        "row": 1,
        "scores": {
            "bleu": {
                "value": 1 / 7,
                "parts": {"precision_1": 0.1},
                "evidence": {},
                "counts": [],
            }
        },
        "errors": [],
    }


def test_what_is_kept_of_a_score_is_all_but_its_signature() -> None:
    score = Score(
        value=0.5,
        parts={"precision": 1.0},
        evidence={"matched": ["carcinoma"]},
        counts=(1, 2),
        signature=Signature(metric="mine"),
    )
    expected = score.model_dump(exclude={"signature"})
    assert MetricResult.of(score).model_dump() == expected


def test_a_new_folder_and_those_above_it_are_made(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path / "a" / "b")
    folder.prepare(RUN)
    assert json.loads((folder.path / "run.json").read_bytes()) == RUN
    assert list(folder.finished()) == []


def test_the_same_run_goes_on_after_what_is_there(folder: ResultFolder) -> None:
    folder.prepare(RUN)
    with folder.append() as file:
        write_rows(file, [make_row(4)])
    assert list(folder.finished()) == [make_row(number) for number in (1, 2, 3, 4)]


@pytest.mark.parametrize("cut", [1, 2, 30, 100])
def test_half_a_line_is_dropped(folder: ResultFolder, cut: int) -> None:
    whole = folder.scores.read_bytes()
    folder.scores.write_bytes(whole[:-cut])
    folder.prepare(RUN)
    assert list(folder.finished()) == [make_row(1), make_row(2)]
    assert whole.startswith(folder.scores.read_bytes())


def test_half_a_line_longer_than_the_piece_that_is_read_back_is_dropped(
    folder: ResultFolder,
) -> None:
    whole = folder.scores.read_bytes()
    folder.scores.write_bytes(whole + b"x" * 200_000)
    folder.prepare(RUN)
    assert folder.scores.read_bytes() == whole


def test_a_file_of_nothing_but_half_a_line_starts_anew(folder: ResultFolder) -> None:
    folder.scores.write_bytes(b'{"id": "cas')
    folder.prepare(RUN)
    assert folder.scores.read_bytes() == b""


def test_another_run_is_refused_by_what_differs_and_left_as_it_is(folder: ResultFolder) -> None:
    before = contents(folder)
    with pytest.raises(OutputError, match=r"different: input, sha256\).*--overwrite"):
        folder.prepare(RUN | {"input": "other.csv", "sha256": "1"})
    assert contents(folder) == before


def test_another_run_may_replace_it_when_told_to(folder: ResultFolder) -> None:
    folder.finish({"rows": 3})
    (folder.path / "notes.txt").write_text("mine")
    folder.prepare({"input": "other.csv"}, overwrite=True)
    assert list(folder.finished()) == []
    assert sorted(contents(folder)) == ["notes.txt", "run.json"]


@pytest.mark.parametrize("content", ["", "[1]", "no json", None])
def test_results_that_do_not_say_what_made_them_are_refused(
    folder: ResultFolder, content: str | None
) -> None:
    run = folder.path / "run.json"
    run.unlink()
    if content is not None:
        run.write_text(content)
    before = contents(folder)
    with pytest.raises(OutputError, match="do not say what made them"):
        folder.prepare(RUN)
    assert contents(folder) == before


def test_a_line_that_is_no_row_is_named(folder: ResultFolder) -> None:
    lines = folder.scores.read_bytes().splitlines(keepends=True)
    folder.scores.write_bytes(lines[0] + b'{"id": 1}\n' + lines[2])
    folder.prepare(RUN)
    with pytest.raises(OutputError, match=r"line 2 of .*scores\.jsonl is not a row"):
        list(folder.finished())


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("below", ["", "sub", "sub/sub"])
def test_a_file_is_not_a_folder(tmp_path: Path, below: str, overwrite: bool) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    with pytest.raises(OutputError, match="file"):
        ResultFolder(file / below).prepare(RUN, overwrite=overwrite)
    assert file.read_text() == "precious"


def test_a_folder_in_the_place_of_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "scores.jsonl").mkdir()
    with pytest.raises(OutputError, match=r"cannot use .* for results"):
        ResultFolder(tmp_path).prepare(RUN, overwrite=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk always full")
def test_a_full_disk_is_said(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path)
    folder.prepare(RUN)
    folder.scores.symlink_to("/dev/full")
    with pytest.raises(OutputError, match="No space left"), folder.append() as file:
        write_rows(file, [make_row(1)])
    (tmp_path / "summary.part").symlink_to("/dev/full")
    with pytest.raises(OutputError, match="No space left"):
        folder.finish({})


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
    ResultFolder(tmp_path).prepare(content)
