"""How a file's encoding is told, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import InputError
from histoeval.io.tables.encoding import survey

WESTERN = (
    "id,reference,candidate\n1,Naïve B cells at 37 °C ± 1; 5 µm,Café-au-lait spot 2 \u00d7 3 cm\n"
)


def encoding_of(content: bytes, step: int = 1 << 20) -> str:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr("histoeval.io.tables.encoding.CHUNK", step)
        return survey(written(Path(folder), content)).encoding


def written(folder: Path, content: bytes, name: str = "pairs.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("spelling", "told"),
    [
        ("ascii", "utf-8"),
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-32", "utf-32"),
        ("latin-1", "latin-1"),
    ],
)
def test_the_encoding_of_western_text_is_told(spelling: str, told: str) -> None:
    text = WESTERN.encode("ascii", "ignore").decode() if spelling == "ascii" else WESTERN
    assert encoding_of(text.encode(spelling)) == told


def test_curly_quotes_and_dashes_of_windows_are_told_from_latin_1() -> None:
    assert encoding_of("a “quoted” word \u2013 so".encode("cp1252")) == "cp1252"


@given(st.text(), st.integers(1, 7))
def test_what_is_utf8_is_told_as_utf8_wherever_chunks_are_cut(text: str, step: int) -> None:
    content = ("x" + text).encode("utf-8", "ignore")
    assert encoding_of(content, step) == "utf-8"


@pytest.mark.parametrize("step", [1, 2, 3, 5, 10**6])
@pytest.mark.parametrize(
    "text",
    [
        "Grüße à l'équipe",
        "Naïve … œsophagus não",
        "süß, „Darm“, 3 µm ± 2 °C",
        "é uma lesão; è così; å se",
        "Žižek šel; 5 €; «à»",
        "ÜBERGRÖSSE",
    ],
)
def test_western_text_is_told_whatever_accents_it_has(text: str, step: int) -> None:
    content = f"{text}\n".encode("cp1252") * 20
    found = encoding_of(content, step)
    assert found in ("latin-1", "cp1252")
    assert content.decode(found) == f"{text}\n" * 20


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r"])
@pytest.mark.parametrize("step", [1, 2, 3, 10**6])
def test_other_scripts_are_not_taken_for_western_text(encoding: str, step: int) -> None:
    assert encoding_of("опухоль желудка и карцинома".encode(encoding), step) == "utf-8"


@pytest.mark.parametrize(
    "content",
    [
        "Größe".encode() + b" caf\xe9",
        b"a byte \xff alone",
        b"a letter \xe2 between spaces",
        b"\xc3 left of a cut character",
        "Опухоль желудка".encode("cp1251"),
        "腺癌".encode("shift-jis"),
    ],
)
def test_what_is_neither_utf8_nor_western_stays_utf8_and_is_refused_row_by_row(
    content: bytes, tmp_path: Path
) -> None:
    surveyed = survey(written(tmp_path, content))
    assert surveyed.encoding == "utf-8"
    assert "refused" in surveyed.notes[0]


def test_a_person_is_told_that_a_file_was_read_as_latin_1(tmp_path: Path) -> None:
    surveyed = survey(written(tmp_path, WESTERN.encode("latin-1")))
    assert "Latin-1" in surveyed.notes[0]
    assert "encoding=" in surveyed.notes[0]


def test_the_encoding_a_person_names_is_used(tmp_path: Path) -> None:
    path = written(tmp_path, WESTERN.encode("latin-1"))
    assert survey(path, "ISO-8859-15").encoding == "iso8859-15"


@pytest.mark.parametrize(
    ("spelling", "named"), [("utf-8-sig", "UTF8"), ("utf-16", "utf-16-le"), ("utf-16", "UTF16")]
)
def test_a_mark_is_not_forgotten_when_an_encoding_is_named(
    tmp_path: Path, spelling: str, named: str
) -> None:
    assert survey(written(tmp_path, WESTERN.encode(spelling)), named).encoding == spelling


@pytest.mark.parametrize("name", ["klingon", "base64", "rot13"])
def test_an_encoding_that_does_not_exist_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"no encoding '{name}'"):
        survey(written(tmp_path, b"a,b\n"), name)


def test_the_hash_is_that_of_the_content_packed_or_not(tmp_path: Path) -> None:
    content = WESTERN.encode() * 1000
    plain = survey(written(tmp_path, content))
    packed = survey(written(tmp_path, gzip.compress(content), "pairs.csv.gz"))
    assert plain.sha256 == packed.sha256 == hashlib.sha256(content).hexdigest()
    assert plain.size == len(content)
    assert packed.size == (tmp_path / "pairs.csv.gz").stat().st_size


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (WESTERN.encode("utf-16-le"), "UTF-16 without the mark"),
        (b"PK\x03\x04" + b"x" * 100, "Excel"),
        (b"%PDF-1.7", "a PDF"),
        (gzip.compress(b"a,b", mtime=0), "gzip"),
    ],
)
def test_what_is_no_text_is_refused_by_name(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        survey(written(tmp_path, content))


def test_a_gzip_file_that_was_cut_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(WESTERN.encode() * 100)
    with pytest.raises(InputError, match="not a whole gzip file"):
        survey(written(tmp_path, packed[:-12], "pairs.csv.gz"))


def test_a_file_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        survey(tmp_path)
