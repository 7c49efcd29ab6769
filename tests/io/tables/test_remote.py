"""Inputs with an address: copied here, read like any file, and gone at the end."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

import histoeval
from histoeval.errors import InputError, MissingDependency, OutputError
from histoeval.io.results import ResultFolder
from histoeval.io.tables.remote import local_input

PAIRS = b"id,reference,candidate\na,Colon: adenoma.,Colon: adenoma.\nb,Liver: normal.,Liver.\n"


@pytest.fixture
def bucket() -> Iterator[fsspec.AbstractFileSystem]:
    memory = fsspec.filesystem("memory")
    yield memory
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


def test_scores_of_a_file_in_a_bucket(bucket: fsspec.AbstractFileSystem, tmp_path: Path) -> None:
    bucket.pipe("/study/pairs.csv", PAIRS)
    (tmp_path / "pairs.csv").write_bytes(PAIRS)
    there = histoeval.score("memory://study/pairs.csv", metrics="bleu")
    here = histoeval.score(str(tmp_path / "pairs.csv"), metrics="bleu")
    assert there.summary == here.summary
    assert list(there.rows) == list(here.rows)


def test_a_folder_in_a_bucket_is_copied_whole(bucket: fsspec.AbstractFileSystem) -> None:
    bucket.pipe("/reports/a.txt", b"Colon: adenoma.")
    bucket.pipe("/reports/inner/b.txt", b"Liver: normal.")
    copied = local_input("memory://reports")
    files = sorted(path.relative_to(copied).as_posix() for path in copied.rglob("*.txt"))
    assert files == ["a.txt", "inner/b.txt"]


def test_the_copy_is_for_its_owner_and_made_once(bucket: fsspec.AbstractFileSystem) -> None:
    bucket.pipe("/private/pairs.csv", PAIRS)
    copied = local_input("memory://private/pairs.csv")
    assert copied == local_input("memory://private/pairs.csv")
    assert stat.S_IMODE(copied.stat().st_mode) == 0o600
    assert stat.S_IMODE(copied.parent.stat().st_mode) == 0o700


def test_the_copy_is_removed_when_the_process_ends(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_bytes(PAIRS)
    program = (
        "import sys; from histoeval.io.tables.remote import local_input; "
        "print(local_input(sys.argv[1]))"
    )
    address = (tmp_path / "pairs.csv").as_uri()
    out = subprocess.check_output([sys.executable, "-c", program, address], text=True)
    assert Path(out.strip()).name == "pairs.csv"
    assert not Path(out.strip()).parent.exists()


def test_a_path_stays_as_it_is() -> None:
    assert local_input("C:/pairs.csv") == Path("C:/pairs.csv")
    assert local_input(Path("data") / "pairs.csv") == Path("data") / "pairs.csv"


def test_what_is_missing_is_named(
    bucket: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"memory://nothing\.csv does not exist"):
        local_input("memory://nothing.csv")
    with pytest.raises(InputError, match=r"carrier-pigeon://x: .*not known|Protocol not known"):
        local_input("carrier-pigeon://x")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingDependency, match=r"pip install fsspec.* s3fs for s3://"):
        local_input("s3://bucket/pairs.csv")


@pytest.mark.skipif(os.name == "nt", reason="Windows has drives")
def test_results_are_not_written_to_an_address() -> None:
    with pytest.raises(OutputError, match=r"cannot be written to s3://.*storage that all machines"):
        ResultFolder(Path("s3://bucket/results"))
