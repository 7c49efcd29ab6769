"""Every reply that was paid for, on disk, keyed by the hash of what was asked.

A key is the hash of the endpoint, model, prompt, parameters, both texts, order and repeat. Replies
are stored as they came and parsed anew each time. Report texts and API keys are not stored, but a
reply may quote a report. SQLite in write-ahead mode: a stored reply survives whatever happens to
the process, and several runs can share one file.
"""

import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from histoeval.errors import OutputError
from histoeval.llm.chat import Reply

ENVIRONMENT = "HISTOEVAL_CACHE"
"""Names the folder of the cache, in place of ~/.cache/histoeval."""

_LAYOUT, _LAYOUT_BEFORE = 3, 2
"""Which tables a file has, as written into it; the one before is migrated."""

_REPLY = ", ".join(Reply._fields)

_TABLE = """CREATE TABLE IF NOT EXISTS replies (
    key BLOB PRIMARY KEY,
    judge TEXT NOT NULL,
    prompt TEXT NOT NULL,
    text TEXT NOT NULL,
    finish TEXT,
    tokens_in INTEGER,
    tokens_out INTEGER,
    constrained INTEGER NOT NULL,
    seconds REAL,
    characters INTEGER NOT NULL,
    stored TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) WITHOUT ROWID"""

_MIGRATION = (
    "ALTER TABLE replies RENAME TO appended",
    _TABLE,
    f"INSERT OR REPLACE INTO replies (key, judge, prompt, characters, stored, {_REPLY}) "
    f"SELECT key, judge, prompt, characters, stored, {_REPLY} FROM appended ORDER BY row",
    "DROP TABLE appended",
    "DROP TABLE places",
    "DROP TABLE entered",
)
"""From layout 2, where replies were appended and an index of their places was kept beside them."""


class CacheStats(NamedTuple):
    """How much is cached for one judge and one prompt."""

    judge: str
    prompt: str
    replies: int
    tokens_in: int
    tokens_out: int
    characters: int
    """Of the requests that `tokens_in` were counted for."""
    seconds: float


def default_cache() -> Path:
    """The cache file that is used unless another is named."""
    folder = os.environ.get(ENVIRONMENT)
    return (Path(folder) if folder else Path.home() / ".cache" / "histoeval") / "judge.sqlite"


class Cache:
    """A file of replies; without a path, a temporary one that is deleted when it is closed."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.RLock()
        with self._errors():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                path or "", timeout=30, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._file.close)
            self._lay_out()

    def _lay_out(self) -> None:
        """Create or migrate the table; a file with other tables is refused and left as it is."""
        self._check_layout()
        self._file.execute("PRAGMA journal_mode=WAL")
        self._file.execute("PRAGMA synchronous=NORMAL")
        with self._file:
            self._file.execute("BEGIN IMMEDIATE")
            for statement in _MIGRATION if self._check_layout() == _LAYOUT_BEFORE else [_TABLE]:
                self._file.execute(statement)
            self._file.execute(f"PRAGMA user_version = {_LAYOUT}")

    def _check_layout(self) -> int:
        (layout,) = self._file.execute("PRAGMA user_version").fetchone()
        (tables,) = self._file.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if tables and layout not in (_LAYOUT, _LAYOUT_BEFORE):
            raise OutputError(
                f"{self.path} cannot be used as a cache: it was made by another version of "
                "HistoEval, or is no cache; name another file with --cache, or delete it and have "
                "everything asked again"
            )
        return int(layout)

    def find(self, key: str) -> Reply | None:
        """The reply that is stored under a key."""
        with self._errors():
            row = self._file.execute(
                f"SELECT {_REPLY} FROM replies WHERE key = ?", (bytes.fromhex(key),)
            ).fetchone()
        return None if row is None else _reply(row)

    def store(self, key: str, judge: str, prompt: str, characters: int, reply: Reply) -> None:
        """Write a reply; when this returns, killing the process cannot lose it."""
        with self._errors():
            self._file.execute(
                f"INSERT OR REPLACE INTO replies (key, judge, prompt, characters, {_REPLY}) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (bytes.fromhex(key), judge, prompt, characters, *reply),
            )

    def stats(self) -> list[CacheStats]:
        """What is cached, by judge and prompt."""
        with self._errors():
            rows = self._file.execute(
                "SELECT judge, prompt, COUNT(*), TOTAL(tokens_in), TOTAL(tokens_out), "
                "TOTAL(CASE WHEN tokens_in IS NULL THEN 0 ELSE characters END), TOTAL(seconds) "
                "FROM replies GROUP BY judge, prompt ORDER BY judge, prompt"
            ).fetchall()
        return [
            CacheStats(judge, prompt, replies, int(tokens_in), int(tokens_out), int(chars), seconds)
            for judge, prompt, replies, tokens_in, tokens_out, chars, seconds in rows
        ]

    def clear(self, judge: str | None = None, prompt: str | None = None) -> int:
        """Delete all replies, or those of judges or prompts with this prefix; how many."""
        with self._errors():
            deleted = self._file.execute(
                "DELETE FROM replies WHERE substr(judge, 1, length(?1)) = ?1 "
                "AND substr(prompt, 1, length(?2)) = ?2",
                (judge or "", prompt or ""),
            ).rowcount
            self._file.execute("VACUUM")
        return deleted

    def export(self) -> Iterator[str]:
        """Every reply as a line of JSON, in the order of the keys."""
        with self._errors():
            rows = self._file.execute(
                f"SELECT key, judge, prompt, stored, {_REPLY} FROM replies ORDER BY key"
            )
            for key, judge, prompt, stored, *reply in rows:
                about = {"key": key.hex(), "judge": judge, "prompt": prompt, "stored": stored}
                yield json.dumps(about | _reply(reply)._asdict(), ensure_ascii=False)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """One thread at a time; a full disk or a file of another kind as one sentence."""
        try:
            with self._lock:
                yield
        except (OSError, sqlite3.Error) as error:
            raise OutputError(f"{self.path} cannot be used as a cache: {error}") from error


def _reply(row: Sequence[Any]) -> Reply:
    reply = Reply(*row)
    return reply._replace(constrained=bool(reply.constrained))
