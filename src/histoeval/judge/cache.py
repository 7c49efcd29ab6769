"""Every reply that was paid for, on disk, found again by what was asked.

A key is the hash of the endpoint, model, prompt, parameters, both texts, order and repeat. Replies
are kept as they came and read anew each time. Report texts and keys of services are not kept, but
a reply may quote a report. SQLite in write-ahead mode: what is written is safe whatever happens to
the process, and several runs can share one file. New replies are appended to a table without an
order, which costs a quarter of the time, and are put in order when there are many.
"""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from histoeval.errors import OutputError
from histoeval.judge.chat import Reply

ENVIRONMENT = "HISTOEVAL_CACHE"
"""Names the folder of the cache, in place of ~/.cache/histoeval."""

_COLUMNS_OF_BOTH = """
    key TEXT {key},
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
"""
_TABLES = (
    f"CREATE TABLE IF NOT EXISTS replies ({_COLUMNS_OF_BOTH.format(key='PRIMARY KEY')})"
    " WITHOUT ROWID",
    f"CREATE TABLE IF NOT EXISTS fresh ({_COLUMNS_OF_BOTH.format(key='NOT NULL')})",
)
_COLUMNS = ", ".join(Reply._fields)

_AT_ONCE = 500
"""Keys that are looked up together."""

_MOST_FRESH = 2000
"""Replies that may lie without an order."""


class Kept(NamedTuple):
    """How much is kept of one judge and one prompt."""

    judge: str
    prompt: str
    replies: int
    tokens_in: int
    tokens_out: int
    characters: int
    """Of the requests that `tokens_in` were counted for."""
    seconds: float


def default_cache() -> Path:
    """Where replies are kept when nobody says otherwise."""
    named = os.environ.get(ENVIRONMENT)
    folder = Path(named) if named else Path.home() / ".cache" / "histoeval"
    return folder / "judge.sqlite"


class Cache:
    """A file of replies; without a path one that nobody sees and that goes when it is closed."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._waiting: dict[str, tuple[Reply, tuple[object, ...]]] = {}
        self._fresh: set[str] = set()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                path or "", timeout=30, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._file.close)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            for table in _TABLES:
                self._file.execute(table)
        except (OSError, sqlite3.Error) as error:
            raise OutputError(f"{path} cannot be used to keep replies: {error}") from error
        self._put_in_order()

    def find(self, key: str) -> Reply | None:
        """The reply to what this key stands for."""
        if key in self._waiting:
            return self._waiting[key][0]
        with self._speaking():
            for table in ("fresh", "replies") if key in self._fresh else ("replies",):
                chosen = f"SELECT {_COLUMNS} FROM {table} WHERE key = ?"
                if (row := self._file.execute(chosen, (key,)).fetchone()) is not None:
                    return _reply(row)
        return None

    def holds(self, key: str) -> bool:
        """Whether there is one."""
        return bool(self.known([key]))

    def known(self, keys: Sequence[str]) -> set[str]:
        """Those of the keys that there is a reply for."""
        found = {key for key in keys if key in self._waiting or key in self._fresh}
        with self._speaking():
            for first in range(0, len(keys), _AT_ONCE):
                some = keys[first : first + _AT_ONCE]
                places = ",".join("?" * len(some))
                rows = self._file.execute(f"SELECT key FROM replies WHERE key IN ({places})", some)
                found.update(key for (key,) in rows)
        return found

    def store(self, key: str, judge: str, prompt: str, characters: int, reply: Reply) -> bool:
        """Keep a reply until it is written; whether it is the first that waits for that."""
        self._waiting[key] = (reply, (key, judge, prompt, characters, *reply))
        return len(self._waiting) == 1

    def write(self) -> None:
        """Write what waits, in one go; when this returns, a kill cannot lose it."""
        if not self._waiting:
            return
        with self._speaking(), self._file:
            self._file.execute("BEGIN IMMEDIATE")
            self._file.executemany(
                f"INSERT INTO fresh (key, judge, prompt, characters, {_COLUMNS}) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [row for _, row in self._waiting.values()],
            )
        self._fresh.update(self._waiting)
        self._waiting.clear()
        if len(self._fresh) >= _MOST_FRESH:
            self._put_in_order()

    def _put_in_order(self) -> None:
        """Move what is fresh to where it is found by its key; also what a killed run has left."""
        with self._speaking():
            if self._file.execute("SELECT 1 FROM fresh LIMIT 1").fetchone() is None:
                return
        with self._speaking(), self._file:
            self._file.execute("BEGIN IMMEDIATE")
            columns = f"key, judge, prompt, characters, stored, {_COLUMNS}"
            self._file.execute(
                f"INSERT OR REPLACE INTO replies ({columns}) "
                f"SELECT {columns} FROM fresh ORDER BY key"
            )
            self._file.execute("DELETE FROM fresh")
        self._fresh.clear()

    def kept(self) -> list[Kept]:
        """What there is, by judge and prompt."""
        self._put_in_order()
        with self._speaking():
            rows = self._file.execute(
                "SELECT judge, prompt, COUNT(*), TOTAL(tokens_in), TOTAL(tokens_out), "
                "TOTAL(CASE WHEN tokens_in IS NULL THEN 0 ELSE characters END), TOTAL(seconds) "
                "FROM replies GROUP BY judge, prompt ORDER BY judge, prompt"
            ).fetchall()
        return [
            Kept(judge, prompt, replies, int(tokens_in), int(tokens_out), int(long), seconds)
            for judge, prompt, replies, tokens_in, tokens_out, long, seconds in rows
        ]

    def clear(self, judge: str | None = None, prompt: str | None = None) -> int:
        """Forget all replies, or those of a judge or a prompt that begins like this."""
        self._put_in_order()
        with self._speaking():
            found = self._file.execute(
                "DELETE FROM replies WHERE substr(judge, 1, length(?1)) = ?1 "
                "AND substr(prompt, 1, length(?2)) = ?2",
                (judge or "", prompt or ""),
            )
            count = found.rowcount
            self._file.execute("VACUUM")
        return count

    def export(self) -> Iterator[str]:
        """Every reply as a line of JSON, in the order of the keys."""
        self._put_in_order()
        with self._speaking():
            rows = self._file.execute(
                f"SELECT key, judge, prompt, stored, {_COLUMNS} FROM replies ORDER BY key"
            )
            for key, judge, prompt, stored, *rest in rows:
                about = {"key": key, "judge": judge, "prompt": prompt, "stored": stored}
                line = about | _reply(rest)._asdict()
                yield json.dumps(line, ensure_ascii=False)

    def close(self) -> None:
        """Let the file go."""
        self.write()
        self._put_in_order()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Say for people what SQLite says: a full disk, a file that is none of its own."""
        try:
            yield
        except sqlite3.Error as error:
            raise OutputError(f"{self.path} cannot be used to keep replies: {error}") from error


def _reply(row: Sequence[Any]) -> Reply:
    reply = Reply(*row)
    return reply._replace(constrained=bool(reply.constrained))
