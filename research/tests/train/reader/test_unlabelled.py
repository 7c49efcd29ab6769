"""Unlabelled texts: which are used, and that none of the dev passages is among them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from histoeval.errors import InputError
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.train.reader.config import UnlabelledSource, Windows
from histoeval_research.train.reader.unlabelled import (
    UnlabelledTexts,
    encodable,
    read_pool,
    windows_of,
    windows_to_label,
)
from tests.support.tiny_corpus import passage

pytestmark = pytest.mark.heavy

SEEN = "one two three four five six seven eight nine ten eleven twelve thirteen"
DEV = [passage("report-7", f"Margins: {SEEN}, free.")]


def pool_file(folder: Path, *rows: tuple[str, str]) -> Path:
    file = folder / "pool.jsonl.gz"
    lines = [json.dumps({"id": name, "text": text}) for name, text in rows]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    return file


def texts_of(pool: UnlabelledTexts) -> list[str]:
    return [text for _, texts in pool.sources for text in texts]


def test_a_dev_report_is_kept_out_by_its_id(tmp_path: Path) -> None:
    file = pool_file(tmp_path, ("report-7", "Colon biopsy."), ("report-8", "Lung biopsy."))
    pool = read_pool([UnlabelledSource(file=file)], DEV)
    assert texts_of(pool) == ["Lung biopsy."]
    assert pool.facts == {"texts": 1, "kept_out": 1, "unread": 0}


def test_ids_that_mean_other_reports_keep_nothing_out(tmp_path: Path) -> None:
    file = pool_file(tmp_path, ("report-7", "Colon biopsy."))
    pool = read_pool([UnlabelledSource(file=file, exclude_reports_of_dev=False)], DEV)
    assert texts_of(pool) == ["Colon biopsy."]


def test_twelve_words_in_a_row_from_dev_keep_a_text_out_and_eleven_do_not(tmp_path: Path) -> None:
    words = SEEN.split()
    twelve = "Copied: " + " ".join(words[:12]).upper() + "\nand more"
    eleven = "Alike: " + " ".join(words[:11]) + " and more"
    pool = read_pool(
        [UnlabelledSource(file=pool_file(tmp_path, ("a", twelve), ("b", eleven)))], DEV
    )
    assert texts_of(pool) == [eleven]


def test_punctuation_and_line_breaks_do_not_hide_a_copy(tmp_path: Path) -> None:
    copied = "ONE,two;\nthree / four - five. (six) seven: eight\n\n* nine * ten | eleven_twelve!"
    pool_ = read_pool(
        [UnlabelledSource(file=pool_file(tmp_path, ("a", copied), ("b", "Other.")))], DEV
    )
    assert texts_of(pool_) == ["Other."]


def test_the_shorter_of_two_texts_must_not_stand_whole_in_the_other(tmp_path: Path) -> None:
    dev = [passage("x", "Lung, left upper lobe; biopsy: adenocarcinoma.")]
    part, around = "left upper lobe", f"Specimen A / lung: {'none ' * 9} LUNG left upper lobe"
    whole = f"{around} biopsy adenocarcinoma, and more of it"
    file = pool_file(tmp_path, ("a", part), ("b", around), ("c", whole))
    assert texts_of(read_pool([UnlabelledSource(file=file)], dev)) == [around]


def test_a_short_dev_passage_keeps_out_its_copies_only(tmp_path: Path) -> None:
    dev: list[AnnotatedPassage] = [passage("x", "No tumour seen.")]
    file = pool_file(tmp_path, ("a", "no  tumour seen."), ("b", "No tumour seen. Benign."))
    assert texts_of(read_pool([UnlabelledSource(file=file)], dev)) == ["No tumour seen. Benign."]


def test_rows_that_cannot_be_read_are_counted_and_left(tmp_path: Path) -> None:
    file = tmp_path / "pool.jsonl"
    file.write_text('{"text": "Benign."}\n{"text": null}\n', "utf-8")
    assert read_pool([UnlabelledSource(file=file)], DEV).facts == {
        "texts": 1,
        "kept_out": 0,
        "unread": 1,
    }


def test_a_pool_of_nothing_but_dev_reports_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 are also in dev"):
        read_pool([UnlabelledSource(file=pool_file(tmp_path, ("report-7", "Benign.")))], DEV)


def test_adaptation_reads_a_source_as_often_as_it_is_told(tmp_path: Path) -> None:
    file = pool_file(tmp_path, ("a", "Benign."), ("b", "Malignant."))
    pool = read_pool([UnlabelledSource(file=file, repeat=2)], DEV)
    assert sorted(pool.to_adapt()) == ["Benign.", "Benign.", "Malignant.", "Malignant."]


def test_half_a_character_does_not_stop_a_tokenizer() -> None:
    assert encodable("a\ud83dé") == "a?é"


@given(st.text(alphabet="ab \n\t", max_size=200), st.integers(1, 9), st.integers(0, 9))
def test_windows_are_stretches_of_the_text_with_all_its_words_but_a_short_rest(
    text: str, length: int, least: int
) -> None:
    found = windows_of(text, length, least)
    words = text.split()
    assert all(window in text for window in found)
    rest = len(words) % length
    lost = rest if rest < least else 0
    kept = words[: len(words) - lost] if length >= least else words[len(words) :]
    assert [word for window in found for word in window.split()] == kept
    assert all(least <= len(window.split()) <= length for window in found)


def test_each_report_gives_few_windows_and_annotated_texts_come_whole() -> None:
    long, other = "long " * 1000, "other " * 50
    pool = UnlabelledTexts(((UnlabelledSource(file=Path("a")), (long, other)),))
    found = windows_to_label(pool, ["annotated text"], Windows(words=(10,), most=3))
    assert found.count(("long " * 10).strip()) == 0, "ten words are less than the fifteen asked"
    found = windows_to_label(pool, ["annotated text"], Windows(words=(20,), most=3))
    assert found.count(("long " * 20).strip()) == 3
    assert found.count(("other " * 20).strip()) == 2
    assert found.count("annotated text") == 1


def test_a_source_can_have_other_windows_than_the_rest() -> None:
    short = tuple(f"case {n}" for n in range(40))
    source = UnlabelledSource(file=Path("a"), sample=7, least=0, most=1)
    found = windows_to_label(UnlabelledTexts(((source, short),)), [], Windows())
    assert len(found) == 7
    assert len(set(found)) == 7


def test_the_same_seed_draws_the_same_windows_and_another_does_not() -> None:
    texts = tuple(" ".join(f"{n}w{i}" for i in range(500)) for n in range(5))
    pool = UnlabelledTexts(((UnlabelledSource(file=Path("a")), texts),))
    first = windows_to_label(pool, [], Windows())
    assert windows_to_label(pool, [], Windows()) == first
    assert windows_to_label(pool, [], Windows(seed=1)) != first
