"""A daily sample of damaged files; `python -m benchmarks fuzz --files 7000` reads them all."""

import random
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.fuzz_files import READERS, Worker, fuzz, outcome_of, write_damaged
from histoeval.errors import HistoEvalError, InputError
from histoeval.io.pairs import open_source
from histoeval.io.sheets import rating_of
from histoeval.judges.prompt import Criterion
from histoeval_research.annotation.passage import PassageDraft, RefusedPassage
from histoeval_research.annotation.webanno import read_document
from histoeval_research.ontology.obo import read_ontology

NEED_EXTRAS = {"XMI", "XMI zip"}


@pytest.mark.parametrize("name", [name for name in READERS if name not in NEED_EXTRAS])
def test_a_valid_file_is_read_and_damaged_ones_are_read_or_refused(
    name: str, tmp_path: Path
) -> None:
    reader = READERS[name]
    for file, content in reader.pack(dict(reader.files())).items():
        (tmp_path / file).write_bytes(content)
    reader.read(tmp_path)
    for number in range(6):
        outcome = outcome_of(name, number, seed=2)
        assert outcome in ("read", "refused"), (number, outcome)


def test_the_same_seed_damages_files_in_the_same_way(tmp_path: Path) -> None:
    found = []
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        write_damaged(READERS["csv"], tmp_path / place, random.Random("0/csv/1"))
        found.append((tmp_path / place / "pairs.csv").read_bytes())
    assert found[0] == found[1] != READERS["csv"].files()["pairs.csv"]


def test_a_process_that_ends_or_hangs_is_a_defect_and_the_next_file_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts, defects = fuzz(2, readers=["csv"])
    assert counts["csv"].total() == 2
    assert not defects
    worker = Worker(0)
    try:
        monkeypatch.setattr("benchmarks.fuzz_files.SECONDS", 0)
        assert worker.read("csv", 0).startswith("still running")
        monkeypatch.undo()
        assert "process ended" in worker.read("no such reader", 0)
        assert worker.read("csv", 0) in ("read", "refused")
    finally:
        worker.close()


# what it has found: a summary without a field, labels nested without end, a cache with no text
@pytest.mark.parametrize(
    ("name", "number", "seed"),
    [("read scores", 25, 11), ("labels", 27, 12), ("reply cache", 23, 7)],
)
def test_what_once_ended_in_a_traceback_is_refused_in_words(
    name: str, number: int, seed: int
) -> None:
    assert outcome_of(name, number, seed) == "refused"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("3\n\n#Text=No\n1-1\t2147483648-2147483650\tNo\t\n", "further on than any report is long"),
        ("3\n#T_SP=\n", "declares no layer"),
    ],
)
def test_offsets_far_behind_the_text_and_layers_without_a_name_are_refused(
    text: str, reason: str
) -> None:
    with pytest.raises(RefusedPassage, match=reason):
        read_document(PassageDraft("d", "s", "r"), f"#FORMAT=WebAnno TSV 3.{text}")


def test_a_score_with_an_odd_blank_before_it_is_a_number() -> None:
    assert rating_of("\x1f.5") == 0.5


def test_levels_that_are_far_apart_are_refused_without_counting_between_them() -> None:
    with pytest.raises(ValueError, match="in a row"):
        Criterion(name="a", question="?", levels={0: "no", 10**30: "yes"})


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_gzip_of_an_ontology_is_refused(damage: str, tmp_path: Path) -> None:
    good = READERS["ncit.gz"].pack(dict(READERS["ncit.gz"].files()))["n.jsonl.gz"]
    bad = good[:-9] if damage == "cut" else good[:30] + b"\xff" * 8 + good[38:]
    (tmp_path / "n.jsonl.gz").write_bytes(bad)
    with pytest.raises(InputError, match="cannot read"):
        list(read_ontology(tmp_path / "n.jsonl.gz", "ncit"))


def test_damage_anywhere_in_a_parquet_file_is_said_in_words(tmp_path: Path) -> None:
    good = READERS["parquet"].files()["pairs.parquet"]
    path = tmp_path / "pairs.parquet"
    for at in range(4, len(good) - 8, 23):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
        with suppress(HistoEvalError):
            list(open_source([path]).rows())
