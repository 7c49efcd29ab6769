"""`histoeval.read_reports`: whatever holds texts, and the reader that is asked about them."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval import Models, SettingError
from histoeval.api import extract as read_reports
from histoeval.errors import InputError
from histoeval.reader.builtin import BuiltinReader
from histoeval.run.models import load_reader
from tests.support.word_reader import WordReader

TEXTS = [
    "Invasive carcinoma of the breast.",
    "HER2 negative, no invasion.",
    "😀 possible sarcoma",
    "Nothing to see.",
]
RECORDS = [{"id": f"case {n}", "text": text} for n, text in enumerate(TEXTS)]
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


def test_python_reads_a_list_of_texts() -> None:
    readings = read_reports(TEXTS, models=Models(reader=WordReader()))
    assert [row.id for row in readings] == ["0", "1", "2", "3"]
    assert [report and report.text for report in readings.reports] == TEXTS
    assert repr(readings) == "<Readings of 4 texts: 6 entities; 0 rows with errors>"


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
