"""From any source to pairs: the faults, the ids, the systems, and what a source says of itself."""

import csv
import hashlib
import io
import json
import pickle
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from histoeval.errors import InputError
from histoeval.io.pairs import PairRow, PairSource, open_source, source_of_records
from histoeval.io.tables.columns import Columns
from histoeval.report import Pair


def opened(path: Path, content: str | bytes, **named: Any) -> PairSource:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_source([path], Columns(**named))


def outcome(row: PairRow) -> tuple[str, str | None, tuple[str, ...]]:
    return row.id, row.system, tuple(problem.code for problem in row.problems)


def memory(*records: Any, **named: Any) -> list[PairRow]:
    return list(source_of_records(records, Columns(**named)).rows())


def csv_line(*cells: str) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerow(cells)
    return out.getvalue().encode("utf-8", "surrogateescape")


CSV_FAULTS = {
    "missing_id": csv_line(" ", "a", "b"),
    "duplicate_id": csv_line("g0", "a", "b"),
    "empty_text": csv_line("x", "a", " \n\t"),
    "not_utf8": csv_line("x1", "a \udcff b", "naïve"),
    "binary_text": csv_line("x2", "a\x00b", "b"),
    "wrong_column_count": b"x4,a,b,c\n",
    "broken_quotes": b'x5,"a,b\n',
}
JSON_FAULTS: dict[str, bytes] = {
    "missing_id": b'{"id": null, "reference": "a", "candidate": "b"}',
    "duplicate_id": b'{"id": "g0", "reference": "a", "candidate": "b"}',
    "missing_value": b'{"id": 1, "reference": "a"}',
    "missing_value ": b'{"id": 2, "reference": null, "candidate": "b"}',
    "empty_text": b'{"id": 3, "reference": "a", "candidate": ""}',
    "not_text": b'{"id": 4, "reference": ["a"], "candidate": "b"}',
    "not_text ": b'{"id": {"n": 4}, "reference": "a", "candidate": "b"}',
    "not_text  ": b'{"id": 5, "reference": "a", "candidate": true}',
    "not_utf8": b'{"id": 6, "reference": "caf\xe9", "candidate": "na\xc3\xafve"}',
    "binary_text": b'{"id": 7, "reference": "\\u0001\\u0002\\u0003", "candidate": "b"}',
    "lone_surrogate": b'{"id": 8, "reference": "a", "candidate": "cut \\udce9"}',
    "broken_json": b'{"id": 10, "reference": "a", "candidate": "b"',
    "not_an_object": b'["id", "reference"]',
}


def mixed(good: list[bytes], faults: dict[str, bytes]) -> tuple[list[bytes], list[str]]:
    """Each fault after a good row, and a good row at the end."""
    lines, codes = [], []
    for line, (code, fault) in zip(good, faults.items(), strict=False):
        lines += [line, fault]
        codes += ["", code.strip()]
    return [*lines, good[-1]], [*codes, ""]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_every_fault_is_named_and_every_good_row_is_delivered(tmp_path: Path, name: str) -> None:
    good = [csv_line(f"g{n}", f"ref, {n}", f'cand "{n}"') for n in range(30)]
    header, end, faults = b"id,reference,candidate\n", b"", CSV_FAULTS
    if name == "a.jsonl":
        pairs = ({"id": f"g{n}", "reference": "a 😀", "candidate": "b"} for n in range(30))
        good, header, end = [json.dumps(pair).encode() for pair in pairs], b"", b"\n"
        faults = JSON_FAULTS
    lines, codes = mixed(good, faults)
    rows = list(opened(tmp_path / name, header + end.join(lines)).rows())
    assert ["".join(outcome(row)[2]) for row in rows] == codes
    for row in rows:
        assert (row.pair is None) == bool(row.problems)
        assert all(f"row {row.number}" in problem.message for problem in row.problems)
    if name == "a.csv":
        pair = Pair(id="g0", reference="ref, 0", candidate='cand "0"', system="candidate")
        assert rows[0].pair == pair


@pytest.mark.parametrize("step", [1, -1])
def test_faults_side_by_side_are_told_apart(tmp_path: Path, step: int) -> None:
    for name, faults, end in (("a.csv", CSV_FAULTS, b""), ("a.jsonl", JSON_FAULTS, b"\n")):
        is_csv = name == "a.csv"
        first = csv_line("g0", "a", "b") if is_csv else JSON_FAULTS["duplicate_id"]
        last = csv_line("g1", "a, b", "b") if is_csv else first.replace(b"g0", b"g1")
        header = [b"id,reference,candidate\n"] if is_csv else []
        order = list(faults)[::step]
        content = end.join([*header, first, *(faults[code] for code in order), last])
        rows = list(opened(tmp_path / name, content).rows())
        found = ["".join(outcome(row)[2]) for row in rows]
        assert found == ["", *(code.strip() for code in order), ""]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (b"2,a,\n", r"candidate is empty \(row 2, line 3\): fill it in, or leave the row out$"),
        ("2,na\udcefve ö,b\n".encode("utf-8", "surrogateescape"), "byte 0xef at character 3"),
        (b"2,a\xff,b\n\xc3\xb6", "encoding='latin-1'"),
    ],
)
def test_a_problem_says_what_where_and_what_to_do(tmp_path: Path, row: bytes, told: str) -> None:
    table = b"id,reference,candidate\n1,a,b\n" + row
    (problem,) = list(opened(tmp_path / "a.csv", table).rows())[1].problems
    assert re.search(told, problem.message)
    assert problem.column in ("reference", "candidate")


def test_a_pair_with_both_sides_broken_says_both() -> None:
    (row,) = memory({"id": 1, "reference": "", "candidate": 3})
    assert outcome(row) == ("1", "candidate", ("empty_text", "not_text"))
    assert [problem.column for problem in row.problems] == ["reference", "candidate"]


def test_a_bad_reference_or_id_costs_every_system_and_a_bad_candidate_its_own() -> None:
    texts = {"candidate_a": "a", "candidate_b": "b"}
    rows = memory(
        {"id": 1, "reference": "", **texts},
        {"id": None, "reference": "r", **texts},
        {"id": 3, "reference": "r", **texts, "candidate_b": ""},
        ["no record"],
    )
    assert [outcome(row) for row in rows] == [
        ("1", "candidate_a", ("empty_text",)),
        ("1", "candidate_b", ("empty_text",)),
        ("row 2", "candidate_a", ("missing_id",)),
        ("row 2", "candidate_b", ("missing_id",)),
        ("3", "candidate_a", ()),
        ("3", "candidate_b", ("empty_text",)),
        ("row 4", None, ("not_an_object",)),
    ]


def test_without_ids_a_row_is_called_by_its_place_from_0(tmp_path: Path) -> None:
    rows = list(opened(tmp_path / "a.csv", "reference,candidate\na,b\nbroken\na,b\n").rows())
    assert [(row.number, row.id) for row in rows] == [(1, "0"), (2, "1"), (3, "2")]


def test_numbers_are_ids_and_the_same_id_twice_is_refused() -> None:
    rows = memory(*({"id": n, "gt": "a", "pred": "b"} for n in (1, 2, "1", 1.5, float("nan"))))
    assert [outcome(row)[::2] for row in rows] == [
        ("1", ()),
        ("2", ()),
        ("1", ("duplicate_id",)),
        ("1.5", ()),
        ("row 5", ("missing_id",)),
    ]


def test_a_system_column_names_the_system_of_each_row() -> None:
    base = {"id": 1, "reference": "a", "candidate": "b"}
    systems = ["x", "y", "x", "", 7]
    records = [{**base, "system": system} for system in systems]
    source = source_of_records(records)
    assert source.layout.system == "system"
    assert [outcome(row)[1:] for row in source.rows()] == [
        ("x", ()),
        ("y", ()),
        ("x", ("duplicate_id",)),
        (None, ("missing_value",)),
        ("7", ()),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Emoji are fine 😀😀😀",
        "β-catenin µm ≥ 5",
        "page one\x0cpage two",
        "a stray \x01 control \x02 character",
        "Ünïcödé Łódź letters are Latin too",
        "腺癌",
        "Инвазивная протоковая карцинома молочной железы",
        "5 \u00d7 3 cm",
        "١٢٣",
        "tumour é " * 120_000,
    ],
    ids=lambda text: text[:9],
)
def test_unusual_texts_are_texts(text: str) -> None:
    (row,) = memory({"reference": text, "candidate": text})
    assert row.pair is not None
    assert row.pair.reference == row.pair.candidate == text


@pytest.mark.parametrize("spelling", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_the_same_pair_is_read_in_every_encoding(tmp_path: Path, spelling: str) -> None:
    tables = {
        "a.csv": "reference,candidate\nnaïve,37 °C\n",
        "a.tsv": "reference\tcandidate\nnaïve\t37 °C\n",
        "a.jsonl": '{"reference": "naïve", "candidate": "37 °C"}\n',
        "a.json": '[{"reference": "naïve", "candidate": "37 °C"}]',
    }
    for name, content in tables.items():
        source = opened(tmp_path / name, content.encode(spelling))
        (row,) = source.rows()
        assert row.pair == Pair(id="0", reference="naïve", candidate="37 °C")
        assert source.encoding == spelling


def test_utf16_that_breaks_off_costs_its_cell_only(tmp_path: Path) -> None:
    content = "reference,candidate\na,b\nc,d\ud800 e\nf,g".encode("utf-16", "surrogatepass")
    rows = list(opened(tmp_path / "a.csv", content + b"x").rows())
    assert [outcome(row)[2] for row in rows] == [(), ("not_utf8",), ("not_utf8",)]


def test_keys_of_an_object_are_ids_unless_a_column_is_named(tmp_path: Path) -> None:
    row = '{"reference": "a", "id": "b", "candidate": "c"}'
    once = f'{{"k": {row}}}'
    assert next(opened(tmp_path / "a.json", once).rows()).id == "k"
    assert next(opened(tmp_path / "a.json", once, id="id").rows()).id == "b"
    twice = opened(tmp_path / "a.json", f'{{"k": {row}, "k": {row}}}', candidates=("id",))
    assert [outcome(row)[2] for row in twice.rows()] == [(), ("duplicate_id",)]


def test_a_source_says_what_it_is_and_reads_from_the_start_each_time(tmp_path: Path) -> None:
    content = "id,reference,candidate_x,candidate_y\n1,a,b,c\n"
    source = opened(tmp_path / "a.csv", content)
    assert (source.name, source.format, source.encoding) == ("a.csv", "csv", "utf-8")
    assert source.layout.candidates == ("candidate_x", "candidate_y")
    assert source.sha256 == hashlib.sha256(content.encode()).hexdigest()
    assert source.size == len(content)
    first = list(source.rows())
    assert first == list(source.rows())
    assert first[-1].position == source.size


def test_records_in_memory_are_hashed_by_what_they_say() -> None:
    records = [{"reference": "a", "candidate": object()}]
    again: Iterator[dict[str, object]] = iter([{"reference": "a", "candidate": object()}])
    other = [{"reference": "b", "candidate": "c"}]
    hashes = [source_of_records(each).sha256 for each in (records, again, other)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_parquet_is_read_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("histoeval.io.tables.binary.SLICE_ROWS", 7)
    path = tmp_path / "a[1].parquet"
    references = [None if n == 20 else f"text {n}" for n in range(50)]
    frame = {"pair_id": range(50), "ref": references, "hyp": ["b"] * 50, "n": range(50)}
    pl.DataFrame(frame).write_parquet(path)
    source = open_source([path])
    rows = list(source.rows())
    assert [row.id for row in rows] == [str(n) for n in range(50)]
    assert [row.pair.reference if row.pair else None for row in rows] == references
    assert outcome(rows[20]) == ("20", "hyp", ("missing_value",))
    assert (source.format, source.encoding) == ("parquet", "")
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert rows[-1].position == source.size
    with pytest.raises(InputError, match="no column 'm'"):
        open_source([path], Columns(id="m"))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.xlsx", "x", r"\.csv, \.tsv"),
        ("a.parquet.gz", "x", "not known"),
        ("a.parquet", "reference,candidate\na,b\n", "is not a Parquet file"),
        ("a.csv", "", "is empty"),
        ("a.csv", "reference,candidate\n", "no rows"),
        ("a.json", "[]", "no rows"),
        ("a.csv", "text,candidate\na,b\n", "reference='NAME'"),
    ],
)
def test_unusable_files_are_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        opened(tmp_path / name, content)
    with pytest.raises(InputError, match="no rows"):
        source_of_records([])


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, ending: str) -> None:
    text = "invasive carcinoma of the breast, grade 2. " * 20
    peaks = []
    for count in (2_000, 8_000):
        frame = pl.DataFrame({"id": range(count), "gt": [text] * count, "pred": [text] * count})
        path = tmp_path / f"{count}{ending}"
        if ending == ".csv":
            frame.write_csv(path)
        else:
            frame.write_ndjson(path)
        tracemalloc.start()
        assert sum(row.pair is not None for row in open_source([path]).rows()) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 500_000


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "parquet", "txt", "", "records"])
def test_a_source_can_be_sent_to_another_process(tmp_path: Path, kind: str) -> None:
    texts = {"reference": ["Benign.", "Colon."], "candidate": ["Benign.", "Skin."]}
    frame, paths = pl.DataFrame(texts), [tmp_path / f"pairs.{kind}"]
    if kind in ("txt", ""):  # two files, or two folders with a file each
        paths = [tmp_path / f"{name}.{kind}".strip(".") for name in texts]
        for path, lines in zip(paths, texts.values(), strict=True):
            file = path if kind else path / "a.txt"
            file.parent.mkdir(exist_ok=True)
            file.write_text("\n".join(lines), "utf-8")
    elif kind != "records":
        writer = {"jsonl": "ndjson"}.get(kind, kind)
        getattr(frame, f"write_{writer}")(paths[0])
    source = source_of_records(frame.to_dicts()) if kind == "records" else open_source(paths)
    rows = list(source.rows())
    assert rows
    assert list(pickle.loads(pickle.dumps(source)).rows()) == rows
