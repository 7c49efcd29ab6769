"""Finding a WordNet and reading it, whole, zipped, as Debian has it, or broken."""

import warnings
from pathlib import Path

import nltk.data
import pytest

from histoeval.errors import MissingDependency
from histoeval.metrics import wordnet
from tests.support import tiny_wordnet

DEBIAN_LEAVES_OUT = ("lexnames", "index.sense")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine on which everything that holds a WordNet is under one folder."""
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "mine"))
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk")])
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "debian")
    return tmp_path


def write_as_debian(folder: Path) -> Path:
    tiny_wordnet.write(folder)
    for name in DEBIAN_LEAVES_OUT:
        (folder / name).unlink()
    return folder


def test_nltk_data_comes_before_nltks_own_folders_and_debian_last(machine: Path) -> None:
    debian = write_as_debian(machine / "debian")
    assert wordnet.find() == debian
    zipped = tiny_wordnet.write_zip(machine / "nltk/corpora/wordnet.zip", machine / "made")
    assert wordnet.find() == zipped
    mine = tiny_wordnet.write(machine / "mine/corpora/wordnet")
    assert wordnet.find() == mine


def test_a_folder_with_half_a_wordnet_is_passed_over(machine: Path) -> None:
    half = tiny_wordnet.write(machine / "mine/corpora/wordnet")
    (half / "data.verb").unlink()
    (machine / "mine/corpora/wordnet.zip").write_text("not a zip file")
    assert wordnet.find() is None
    debian = write_as_debian(machine / "debian")
    assert wordnet.find() == debian


def test_folder_zip_file_and_debian_hold_the_same_synonyms(machine: Path) -> None:
    found = [
        tiny_wordnet.write(machine / "mine/corpora/wordnet"),
        tiny_wordnet.write_zip(machine / "nltk/corpora/wordnet.zip", machine / "made"),
        write_as_debian(machine / "debian"),
    ]
    for word in ("tumor", "border", "firm", "foci", "shown", "kidneys", "unheard"):
        assert len({wordnet.synonyms(place, word) for place in found}) == 1
    assert len({wordnet.identity(place) for place in found}) == 1


def test_synonyms_are_of_all_senses_and_parts_of_speech_without_collocations(machine: Path) -> None:
    place = write_as_debian(machine / "debian")
    assert wordnet.synonyms(place, "tumor") == {"tumor", "tumour", "neoplasm"}
    assert wordnet.synonyms(place, "neoplasm") == {"tumor", "tumour", "neoplasm", "growth"}
    assert wordnet.synonyms(place, "border") == {
        *("border", "margin", "perimeter", "boundary", "skirt")
    }
    assert wordnet.synonyms(place, "firm") == {"firm", "hard", "solid"}
    assert wordnet.synonyms(place, "foci") == {"foci", "focus", "center", "nidus"}
    assert wordnet.synonyms(place, "x" * 1000) == {"x" * 1000}


def test_loading_warns_of_nothing(machine: Path) -> None:
    place = write_as_debian(machine / "debian")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        wordnet.load(place).synsets("tumor")
    assert said == []


def test_another_wordnet_has_another_identity(machine: Path) -> None:
    place = write_as_debian(machine / "debian")
    other = write_as_debian(machine / "other")
    (other / "noun.exc").write_text("foci focus\nnuclei nucleus\n")
    assert wordnet.identity(place).startswith("9.9-")
    assert wordnet.identity(place) != wordnet.identity(other)
    third = write_as_debian(machine / "third")
    data = third / "data.noun"
    data.write_text(data.read_text().replace("WordNet 9.9", "wordlist 99"))
    assert wordnet.identity(third).startswith("unknown-")


@pytest.mark.parametrize(
    "line", ["tumor n 1", "tumor n x 0 1 0 00000052", "tumor n 2 0 1 0 00000052"]
)
def test_a_broken_index_is_said_to_be_unreadable(machine: Path, line: str) -> None:
    place = write_as_debian(machine / "debian")
    (place / "index.noun").write_text(line)
    with pytest.raises(MissingDependency, match=r"debian cannot be read"):
        wordnet.load(place)


@pytest.mark.filterwarnings("ignore:No WordNet synset found")
def test_an_index_that_points_nowhere_is_said_to_be_damaged(machine: Path) -> None:
    place = write_as_debian(machine / "debian")
    index = place / "index.noun"
    index.write_text(index.read_text().replace(tiny_wordnet.FIRST, "00000009"))
    with pytest.raises(MissingDependency, match="'tumor' leads nowhere"):
        wordnet.synonyms(place, "tumor")
