"""Parallel text files and folders."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from histoeval.errors import InputError
from histoeval.io.pairs import PairRow, PairSource, open_source
from histoeval.io.reports import open_reports
from histoeval.io.tables.columns import Columns


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def opened(folder: Path, *names: str) -> PairSource:
    return open_source([folder / name for name in names])


def outcomes(rows: list[PairRow]) -> list[tuple[str, str | None, str]]:
    return [(row.id, row.system, row.problems[0].code if row.problems else "") for row in rows]


def test_the_same_line_of_each_file_is_the_same_case(tmp_path: Path) -> None:
    write(tmp_path, {"refs.txt": "a\r\nb\r\n", "ours.txt": "c\rc\nd", "theirs.txt": "e\x0c\nf\n\n"})
    source = opened(tmp_path, "refs.txt", "ours.txt", "theirs.txt")
    pairs = [row.pair for row in source.rows() if row.pair]
    assert [(p.id, p.system, p.reference, p.candidate) for p in pairs] == [
        ("0", "ours", "a", "c\rc"),
        ("0", "theirs", "a", "e\x0c"),
        ("1", "ours", "b", "d"),
        ("1", "theirs", "b", "f"),
    ]
    assert (source.format, source.name) == ("text", "refs.txt, ours.txt, theirs.txt")
    assert source.layout.candidates == ("ours", "theirs")


def test_a_file_that_ends_early_lacks_its_last_lines(tmp_path: Path) -> None:
    write(tmp_path, {"refs.txt": "a\nb\nc\n", "ours.txt": "d\n\n"})
    rows = list(opened(tmp_path, "refs.txt", "ours.txt").rows())
    assert outcomes(rows) == [
        ("0", "ours", ""),
        ("1", "ours", "empty_text"),
        ("2", "ours", "missing_value"),
    ]
    assert "ours ends before line 3" in rows[2].problems[0].message


def test_each_file_may_have_its_own_encoding(tmp_path: Path) -> None:
    write(tmp_path, {"refs.txt": "naïve\n".encode("latin-1"), "ours.txt": "naïve\n"})
    source = opened(tmp_path, "refs.txt", "ours.txt")
    pair = next(source.rows()).pair
    assert pair is not None
    assert pair.reference == pair.candidate == "naïve"
    assert source.encoding == "latin-1, utf-8"
    assert source.notes[0].startswith("refs.txt: not UTF-8")


def test_packed_files_are_read_and_their_systems_named_alike(tmp_path: Path) -> None:
    write(tmp_path, {"refs.txt.gz": gzip.compress(b"a\n"), "ours.txt.gz": gzip.compress(b"b\n")})
    pair = next(opened(tmp_path, "refs.txt.gz", "ours.txt.gz").rows()).pair
    assert pair is not None
    assert (pair.reference, pair.candidate, pair.system) == ("a", "b", "ours")


def test_a_bad_byte_costs_its_line_only(tmp_path: Path) -> None:
    write(tmp_path, {"refs.txt": "naïve\nb\n", "ours.txt": b"\xff\nna\xc3\xafve\n"})
    rows = list(opened(tmp_path, "refs.txt", "ours.txt").rows())
    assert outcomes(rows) == [("0", "ours", "not_utf8"), ("1", "ours", "")]


def test_a_line_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("histoeval.io.tables.encoding.RECORD_LIMIT", 1000)
    monkeypatch.setattr("histoeval.io.documents.texts.RECORD_LIMIT", 1000)
    write(tmp_path, {"refs.txt": "a\nb\n", "ours.txt": f"{'x' * 100_000}\nc\n"})
    rows = list(opened(tmp_path, "refs.txt", "ours.txt").rows())
    assert outcomes(rows) == [("0", "ours", "record_too_long"), ("1", "ours", "")]


def test_files_of_the_same_name_are_the_same_case(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "refs/b.txt": "Reference b\nin two lines\n",
            "refs/lung/a.txt": "Reference a",
            "refs/.DS_Store": b"\0\0",
            "ours/b.md": "Candidate b",
            "ours/lung/a.TXT": "Candidate a",
        },
    )
    source = opened(tmp_path, "refs", "ours")
    pairs = [row.pair for row in source.rows() if row.pair]
    assert [(p.id, p.system, p.reference, p.candidate) for p in pairs] == [
        ("b", "ours", "Reference b\nin two lines", "Candidate b"),
        ("lung/a", "ours", "Reference a", "Candidate a"),
    ]
    assert (source.format, source.name) == ("folder", "refs, ours")


@pytest.mark.parametrize("ending", [".txt", ".docx", ".hl7"])
def test_hidden_files_and_those_of_locks_are_no_reports(tmp_path: Path, ending: str) -> None:
    message = "MSH|^~\\&|L|L|E|H|2026||ORU^R01|1|P|2.5\rOBR|1||a\rOBX|1|TX|^||Skin."
    (tmp_path / "made" / ".ipynb_checkpoints").mkdir(parents=True)
    for name in ("a", "._a", "~$a", ".ipynb_checkpoints/a"):
        (tmp_path / "made" / f"{name}{ending}").write_text(message, "utf-8")
    assert [row.id for row in open_reports(tmp_path / "made").rows()] == ["a"]


def test_a_file_on_one_side_only_is_missed_by_name(tmp_path: Path) -> None:
    write(tmp_path, {"refs/a.txt": "a", "refs/b.txt": "b", "ours/b.txt": "b", "ours/c.txt": "c"})
    rows = list(opened(tmp_path, "refs", "ours").rows())
    assert outcomes(rows) == [
        ("a", "ours", "missing_value"),
        ("b", "ours", ""),
        ("c", "ours", "missing_value"),
    ]
    assert "ours has no file for 'a'" in rows[0].problems[0].message
    assert "a.txt was expected" in rows[0].problems[0].message
    assert rows[2].problems[0].column == "reference"


def test_files_that_are_empty_binary_or_broken_cost_their_own_row(tmp_path: Path) -> None:
    contents: dict[str, str | bytes] = {
        "a": "",
        "b": b"\x00\x01" * 50,
        "c": b"\xff",
        "d": "fine",
        "e": "naïve".encode("cp1252"),
    }
    write(tmp_path, {f"refs/{name}.txt": "text" for name in contents})
    write(tmp_path, {f"ours/{name}.txt": content for name, content in contents.items()})
    rows = list(opened(tmp_path, "refs", "ours").rows())
    assert [code for _, _, code in outcomes(rows)] == [
        "empty_text",
        "binary_text",
        "not_utf8",
        "",
        "",
    ]


def test_the_hash_of_folders_depends_on_names_and_contents_alone(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"refs/a.txt": "a", "refs/b.txt": "b", "ours/a.txt": "c"}
    write(tmp_path / "1", files)
    write(tmp_path / "2", dict(reversed(files.items())))
    hashes = [opened(tmp_path / n, "refs", "ours").sha256 for n in "12"]
    assert hashes[0] == hashes[1]
    write(tmp_path / "2", {"refs/b.txt": "changed"})
    assert opened(tmp_path / "2", "refs", "ours").sha256 != hashes[0]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["refs.txt"], "refs.txt cannot be read alone"),
        (["refs"], "two and more tables or folders"),
        (["refs", "refs.txt"], "refs.txt has a report in each line and no ids"),
        (["a.csv", "b.csv"], "no column for the text"),
        (["refs.txt", "reference.txt"], "references first"),
        (["refs.txt", "ours.txt", "x/ours.txt"], "two candidates are called ours"),
        (["refs", "void"], "void holds no reports"),
        (["refs", "double"], "two files for a"),
        (["refs.txt", "nowhere.txt"], "does not exist"),
        ([], "nothing cannot be read"),
    ],
)
def test_paths_that_do_not_go_together_are_refused(
    tmp_path: Path, names: list[str], said: str
) -> None:
    texts = ["refs.txt", "ours.txt", "x/ours.txt", "reference.txt", "refs/a.txt", "void/a.png"]
    tables = ["a.csv", "b.csv", "double/a.txt", "double/a.md"]
    write(tmp_path, dict.fromkeys([*texts, *tables], "a\n"))
    with pytest.raises(InputError, match=said):
        opened(tmp_path, *names)


def test_columns_cannot_be_named_where_there_are_none(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "a", "b.txt": "b"})
    with pytest.raises(InputError, match="no columns"):
        open_source([tmp_path / "a.txt", tmp_path / "b.txt"], Columns(id="x"))


def test_a_stray_carriage_return_in_a_long_first_line_shifts_nothing(tmp_path: Path) -> None:
    long = "carcinoma\r" + "of the breast " * 40_000
    (tmp_path / "refs.txt").write_bytes(f"{long}\nbenign\n".encode())
    (tmp_path / "model.txt").write_bytes(b"carcinoma\nbenign\n")
    rows = list(open_source([tmp_path / "refs.txt", tmp_path / "model.txt"]).rows())
    assert [row.pair.candidate for row in rows if row.pair] == ["carcinoma", "benign"]
