"""A WordNet of a dozen synsets, in the files and with the byte offsets of the real one."""

import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

from nltk.corpus.reader.wordnet import WordNetCorpusReader

HEADER = "  1 WordNet 9.9 Copyright of nobody. Made for tests.  \n"
FIRST = f"{len(HEADER):08}"
"""The offset of the first synset of each file."""

SYNSETS = {
    "noun": [
        ("n", "03", "tumor tumour neoplasm benign_tumor"),
        ("n", "03", "neoplasm growth"),
        ("n", "08", "kidney"),
        ("n", "15", "focus center nidus"),
        ("n", "15", "margin border perimeter"),
        ("n", "15", "border boundary"),
    ],
    "verb": [("v", "39", "show display exhibit"), ("v", "35", "border skirt")],
    "adj": [("a", "00", "hard firm"), ("s", "00", "firm solid")],
    "adv": [("r", "02", "often oft oftentimes")],
}
EXCEPTIONS = {"noun": "foci focus\n", "verb": "shown show\n", "adj": "", "adv": ""}
VOCABULARY = (
    "tumor tumour Tumors tumours neoplasm neoplasms growth kidney kidneys focus foci center nidus "
    "margin margins border borders boundary perimeter show shows shown showing display exhibits "
    "skirt hard firm solid often oft oftentimes benign of the a and , . ( ) 3 cm T2 biopsy biopsies"
)
WORDS = VOCABULARY.split()
"""Words of it, inflected or not, and others."""


def write(folder: Path) -> Path:
    """Write all its files into this folder, which nltk would call corpora/wordnet."""
    folder.mkdir(parents=True)
    for part, synsets in SYNSETS.items():
        offsets = [0] * len(synsets)
        for _ in range(2):  # the offsets that a line names are known when all lines are made
            lines, at = [], len(HEADER)
            for number, (kind, file, words) in enumerate(synsets):
                offsets[number] = at
                lines.append(_data_line(at, kind, file, words.split(), offsets[0]))
                at += len(lines[-1])
        (folder / f"data.{part}").write_text(HEADER + "".join(lines))
        (folder / f"index.{part}").write_text(HEADER + _index(synsets, offsets))
        (folder / f"{part}.exc").write_text(EXCEPTIONS[part])
    (folder / "lexnames").write_text("".join(f"{n:02}\tfile{n:02}\t0\n" for n in range(45)))
    (folder / "index.sense").write_text(f"tumor%1:03:00:: {FIRST} 1 0\n")
    (folder / "cntlist.rev").write_text("")
    return folder


def write_zip(file: Path, folder: Path) -> Path:
    """Write it as nltk's downloader leaves it: one zip file with the folder in it."""
    whole = write(folder / "wordnet")
    file.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(file, "w") as archive:
        for path in sorted(whole.iterdir()):
            archive.write(path, f"wordnet/{path.name}")
    return file


@contextmanager
def read_by_nltk(folder: Path) -> Iterator[WordNetCorpusReader]:
    """What was written there by nltk's reader, which leaves its files open; here they are closed.

    The folder must be in nltk's data path.
    """
    with warnings.catch_warnings(action="ignore"):  # there are no other languages
        reader = WordNetCorpusReader(str(folder), omw_reader=None)
    try:
        yield reader
    finally:
        for file in reader._data_file_map.values():
            file.close()


def _data_line(at: int, kind: str, file: str, words: list[str], head: int) -> str:
    names = " ".join(f"{word} 0" for word in words)
    pointers = f"001 & {head:08} a 0000" if kind == "s" else "000"
    frames = " 01 + 02 00" if kind == "v" else ""
    return f"{at:08} {file} {kind} {len(words):02x} {names} {pointers}{frames} | in tests  \n"


def _index(synsets: list[tuple[str, str, str]], offsets: list[int]) -> str:
    senses: defaultdict[str, list[str]] = defaultdict(list)
    for (_, _, words), at in zip(synsets, offsets, strict=True):
        for word in words.split():
            senses[word].append(f"{at:08}")
    kind = synsets[0][0]
    return "".join(
        f"{word} {kind} {len(found)} 0 {len(found)} 0 {' '.join(found)}  \n"
        for word, found in sorted(senses.items())
    )
