"""Archives of annotations: bounded in all, and refused in words when they are damaged."""

from __future__ import annotations

import io
import random
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from histoeval.errors import InputError
from histoeval_research.annotation import archives
from histoeval_research.annotation.archives import documents


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def written(folder: Path, content: bytes) -> Path:
    path = folder / "project.zip"
    path.write_bytes(content)
    return path


@pytest.fixture(autouse=True)
def _low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "ARCHIVE_LIMIT", 100_000)
    monkeypatch.setattr(archives, "MEMBER_LIMIT", 50)


def test_what_an_archive_unpacks_to_is_bounded_in_all(tmp_path: Path) -> None:
    bomb = zipped({f"{n}.tsv": b"x" * 30_000 for n in range(4)})
    with pytest.raises(InputError, match=r"unpacks to more than .* split it"):
        list(documents(written(tmp_path, bomb), ".tsv"))


def test_archives_in_archives_count_too(tmp_path: Path) -> None:
    inner = zipped({"a.tsv": b"x" * 30_000})
    bomb = zipped({f"{n}.zip": inner for n in range(4)})
    with pytest.raises(InputError, match="unpacks to more than"):
        list(documents(written(tmp_path, bomb), ".tsv"))


def test_so_many_files_are_refused_before_any_is_read(tmp_path: Path) -> None:
    many = {f"{n}.tsv": b"" for n in range(30)}
    assert len(list(documents(written(tmp_path, zipped(many)), ".tsv"))) == 30
    nested = zipped({"a.zip": zipped(many), "b.zip": zipped(many)})
    with pytest.raises(InputError, match="more than 50 files"):
        list(documents(written(tmp_path, nested), ".tsv"))


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_damage_anywhere_is_said_in_words(tmp_path: Path, method: int) -> None:
    good = zipped({"a.tsv": b"text " * 200, "b/c.tsv": b"more " * 200}, method)
    chance = random.Random(0)
    for _ in range(150):
        bad = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        with suppress(InputError):
            list(documents(written(tmp_path, bytes(bad)), ".tsv"))
