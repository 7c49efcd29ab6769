"""Finished blocks that wait for their turn in the rows of a run.

`.ROWS.blocks-HASH/START-COUNT.jsonl`, beside the file of rows, holds the rows of one block, written
whole or not at all. The hash is of the request, that is of the input's own hash, the version and
all signatures: blocks of another run are never taken for this one's.
"""

import glob
import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from histoeval.io.store import StoredRow
from histoeval.io.writing import make_folder, write_whole

_NAME = re.compile(r"(\d+)-(\d+)\.jsonl")


class Spool:
    """A folder of finished blocks."""

    def __init__(self, rows: Path, request: Mapping[str, Any]) -> None:
        content = json.dumps(request, sort_keys=True, default=str).encode()
        self._prefix = f".{rows.name}.blocks-"
        name = f"{self._prefix}{hashlib.sha256(content).hexdigest()[:16]}"
        self.folder = rows.parent / name

    def put(self, start: int, rows: Sequence[StoredRow]) -> None:
        """Keep a block; when this returns, killing the process cannot lose it."""
        make_folder(self.folder)
        write_whole(self._path(start, len(rows)), b"".join(row.line() for row in rows))

    def has(self, rows: range) -> bool:
        """Whether this very block is there."""
        return self._path(rows.start, len(rows)).exists()

    def blocks(self, first: int) -> list[range]:
        """The blocks that are there, in order, with rows from `first` on; no row is in two."""
        found: list[range] = []
        for start, count in sorted(self._there()):
            if start + count > first and (not found or start >= found[-1].stop):
                found.append(range(start, start + count))
        return found

    def lines(self, rows: range) -> list[bytes]:
        """The rows of a block."""
        return self._path(rows.start, len(rows)).read_bytes().splitlines(keepends=True)

    def drop(self, rows: range) -> None:
        """Forget a block."""
        self._path(rows.start, len(rows)).unlink(missing_ok=True)

    def clear(self) -> None:
        """Forget all blocks, and those of other requests for the same file of rows."""
        for folder in self.folder.parent.glob(f"{glob.escape(self._prefix)}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _path(self, start: int, count: int) -> Path:
        return self.folder / f"{start:012}-{count}.jsonl"

    def _there(self) -> Iterator[tuple[int, int]]:
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if match := _NAME.fullmatch(path.name):
                yield int(match[1]), int(match[2])
