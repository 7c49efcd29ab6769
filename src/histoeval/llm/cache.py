"""Every reply that was paid for, on disk, found again by what was asked.

A key is the hash of the endpoint, model, prompt, parameters, both texts, order and repeat. Replies
are kept as they came and read anew each time. Report texts and keys of services are not kept, but
a reply may quote a report. SQLite in write-ahead mode: what is written is safe whatever happens to
the process, and several runs can share one file. Replies are appended and never move; the places
of many are entered at a time, in the order of their keys, since one alone would cost as much as a
reply.
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
from histoeval.llm.chat import Reply

ENVIRONMENT = "HISTOEVAL_CACHE"
"""Names the folder of the cache, in place of ~/.cache/histoeval."""

_LAYOUT = 2
"""Which tables a file has; it is written into the file."""

_TABLES = (
    """CREATE TABLE IF NOT EXISTS replies (
        row INTEGER PRIMARY KEY,
        key BLOB NOT NULL,
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
    )""",
    "CREATE TABLE IF NOT EXISTS places (short BLOB PRIMARY KEY, row INTEGER) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS entered (last INTEGER)",
    f"PRAGMA user_version = {_LAYOUT}",
)
_SHORT = 16
"""Bytes of a key that tell its place: no two keys share them, and few are sooner entered."""

_ENTER = (
    f"INSERT OR REPLACE INTO places SELECT substr(key, 1, {_SHORT}), row FROM replies "
    "WHERE row > (SELECT coalesce(max(last), 0) FROM entered) ORDER BY key, row",
    "DELETE FROM entered",
    "INSERT INTO entered SELECT max(row) FROM replies",
)
"""Enter the places of replies that came after the last one entered, whoever wrote them."""

_COLUMNS = ", ".join(Reply._fields)

_AT_ONCE = 500
"""Keys that are looked up together."""

_MOST_FRESH = 4000
"""Replies of this run whose places are known to it alone."""


class CacheStats(NamedTuple):
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
        self._fresh: dict[str, int] = {}
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                path or "", timeout=30, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._file.close)
        except (OSError, sqlite3.Error) as error:
            raise OutputError(f"{path} cannot be used to keep replies: {error}") from error
        self._lay_out()

    def _lay_out(self) -> None:
        """Make the tables; a file that has others is left as it is."""
        with self._speaking():
            (layout,) = self._file.execute("PRAGMA user_version").fetchone()
            (tables,) = self._file.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            if tables and layout != _LAYOUT:
                raise OutputError(
                    f"{self.path} cannot be used to keep replies: it was made by another version "
                    "of HistoEval, or is no cache; name another file with --cache, or remove it "
                    "and have everything asked anew"
                )
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
        with self._writing():
            self._execute(*_TABLES, *_ENTER)

    def find(self, key: str) -> Reply | None:
        """The reply to what this key stands for."""
        if key in self._waiting:
            return self._waiting[key][0]
        with self._speaking():
            row = self._file.execute(
                f"SELECT {_COLUMNS} FROM replies WHERE key = ?1 AND row IN "
                f"(?2, (SELECT row FROM places WHERE short = substr(?1, 1, {_SHORT}))) "
                "ORDER BY row DESC LIMIT 1",
                (bytes.fromhex(key), self._fresh.get(key)),
            ).fetchone()
        return None if row is None else _reply(row)

    def holds(self, key: str) -> bool:
        """Whether there is one."""
        return bool(self.known([key]))

    def known(self, keys: Sequence[str]) -> set[str]:
        """Those of the keys that there is a reply for."""
        found = {key for key in keys if key in self._waiting or key in self._fresh}
        with self._speaking():
            for first in range(0, len(keys), _AT_ONCE):
                short = {bytes.fromhex(k)[:_SHORT]: k for k in keys[first : first + _AT_ONCE]}
                chosen = f"SELECT short FROM places WHERE short IN ({','.join('?' * len(short))})"
                found.update(short[row[0]] for row in self._file.execute(chosen, tuple(short)))
        return found

    def store(self, key: str, judge: str, prompt: str, characters: int, reply: Reply) -> bool:
        """Keep a reply until it is written; whether it is the first that waits for that."""
        self._waiting[key] = (reply, (bytes.fromhex(key), judge, prompt, characters, *reply))
        return len(self._waiting) == 1

    def write(self) -> None:
        """Write what waits, in one go; when this returns, a kill cannot lose it."""
        if not self._waiting:
            return
        with self._writing():
            self._file.executemany(
                f"INSERT INTO replies (key, judge, prompt, characters, {_COLUMNS}) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [row for _, row in self._waiting.values()],
            )
            (last,) = self._file.execute("SELECT last_insert_rowid()").fetchone()
        first = last + 1 - len(self._waiting)
        self._fresh.update((key, row) for row, key in enumerate(self._waiting, first))
        self._waiting.clear()
        if len(self._fresh) >= _MOST_FRESH:
            self._enter_places()

    def _enter_places(self) -> None:
        """Have new replies found by everybody; also those that a killed run has left."""
        with self._writing():
            self._execute(*_ENTER)
        self._fresh.clear()

    def kept(self) -> list[CacheStats]:
        """What there is, by judge and prompt."""
        self._enter_places()
        with self._speaking():
            rows = self._file.execute(
                "SELECT judge, prompt, COUNT(*), TOTAL(tokens_in), TOTAL(tokens_out), "
                "TOTAL(CASE WHEN tokens_in IS NULL THEN 0 ELSE characters END), TOTAL(seconds) "
                "FROM places JOIN replies USING (row) GROUP BY judge, prompt ORDER BY judge, prompt"
            ).fetchall()
        return [
            CacheStats(judge, prompt, replies, int(tokens_in), int(tokens_out), int(long), seconds)
            for judge, prompt, replies, tokens_in, tokens_out, long, seconds in rows
        ]

    def clear(self, judge: str | None = None, prompt: str | None = None) -> int:
        """Forget all replies, or those of a judge or a prompt that begins like this."""
        with self._writing():
            self._execute(*_ENTER)
            self._file.execute(
                "DELETE FROM replies WHERE substr(judge, 1, length(?1)) = ?1 "
                "AND substr(prompt, 1, length(?2)) = ?2",
                (judge or "", prompt or ""),
            )
            found = self._file.execute(
                "DELETE FROM places WHERE row NOT IN (SELECT row FROM replies)"
            )
            self._execute(*_ENTER)
        with self._speaking():
            self._file.execute("VACUUM")
        return found.rowcount

    def export(self) -> Iterator[str]:
        """Every reply as a line of JSON, in the order of the keys."""
        self._enter_places()
        with self._speaking():
            rows = self._file.execute(
                f"SELECT key, judge, prompt, stored, {_COLUMNS} "
                "FROM places JOIN replies USING (row) ORDER BY short"
            )
            for key, judge, prompt, stored, *rest in rows:
                about = {"key": key.hex(), "judge": judge, "prompt": prompt, "stored": stored}
                line = about | _reply(rest)._asdict()
                yield json.dumps(line, ensure_ascii=False)

    def close(self) -> None:
        """Let the file go."""
        self.write()
        self._enter_places()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _execute(self, *statements: str) -> None:
        for statement in statements:
            self._file.execute(statement)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """All that is written meanwhile, or none of it."""
        with self._speaking(), self._file:
            self._file.execute("BEGIN IMMEDIATE")
            yield

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
