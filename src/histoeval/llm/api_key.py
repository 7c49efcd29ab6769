"""API keys: read from the environment or a file; and messages without secrets."""

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from histoeval.errors import InputError, SettingError

ENVIRONMENT = "HISTOEVAL_JUDGE_KEY"
OPENAI = ("OPENAI_API_KEY", "api.openai.com")
"""This variable is used for this host only."""

_MIN_QUOTE = 20
"""A message that shares this many consecutive characters with a report quotes it."""

MAX_MESSAGE = 300


class Secret:
    """A key that is never shown by accident: not by repr, not by pickle."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The key itself, for the Authorization header."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")


def read_key(
    endpoint: str, *, variable: str | None = None, file: Path | None = None
) -> Secret | None:
    """The key for an endpoint: from the named file or variable, or from the default variable."""
    if file is not None:
        try:
            return _checked(file.read_text("utf-8"), str(file))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the key cannot be read from {file}: {error}") from error
    if variable is not None:
        if not os.environ.get(variable):
            raise SettingError(f"{variable}, which should hold the key, is not set")
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
    """A server's message without the key; withheld if it quotes a report."""
    text = " ".join(message.split())
    if secret is not None:
        text = text.replace(secret.reveal(), "…")
    for report in texts:
        plain = " ".join(report.split())
        pieces = {plain[at : at + _MIN_QUOTE] for at in range(max(1, len(plain) - _MIN_QUOTE + 1))}
        if any(piece and piece in text for piece in pieces):
            return "(the server's message quotes the report and is not repeated here)"
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}…"
