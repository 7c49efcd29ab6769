"""Unlabelled texts: which are used, and that none of the dev passages is among them."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from histoeval.errors import InputError
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
COPIED = "ONE,two;\nthree / four - five. (six) seven: eight\n\n* nine * ten | eleven_twelve!"
ELEVEN = "Alike: one two three four five six seven eight nine ten eleven and more"
LUNG = f"Specimen A / lung: {'none ' * 9} LUNG left upper lobe"


def pool_of(folder: Path, dev: str, *texts: str, **source: bool | int) -> UnlabelledTexts:
    file = folder / "pool.jsonl.gz"
    lines = [json.dumps({"id": f"report-{n}", "text": text}) for n, text in enumerate(texts)]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    settings = UnlabelledSource.model_validate({"file": str(file), **source})
    return read_pool([settings], [passage("report-7", dev)])


@pytest.mark.parametrize(
    ("dev", "text", "is_used"),
    [
        (f"Margins: {SEEN}, free.", COPIED, False),
        (f"Margins: {SEEN}, free.", ELEVEN, True),
        ("Lung, left upper lobe; biopsy: adenocarcinoma.", "left upper lobe", False),
        ("Lung, left upper lobe; biopsy: adenocarcinoma.", LUNG, True),
        ("Lung, left upper lobe; biopsy: adenocarcinoma.", f"{LUNG} biopsy adenocarcinoma", False),
        ("No tumour seen.", "no  tumour seen.", False),
        ("No tumour seen.", "No tumour seen. Benign.", True),
    ],
    ids=[
        "twelve words in a row, whatever stands between them",
        "eleven words in a row",
        "a part of a dev passage",
        "around a part of a dev passage",
        "around a whole dev passage",
        "a short dev passage",
        "around a short dev passage",
    ],
)
def test_what_has_too_much_in_common_with_dev_is_kept_out(
    tmp_path: Path, dev: str, text: str, is_used: bool
) -> None:
    pool = pool_of(tmp_path, dev, text, "Other.")
    ((_, texts),) = pool.sources
    assert texts == ((text, "Other.") if is_used else ("Other.",))
    assert pool.facts == {"texts": 1 + is_used, "kept_out": 1 - is_used, "unread": 0}


def test_a_dev_report_is_kept_out_by_its_id_where_ids_are_of_reports(tmp_path: Path) -> None:
    texts = [f"Biopsy {n}." for n in range(9)]
    assert pool_of(tmp_path, SEEN, *texts).facts == {"texts": 8, "kept_out": 1, "unread": 0}
    other = pool_of(tmp_path, SEEN, *texts, exclude_reports_of_dev=False)
    assert other.facts == {"texts": 9, "kept_out": 0, "unread": 0}


def test_rows_that_cannot_be_read_are_counted_and_a_pool_without_texts_is_refused(
    tmp_path: Path,
) -> None:
    file = tmp_path / "pool.jsonl"
    file.write_text('{"text": "Benign."}\n{"text": null}\n', "utf-8")
    facts = read_pool([UnlabelledSource(file=file)], []).facts
    assert facts == {"texts": 1, "kept_out": 0, "unread": 1}
    with pytest.raises(InputError, match="1 are also in dev"):
        pool_of(tmp_path, SEEN, SEEN)


def test_adaptation_reads_a_source_as_often_as_it_is_told(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, SEEN, "Benign.", "Malignant.", repeat=2)
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


def windows_from(texts: tuple[str, ...], settings: Windows, **source: int) -> list[str]:
    own = UnlabelledSource.model_validate({"file": "a", **source})
    return windows_to_label(UnlabelledTexts(((own, texts),)), ["annotated text"], settings)


def test_each_report_gives_few_windows_and_annotated_texts_come_whole() -> None:
    texts = "long " * 1000, "other " * 50
    found = windows_from(texts, Windows(words=(10,), most=3))
    assert found == ["annotated text"], "ten words are less than the fifteen asked"
    found = windows_from(texts, Windows(words=(20,), most=3))
    assert found.count(("long " * 20).strip()) == 3
    assert found.count(("other " * 20).strip()) == 2
    assert found.count("annotated text") == 1


def test_a_source_can_have_other_windows_than_the_rest() -> None:
    short = tuple(f"case {n}" for n in range(40))
    found = windows_from(short, Windows(), sample=7, least=0, most=1)
    assert len(set(found)) == len(found) == 7 + 1


def test_the_same_seed_draws_the_same_windows_and_another_does_not() -> None:
    texts = tuple(" ".join(f"{n}w{i}" for i in range(500)) for n in range(5))
    first = windows_from(texts, Windows())
    assert windows_from(texts, Windows()) == first
    assert windows_from(texts, Windows(seed=1)) != first
