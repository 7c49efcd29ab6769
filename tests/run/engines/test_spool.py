"""Finished blocks that wait: never those of another run, and no row twice; inputs that travel."""

from __future__ import annotations

from pathlib import Path

import pytest

from histoeval.errors import OutputError
from histoeval.io.store import RowStore
from histoeval.run.engines.engine import INLINE, BlockSpool
from tests.support.engine_jobs import Doubled, DoublingJob, doubled, worked

TEXTS = [f"t{n}" for n in range(12)]


def spool_of(folder: Path, texts: list[str] = TEXTS) -> BlockSpool:
    job = DoublingJob(texts, folder)
    return BlockSpool(folder / "out.jsonl", job.request())


def rows(*places: int) -> list[Doubled]:
    return [Doubled(f"r{n}", TEXTS[n] * 2) for n in places]


def test_blocks_are_found_in_order_and_no_row_is_in_two(tmp_path: Path) -> None:
    spool = spool_of(tmp_path)
    for start, length in ((8, 2), (3, 4), (5, 3), (0, 2)):
        spool.put(start, rows(*range(start, start + length)))
    assert spool.blocks(0) == [range(2), range(3, 7), range(8, 10)]
    assert spool.blocks(4) == [range(3, 7), range(8, 10)]
    assert Doubled.of_line(spool.lines(range(8, 10))[1]) == rows(9)[0]
    spool.clear()
    assert spool.blocks(0) == []
    assert not spool.folder.exists()


def test_a_run_takes_finished_blocks_over(tmp_path: Path) -> None:
    spool = spool_of(tmp_path)
    spool.put(2, rows(2, 3, 4))
    spool.put(7, rows(7, 8))
    doubled(TEXTS, tmp_path, INLINE)
    assert worked(tmp_path) == ["r0", "r1", "r5", "r6", "r9", "r10", "r11"]
    assert list(RowStore(tmp_path / "out.jsonl", Doubled.of_line)) == rows(*range(12))


def test_of_a_block_that_was_half_written_the_rest_is_taken(tmp_path: Path) -> None:
    doubled(TEXTS, tmp_path, INLINE)
    whole = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    (tmp_path / "worked.txt").unlink()
    spool_of(tmp_path).put(2, rows(2, 3, 4, 5))
    doubled(TEXTS, tmp_path, INLINE)
    assert worked(tmp_path) == ["r6", "r7", "r8", "r9", "r10", "r11"]
    assert (tmp_path / "out.jsonl").read_bytes() == whole


def test_blocks_of_another_input_are_not_taken(tmp_path: Path) -> None:
    spool_of(tmp_path, TEXTS[:5]).put(0, rows(0, 1))
    doubled(TEXTS, tmp_path, INLINE)
    assert len(worked(tmp_path)) == 12


def test_a_block_that_does_not_fit_the_input_is_refused(tmp_path: Path) -> None:
    spool_of(tmp_path).put(2, rows(5, 6))
    with pytest.raises(OutputError, match="not what the input has there"):
        doubled(TEXTS, tmp_path, INLINE)
