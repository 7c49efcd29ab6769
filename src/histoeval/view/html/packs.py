"""Data inside a page: columns as JSON, and long texts in packs that are unpacked when needed.

Nothing here can end the element that it stands in: JSON has no `<`, and packs are base64.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from typing import Any

PACKED = 40
"""Fragments in one pack: few enough to be unpacked at once, enough to be small together."""

MAX_BYTES = 21_000_000
"""All packs of a page together; what comes later is left out, and the page says so."""

_STEERING = "<>&\u2028\u2029"
"""What could end an element, or a line of a script."""


def embedded_json(content: Any) -> str:
    """JSON for a `<script type="application/json">`."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in _STEERING:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


class Packs:
    """Fragments of HTML in the order in which they were added, some together in a pack."""

    def __init__(self, limit: int = MAX_BYTES) -> None:
        self.packs: list[str] = []
        self.shown = 0
        """How many fragments there was room for: the first ones."""
        self._open: list[str] = []
        self._room = limit

    def add(self, fragment: str) -> None:
        """Add one; without room it is left out, and so are all after it."""
        if self._room <= 0:
            return
        self._open.append(fragment)
        self.shown += 1
        if len(self._open) == PACKED:
            self.close()

    def close(self) -> None:
        """Pack what is open."""
        if self._open:
            content = json.dumps(self._open, ensure_ascii=False).encode("utf-8", "backslashreplace")
            packed = b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")
            self._room -= len(packed)
            self.packs.append(packed)
            self._open = []
