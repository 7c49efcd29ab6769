"""A cache of replies on disk, keyed by the hash of the question.

A key is the hash of the endpoint, model, prompt, parameters, both texts, order and repeat. Replies
are stored as they came and parsed anew each time. What was sent is not stored, nor are API keys;
but a judge's reply may quote a report, and that of a model under test is one. Only the owner can
read the file. SQLite in write-ahead mode: a stored reply survives whatever happens to the process,
and several runs can share one file. Each row has a checksum, so that a changed reply is noticed.
"""

import hashlib
import json
import sqlite3
import threading
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, Self

from histoeval.errors import OutputError
from histoeval.llm.chat import Reply
from histoeval.runtime.audit import cache_folder

_LAYOUT, _LAYOUT_BEFORE = 4, 3  # written into each file; the one before is migrated
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
    stored TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    checksum BLOB NOT NULL
) WITHOUT ROWID"""

# from layout 3, which had no checksums
_MIGRATION = (
    "ALTER TABLE replies RENAME TO unchecked",
    _TABLE,
    f"INSERT INTO replies (key, judge, prompt, characters, stored, {_REPLY}, checksum) SELECT key, "
    f"judge, prompt, characters, stored, {_REPLY}, checksum(key, {_REPLY}) FROM unchecked",
    "DROP TABLE unchecked",
)

_NO_AGE = timedelta(0)
_UNREADABLE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_ADVICE = "name another file with --cache, or delete it and have everything asked again"


class CacheStats(NamedTuple):
    judge: str
    prompt: str
    replies: int
    tokens_in: int
    tokens_out: int
    characters: int  # of the requests that `tokens_in` were counted for
    seconds: float


def default_cache() -> Path:
    return cache_folder() / "judge.sqlite"


class Cache:
    """A file of replies; without a path, a temporary file that is deleted on closing."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.RLock()
        with self._errors():
            if path is not None:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.touch(mode=0o600)
            self._file = sqlite3.connect(
                path or "", timeout=30, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._file.close)
            self._file.create_function("checksum", -1, _checksum, deterministic=True)
            self._check_layout()  # a file with other tables is left as it is
            for end in ("", "-wal", "-shm"):  # SQLite gives the files beside it the same mode
                file = Path(f"{path}{end}")
                if path is not None and file.exists() and file.stat().st_mode & 0o077:
                    with suppress(PermissionError):  # it belongs to somebody else, who shares it
                        file.chmod(0o600)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            with self._file:
                self._file.execute("BEGIN IMMEDIATE")
                is_older = self._check_layout() == _LAYOUT_BEFORE
                for statement in _MIGRATION if is_older else [_TABLE]:
                    self._file.execute(statement)
                self._file.execute(f"PRAGMA user_version = {_LAYOUT}")

    def __reduce__(self) -> tuple[type["Cache"], tuple[Path | None]]:
        return Cache, (self.path,)

    def _check_layout(self) -> int:
        (layout,) = self._file.execute("PRAGMA user_version").fetchone()
        (tables,) = self._file.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if tables and layout not in (_LAYOUT, _LAYOUT_BEFORE):
            raise OutputError(
                f"{self.path} cannot be used as a cache: it was made by another version of "
                f"HistoEval, or is no cache; {_ADVICE}"
            )
        return int(layout)

    def find(self, key: str) -> Reply | None:
        """Return the reply stored under a key, unless its checksum is wrong."""
        with self._errors():
            row = self._file.execute(
                f"SELECT checksum, {_REPLY} FROM replies WHERE key = ?", (bytes.fromhex(key),)
            ).fetchone()
        if row is None:
            return None
        checksum, *reply = row
        if checksum != _checksum(bytes.fromhex(key), *reply):
            warnings.warn(
                f"{self.path} has replies that were changed after they were stored; they are not "
                "used and asked for again",
                stacklevel=2,
            )
            return None
        return _reply(reply)

    def store(self, key: str, judge: str, prompt: str, characters: int, reply: Reply) -> None:
        """Write a reply; when this returns, killing the process cannot lose it."""
        with self._errors():
            hashed = bytes.fromhex(key)
            values = (hashed, judge, prompt, characters, *reply, _checksum(hashed, *reply))
            self._file.execute(
                "INSERT OR REPLACE INTO replies "
                f"(key, judge, prompt, characters, {_REPLY}, checksum) "
                f"VALUES ({', '.join('?' * len(values))})",
                values,
            )

    def stats(self) -> list[CacheStats]:
        with self._errors():
            rows = self._file.execute(
                "SELECT judge, prompt, COUNT(*), TOTAL(tokens_in), TOTAL(tokens_out), "
                "TOTAL(CASE WHEN tokens_in IS NULL THEN 0 ELSE characters END), TOTAL(seconds) "
                "FROM replies GROUP BY judge, prompt ORDER BY judge, prompt"
            ).fetchall()
        return [
            CacheStats._make((judge, prompt, *map(int, counts), seconds))
            for judge, prompt, *counts, seconds in rows
        ]

    def clear(
        self, judge: str | None = None, prompt: str | None = None, older_than: timedelta = _NO_AGE
    ) -> int:
        """Delete all replies, or those that are old or of judges or prompts with this prefix."""
        limit = (datetime.now(UTC) - older_than).strftime("%Y-%m-%d %H:%M:%S")
        with self._errors():
            deleted = self._file.execute(
                "DELETE FROM replies WHERE substr(judge, 1, length(:judge)) = :judge "
                "AND substr(prompt, 1, length(:prompt)) = :prompt AND stored <= :limit",
                {"judge": judge or "", "prompt": prompt or "", "limit": limit},
            ).rowcount
            self._file.execute("VACUUM")
            self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # nothing is left beside it
        return deleted

    def export(self) -> Iterator[str]:
        with self._errors():
            rows = self._file.execute(
                f"SELECT key, judge, prompt, stored, {_REPLY} FROM replies ORDER BY key"
            )
            for key, judge, prompt, stored, *reply in rows:
                origin = {"key": key.hex(), "judge": judge, "prompt": prompt, "stored": stored}
                yield json.dumps(origin | _reply(reply)._asdict(), ensure_ascii=False)

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Admit one thread at a time; report a full disk or a file of another kind in a line."""
        try:
            with self._lock:
                yield
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            is_damaged = isinstance(error, UnicodeDecodeError)  # SQLite quotes the damage
            unreadable = is_damaged or getattr(error, "sqlite_errorcode", None) in _UNREADABLE
            advice = f"; {_ADVICE}" if unreadable else ""
            raise OutputError(f"{self.path} cannot be used as a cache: {error}{advice}") from error


def _checksum(key: bytes, *reply: Any) -> bytes:
    """Eight bytes that change with a reply, before and after it was in SQLite."""
    *fields, constrained, seconds = reply
    numbers = [int(constrained), None if seconds is None else float(seconds)]
    content = json.dumps([key.hex(), *fields, *numbers])
    return hashlib.sha256(content.encode()).digest()[:8]


def _reply(row: Sequence[Any]) -> Reply:
    reply = Reply(*row)
    return reply._replace(constrained=bool(reply.constrained))
