"""A log of requests to other programs and machines, for an audit: `sent.jsonl` beside the cache.

A line of JSON for each request: when, to which host, for which model and purpose, how long it was
and its SHA-256; never its content, a key or a header. `HISTOEVAL_AUDIT` names another file, or
with 0 no file. Only the owner can read it.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from histoeval.errors import OutputError
from histoeval.io.writing import make_folder

AUDIT = "HISTOEVAL_AUDIT"
# names the folder of the cache and of this log, in place of ~/.cache/histoeval
CACHE = "HISTOEVAL_CACHE"


def cache_folder() -> Path:
    folder = os.environ.get(CACHE)
    return Path(folder) if folder else Path.home() / ".cache" / "histoeval"


def audit_log() -> Path | None:
    setting = os.environ.get(AUDIT, "")
    return None if setting == "0" else Path(setting) if setting else cache_folder() / "sent.jsonl"


def sent_line(url: str, model: str, purpose: str, content: bytes) -> dict[str, object]:
    parts = urlsplit(url)
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": parts.netloc.rpartition("@")[2],
        "url": f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}",
        "model": model,
        "purpose": purpose,
        "characters": len(content.decode("utf-8", "replace")),
        "sha256": hashlib.sha256(content).hexdigest(),
        "process": os.getpid(),
    }


def note_sent(url: str, model: str, purpose: str, content: bytes) -> None:
    """Note a request before it is sent.

    A file that was named and cannot be written stops the run; for the usual one there is a warning.
    """
    if (file := audit_log()) is None:
        return
    line = json.dumps(sent_line(url, model, purpose, content), ensure_ascii=False)
    try:
        make_folder(file.parent)
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, f"{line}\n".encode("utf-8", "backslashreplace"))
        finally:
            os.close(descriptor)
    except OSError as error:
        problem = f"it cannot be noted in {file} what is sent: {error.strerror or error}"
        if os.environ.get(AUDIT):
            raise OutputError(problem) from error
        warnings.warn(problem, stacklevel=2)
