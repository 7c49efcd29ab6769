"""Keys of services: from the environment or a file, and nowhere else; and what may be told."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from histoeval.errors import InputError, SettingError

ENVIRONMENT = "HISTOEVAL_JUDGE_KEY"
OPENAI = ("OPENAI_API_KEY", "api.openai.com")
"""The key that people have for OpenAI goes to OpenAI alone."""

_QUOTED = 20
"""A message that shares so many characters in a row with a report quotes it."""

LONGEST_MESSAGE = 300


class Secret:
    """A key that shows itself only to who asks for it by name."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The key itself, for the one header it belongs in."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")


def read_key(
    endpoint: str, *, variable: str | None = None, file: Path | None = None
) -> Secret | None:
    """The key for an endpoint: of the file or variable that was named, or of the usual variable."""
    if file is not None:
        try:
            return _checked(file.read_text("utf-8"), str(file))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the key cannot be read from {file}: {error}") from error
    if variable is not None:
        if not os.environ.get(variable):
            raise SettingError(f"the environment has no {variable}, which should hold the key")
        return _checked(os.environ[variable], variable)
    usual = [ENVIRONMENT]
    if urlsplit(endpoint).hostname == OPENAI[1]:
        usual.append(OPENAI[0])
    for name in usual:
        if os.environ.get(name):
            return _checked(os.environ[name], name)
    return None


def _checked(text: str, where: str) -> Secret:
    key = text.strip()
    if not key or not key.isprintable() or not key.isascii() or " " in key:
        raise InputError(f"{where} holds no key: one word is expected")
    return Secret(key)


def discreet(message: str, secret: Secret | None, texts: Iterable[str]) -> str:
    """What a server said, if it can be told: without the key, and not if it quotes a report."""
    told = " ".join(message.split())
    if secret is not None:
        told = told.replace(secret.reveal(), "…")
    for text in texts:
        plain = " ".join(text.split())
        pieces = {plain[at : at + _QUOTED] for at in range(max(1, len(plain) - _QUOTED + 1))}
        if any(piece and piece in told for piece in pieces):
            return "(what the server said quotes the report, and is not repeated here)"
    return told if len(told) <= LONGEST_MESSAGE else f"{told[:LONGEST_MESSAGE]}…"
