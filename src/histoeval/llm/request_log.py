"""A record of what was sent, for an audit: `--log-requests FILE`.

A line of JSON for each request: what `runtime/audit.py` notes of it, and the body with the reports
in it. Pictures are replaced by their hashes. Headers, keys and the query of the address are left
out. Only the owner can read the file.
"""

import hashlib
import json
import os
import re
from base64 import b64decode
from pathlib import Path

from histoeval.errors import OutputError
from histoeval.io.store import VERB_FILES
from histoeval.runtime.audit import sent_line

_START = b'{"time": "'
"""How a log begins."""

_PICTURE = re.compile(r'(?<="data:image/)[a-z]{1,10};base64,[A-Za-z0-9+/=]+(?=")')


class RequestLog:
    """A file that requests are appended to before they are sent."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            _check_log(path)
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            if path.is_file():  # and no device
                path.chmod(0o600)
        except OSError as error:
            raise self._unusable(error) from error

    def add(self, url: str, body: bytes, model: str = "", purpose: str = "") -> None:
        """Append a request."""
        sent = json.loads(_PICTURE.sub(_hashed, body.decode()))
        line = sent_line(url, model, purpose, body) | {"body": sent}
        try:
            os.write(self._file, f"{json.dumps(line)}\n".encode())
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> OutputError:
        return OutputError(f"requests cannot be logged in {self.path}: {error.strerror or error}")


def _check_log(path: Path) -> None:
    """Refuse to add to a file that holds something else, or that a run writes results to."""
    is_log = True
    if path.is_file():
        with path.open("rb") as file:
            is_log = file.read(len(_START)) in (b"", _START)
    if not is_log or any(path.name in files for files in VERB_FILES.values()):
        raise OutputError(f"{path} is no log of requests; give another name to --log-requests")


def _hashed(found: re.Match[str]) -> str:
    kind, _, content = found.group().partition(";base64,")
    return f"{kind};sha256,{hashlib.sha256(b64decode(content)).hexdigest()}"
