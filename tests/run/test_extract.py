"""Reading a file of reports: every text has its row, and a stopped run goes on."""

import json
import shutil
from collections.abc import Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval import OutputError, Report, SettingError
from histoeval.api import extract as read_reports
from histoeval.errors import InputError
from histoeval.io.reports import open_reports
from histoeval.io.results import ReadRow
from histoeval.io.store import RowStore
from histoeval.reader.builtin import BuiltinReader
from histoeval.run.extract import ExtractJob, first_rows
from histoeval.run.models import Models, load_reader
from histoeval.run.pipeline import RunResult
from histoeval.run.settings import ExtractSettings
from tests.support.word_reader import WordReader

TEXTS = [
    "Invasive carcinoma of the breast.",
    'HER2 negative, "no invasion".',
    "😀 possible sarcoma\nin two lines, naïve",
    "Nothing to see.",
]
RECORDS = [{"id": f"case {n}", "text": text} for n, text in enumerate(TEXTS)]


def write_lines(path: Path, records: Sequence[object] = RECORDS) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return path


def run(
    file: Path, output: Path, reader: WordReader | None = None, **options: Any
) -> RunResult[ReadRow]:
    settings = {name: options.pop(name) for name in ("batch_size", "language") if name in options}
    job = ExtractJob(open_reports(file), reader or WordReader(), **settings)
    return job.run(RowStore(output, ReadRow.of_line), **options)


def rows_of(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.read_text("utf-8").split("\n") if line]


def names(row: dict[str, Any]) -> list[str]:
    return [entity["text"] for entity in row["entities"]]


def test_a_row_has_these_fields_and_no_others(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    run(write_lines(tmp_path / "in.jsonl", [RECORDS[0]]), output)
    said = {"assertion": "present", "score": 0.9}
    assert rows_of(output) == [
        {
            "id": "case 0",
            "text": "Invasive carcinoma of the breast.",
            "entities": [
                {"text": "carcinoma", "start": 9, "end": 18, "type": "diagnosis", **said},
                {"text": "breast", "start": 26, "end": 32, "type": "site", **said},
            ],
            "relations": [{"head": 0, "tail": 1, "score": 0.97}],
        }
    ]


def test_bad_rows_keep_their_place_and_the_others_are_read(tmp_path: Path) -> None:
    file, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    good = {"id": "a", "text": "carcinoma"}
    bad = [{"id": "b"}, {"id": "c", "text": " "}, {"id": "d", "text": 7}, good, {"text": "x"}, [1]]
    write_lines(file, [good, *bad])
    file.write_bytes(file.read_bytes() + b'{"id": "h", "te\n{"id": "i", "text": "sarcoma"}\n')
    summary = run(file, output, batch_size=2).summary
    rows = rows_of(output)
    assert [row.get("row") for row in rows] == [None, 2, 3, 4, 5, 6, 7, 8, None]
    assert [row["errors"][0]["code"] for row in rows if "errors" in row] == [
        "missing_value",
        "empty_text",
        "not_text",
        "duplicate_id",
        "missing_id",
        "not_an_object",
        "broken_json",
    ]
    assert set(rows[1]) == {"id", "row", "errors"}
    assert set(rows[1]["errors"][0]) == {"code", "message", "column"}
    assert (summary["rows"], summary["rows_with_errors"]) == (9, 7)
    assert summary["errors"]["empty_text"]["count"] == 1
    assert names(rows[0]) == ["carcinoma"]
    assert names(rows[8]) == ["sarcoma"]


def test_a_text_that_the_reader_stumbles_over_costs_no_other(tmp_path: Path) -> None:
    output, reader = tmp_path / "out.jsonl", WordReader(stumbles_over="two lines")
    summary = run(write_lines(tmp_path / "in.jsonl"), output, reader).summary
    rows = rows_of(output)
    assert [row["id"] for row in rows if "entities" in row] == ["case 0", "case 1", "case 3"]
    assert rows[2] == {
        "id": "case 2",
        "row": 3,
        "errors": [
            {
                "code": "reader_failed",
                "message": "ZeroDivisionError: stumbled over 'two lines'",
                "column": None,
            }
        ],
    }
    assert summary["rows_with_errors"] == 1


@pytest.mark.parametrize("answer", [[], [Report(text="another")], ["text"]])
def test_a_wrong_answer_of_a_reader_is_not_believed(answer: list[Any], tmp_path: Path) -> None:
    class Liar(WordReader):
        def read(self, texts: Sequence[str]) -> list[Report]:
            return answer

    file = write_lines(tmp_path / "in.jsonl")
    rows = first_rows(ExtractSettings(file, models=Models(reader=Liar())), 2)
    assert [row.errors[0].code for row in rows] == ["reader_failed"] * 2


def test_the_summary_counts_what_was_found(tmp_path: Path) -> None:
    extraction = run(write_lines(tmp_path / "in.jsonl"), tmp_path / "out.jsonl")
    types = {"diagnosis": 2, "site": 1, "finding": 1, "marker": 1, "result": 1}
    assert extraction.summary["entities"] == types
    assert extraction.summary["relations"] == {"diagnosis-site": 1, "marker-result": 1}
    meta = json.loads((tmp_path / "out.jsonl.meta.json").read_bytes())
    assert meta["finished"] is True
    assert meta["summary"] == extraction.summary
    assert meta["run"]["reader"] == "words@1"
    assert meta["run"]["columns"] == {"text": "text", "id": "id"}


def test_a_run_that_was_cut_anywhere_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    file, output = write_lines(tmp_path / "in.jsonl", [*RECORDS, {"id": "x"}]), tmp_path / "o.jsonl"
    run(file, output)
    whole, meta = output.read_bytes(), Path(f"{output}.meta.json")
    said = meta.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in range(len(whole) - len(lines[-1]) - len(lines[-2]), len(whole) + 1):
        output.write_bytes(whole[:cut])
        reader = WordReader()
        extraction = run(file, output, reader)
        assert output.read_bytes() == whole
        assert meta.read_bytes() == said
        kept = whole[:cut].count(b"\n")
        assert extraction.rows_done == len(lines) - kept
        assert list(chain(*reader.asked)) == TEXTS[kept:]


@pytest.mark.parametrize(
    ("place", "line", "said"),
    [
        (1, b"no json\n", "line 2 of .* is not a row"),
        (1, b'{"id": "case 1"}\n', "line 2 of .* is not a row"),
        (1, b"[]\n", "line 2 of .* is not a row"),
        (1, b'{"id": "case 9", "text": "x"}\n', "case 9 of .* is not what the input has there"),
        (1, b'{"id": "case 1", "text": "x"}\n', "case 1 of .* is not what the input has there"),
        (4, b'{"id": "case 4", "text": "x"}\n', "case 4 of .* is not what the input has there"),
    ],
)
def test_rows_of_another_input(place: int, line: bytes, said: str, tmp_path: Path) -> None:
    file, output = write_lines(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    run(file, output)
    lines = output.read_bytes().splitlines(keepends=True)
    lines[place : place + 1] = [line]
    output.write_bytes(b"".join(lines))
    with pytest.raises(OutputError, match=said):
        run(file, output)


def test_the_input_is_never_written_over(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "in.jsonl")
    (tmp_path / "link.jsonl").symlink_to(file)
    before = file.read_bytes()
    for output in (file, tmp_path / "link.jsonl"):
        with pytest.raises(OutputError, match="is an input of this run"):
            run(file, output, overwrite=True)
    assert file.read_bytes() == before


def test_a_report_in_another_language_is_an_error_of_its_row_unless_asked(tmp_path: Path) -> None:
    file = write_lines(
        tmp_path / "in.jsonl", [{"id": "de", "text": "Haut: Basalzellkarzinom, knotig"}, *RECORDS]
    )
    refused = run(file, tmp_path / "out.jsonl")
    (row, *_) = rows_of(tmp_path / "out.jsonl")
    assert [error["code"] for error in row["errors"]] == ["not_english"]
    assert refused.summary["rows_with_errors"] == 1
    with pytest.raises(OutputError):
        run(file, tmp_path / "out.jsonl", language="any")
    read = run(file, tmp_path / "any.jsonl", language="any")
    assert read.summary["rows_with_errors"] == 0


encodable = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(st.lists(encodable | st.none() | st.just("no carcinoma of the breast"), min_size=1))
def test_whatever_is_written_comes_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str | None]
) -> None:
    output = tmp_path_factory.mktemp("out") / "out.jsonl"
    models = Models(reader=WordReader())
    written = read_reports([{"text": text} for text in texts], models=models, output=output)
    in_memory = read_reports([{"text": text} for text in texts], models=models)
    assert list(written) == list(in_memory)
    assert len(written) == len(texts)


def test_python_reads_frames_columns_of_frames_and_files(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    models = Models(reader=WordReader())
    expected = list(read_reports(RECORDS, models=models))
    frame, file = polars.DataFrame(RECORDS), tmp_path / "reports.parquet"
    frame.write_parquet(file)
    for data in (frame, frame.lazy(), pandas.DataFrame(RECORDS), file):
        assert list(read_reports(data, models=models)) == expected
    for column in (frame["text"], pandas.Series([*TEXTS[:3], None])):
        reports = read_reports(column, models=models).reports
        assert reports[:3] == [row.report for row in expected[:3]]
    assert reports[3] is None


def test_a_text_that_is_no_list_of_texts_is_refused() -> None:
    with pytest.raises(SettingError, match="a list of texts"):
        read_reports(7, models=Models(reader=WordReader()))


@pytest.mark.parametrize("name", [None, "builtin"])
def test_the_builtin_reader_is_used_unless_another_is_named(name: str | None) -> None:
    assert load_reader(Models(reader=name)).identity == BuiltinReader().identity
    with pytest.raises(SettingError, match="--relations and --labels go with a Hugging Face"):
        load_reader(Models(reader=name, labels={"Tumour": "diagnosis"}))


def test_a_folder_with_a_reader_of_our_making_is_read_by_the_builtin_one(tmp_path: Path) -> None:
    shipped = Path(str(files("histoeval") / "models" / "reader"))
    folder = Path(shutil.copytree(shipped, tmp_path / "mine"))
    manifest = json.loads((folder / "reader.json").read_text("utf-8"))
    (folder / "reader.json").write_text(json.dumps(manifest | {"name": "mine"}), "utf-8")
    for named in (folder, str(folder)):
        assert load_reader(Models(reader=named)).identity.startswith("mine@")


def test_a_reader_that_is_given_is_used_as_it_is() -> None:
    reader = WordReader()
    assert load_reader(Models(reader=reader)) is reader


def test_one_text_is_distinguished_from_the_name_of_a_file(tmp_path: Path) -> None:
    found = read_reports("HER2 negative, no invasion.", models=Models(reader=WordReader()))
    assert [row.id for row in found] == ["0"]
    with pytest.raises(InputError, match="does not exist"):
        read_reports(tmp_path / "my reports.csv")
    with pytest.raises(InputError, match="does not exist"):
        read_reports("my reports.csv")
    with pytest.raises(SettingError, match="1 or more"):
        read_reports(["A text."], batch_size=0)


def test_what_cannot_be_a_reader_is_said_in_plain_words(tmp_path: Path) -> None:
    for wrong in (7, tmp_path, tmp_path / "gone", "./gone"):
        with pytest.raises(SettingError, match=r"is no reader|holds no reader|does not exist"):
            load_reader(Models(reader=wrong))
