"""How an endpoint is entered: its key, further headers and certificates; and nothing of it shown.

Secrets come from the environment or from files, never from the command line. Each belongs to one
endpoint: with endpoints on different hosts every key and header is named for the one it is for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from histoeval.errors import InputError, SettingError
from histoeval.report import Noun
from histoeval.settings import ACCESS, Option

if TYPE_CHECKING:
    import ssl

JUDGE_ENDPOINT, JUDGE_MODEL = "HISTOEVAL_JUDGE_ENDPOINT", "HISTOEVAL_JUDGE_MODEL"
"""They name the judge where nothing else does."""

JUDGE_KEY, SUBJECT_KEY = "HISTOEVAL_JUDGE_KEY", "HISTOEVAL_SUBJECT_KEY"
"""Where the key of a judge and that of a model under test are, unless another place is named."""

OPENAI = ("OPENAI_API_KEY", "api.openai.com")
"""This variable is used for this host only."""

NO_KEY = "none"
"""In place of a variable or a file: this endpoint gets no key."""

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OWN_HEADERS = frozenset(
    "accept-encoding connection content-length content-type host transfer-encoding".split()
)

_MIN_QUOTE = 20
"""A message that shares this many consecutive characters with a report quotes it."""

MAX_MESSAGE = 300


class Secret:
    """A key that is never shown by accident: not by repr, not by pickle."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The key itself, for the header that carries it."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")


class Tls(Noun):
    """Certificates beyond those of the system, all as PEM files."""

    ca: Annotated[
        Path | None,
        Option("PEM file of private certificate authorities, trusted beside the system's.", ACCESS),
    ] = None
    client_cert: Annotated[
        Path | None,
        Option(
            "PEM file with the client certificate (mTLS), and its key unless --client-key "
            "names it.",
            ACCESS,
        ),
    ] = None
    client_key: Annotated[
        Path | None, Option("PEM file with the key of --client-cert.", ACCESS)
    ] = None

    def add_to(self, context: ssl.SSLContext) -> None:
        """Have TLS connections made with these as well."""
        if self.client_key is not None and self.client_cert is None:
            raise SettingError("--client-key needs --client-cert, the certificate it belongs to")
        path = self.ca
        try:
            if path is not None:
                context.load_verify_locations(path)
            if (path := self.client_cert) is not None:
                context.load_cert_chain(path, self.client_key, password=lambda: "")
        except OSError as error:
            what = "a CA certificate" if path == self.ca else "a client certificate with its key"
            reason = error.strerror or str(error)
            raise SettingError(
                f"{path} cannot be used as {what}: {reason} (unencrypted PEM is expected)"
            ) from error


class Access(Noun):
    """What one endpoint is given to let requests in; the secrets themselves are read when used."""

    key_env: str | None = None
    """The environment variable that holds the API key; "none" for no key."""
    key_file: Path | None = None
    headers: Mapping[str, str] = {}
    """Further headers by name; the value is "env:VARIABLE" or "file:PATH"."""
    tls: Tls | None = None
    """A private CA, or a certificate of the client."""

    def secrets(self, endpoint: str, usual: str | None) -> dict[str, Secret]:
        """The headers for an endpoint; without a key of its own it gets that of `usual`."""
        found = {name: _header(name, value) for name, value in self.headers.items()}
        key = self._key(endpoint, usual)
        if key is not None:
            if any(name.lower() == "authorization" for name in found):
                raise SettingError("there are both a key and a header Authorization: give one")
            found["Authorization"] = Secret(f"Bearer {key}")
        return found

    @property
    def names_key(self) -> bool:
        """Whether it says which key to use, or that there is none."""
        return self.key_env is not None or self.key_file is not None

    @property
    def has_secrets(self) -> bool:
        """Whether it names a key or a header."""
        places = {self.key_env, None if self.key_file is None else str(self.key_file)}
        return bool(self.headers) or bool(places - {None, NO_KEY})

    def _key(self, endpoint: str, usual: str | None) -> str | None:
        file = None if self.key_file is None or str(self.key_file) == NO_KEY else self.key_file
        variable = None if self.key_env == NO_KEY else self.key_env
        if file is not None and variable is not None:
            raise SettingError(f"one endpoint has two keys: {variable} and {file}")
        if file is not None:
            return _one_word(_in_file(file, "the key"), str(file))
        if variable is not None:
            return _one_word(_in_variable(variable, "the key"), variable)
        names = [usual] if usual and not self.names_key else []
        if not self.names_key and _host(endpoint) == OPENAI[1]:
            names.append(OPENAI[0])
        for name in names:
            if os.environ.get(name):
                return _one_word(os.environ[name], name)
        return None


class Endpoint(Access):
    """A language or vision-language model: an OpenAI-compatible server, or one in this process.

    Examples:
        >>> Endpoint(url="http://localhost:8000/v1", model="Qwen/Qwen3-32B")
        >>> Endpoint(url="https://llm.example.org/v1", model="m", key_env="MY_KEY")
        >>> Endpoint(model="./my-model")  # a Transformers model here; extra [hf]
    """

    model: str
    url: str = "local"
    device: str | None = None


def one_each(accesses: Sequence[Access], endpoints: Sequence[str], usual: str) -> list[Access]:
    """The access to each endpoint of a panel, in order; one host's is never used for another.

    A single one may serve several endpoints of one host and port.
    """
    hosts = {_host(endpoint) for endpoint in endpoints if "://" in endpoint}
    advice = (
        "name a key for each --endpoint in the same order: repeat --key-env VARIABLE (or "
        f"--key-file FILE), '{NO_KEY}' where none is needed; and number headers, as in --header "
        "2:api-key=env:VARIABLE (Python: an Endpoint each, with its own key_env and headers)"
    )
    if len(accesses) == 1:
        if len(hosts) > 1 and accesses[0].has_secrets:
            raise SettingError(f"one key or header for {len(hosts)} hosts: {advice}")
        accesses = [*accesses] * len(endpoints)
    if len(accesses) != len(endpoints):
        raise SettingError(f"{len(accesses)} keys for {len(endpoints)} endpoints: {advice}")
    if len(hosts) > 1 and os.environ.get(usual) and not all(each.names_key for each in accesses):
        raise SettingError(
            f"{usual} is set and would be sent to {len(hosts)} hosts, one of which it is not for; "
            f"{advice}"
        )
    return list(accesses)


def _host(endpoint: str) -> str:
    """Host and port of an address, whether or not it can be used."""
    return endpoint.partition("://")[2].partition("/")[0].partition("?")[0].lower()


def _header(name: str, value: str) -> Secret:
    """The value of a header, from the place that is named."""
    if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
        raise SettingError(f"--header {name!r}: this header cannot be set")
    kind, _, place = value.partition(":")
    if kind not in ("env", "file") or not place:
        raise SettingError(
            f"--header {name}: name where its value is, as in {name}=env:VARIABLE or "
            f"{name}=file:PATH, so that it is not seen in the list of processes"
        )
    what = f"the header {name}"
    text = _in_variable(place, what) if kind == "env" else _in_file(Path(place), what)
    if not text.isprintable() or not text.isascii():
        raise InputError(f"{place} holds no value of a header: one line of ASCII is expected")
    return Secret(text)


def _in_variable(name: str, what: str) -> str:
    if not os.environ.get(name, "").strip():
        raise SettingError(f"the environment variable {name}, which should hold {what}, is not set")
    return os.environ[name].strip()


def _in_file(path: Path, what: str) -> str:
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise InputError(f"{what} cannot be read from {path}: {reason}") from error
    if not text:
        raise InputError(f"{path}, which should hold {what}, is empty")
    return text


def _one_word(text: str, where: str) -> str:
    key = text.strip()
    if not key or not key.isprintable() or not key.isascii() or " " in key:
        raise InputError(f"{where} holds no key: one word is expected")
    return key


def discreet(message: str, secrets: Iterable[str], texts: Iterable[str]) -> str:
    """A server's message, shortened and without secrets; withheld if it quotes a report."""
    for secret in secrets:
        message = message.replace(secret, "…")
    words = " ".join(message[: 20 * MAX_MESSAGE].split())
    shown = words[:MAX_MESSAGE]
    near = words[: MAX_MESSAGE + _MIN_QUOTE]  # a quotation that the end of what is shown would cut
    if any(_quotes(near, " ".join(report.split())) for report in texts):
        return "(the server's message quotes the report and is not repeated here)"
    return f"{shown}…" if len(words) > MAX_MESSAGE or len(message) > 20 * MAX_MESSAGE else shown


def _quotes(message: str, report: str) -> bool:
    """Whether a message has that many characters of a report, or all of a shorter one.

    A quotation covers one of the message's blocks of half its length: only around blocks that the
    report has is there anything to look up.
    """
    if len(report) < _MIN_QUOTE:
        return bool(report) and report in message
    half = _MIN_QUOTE // 2
    return any(
        message[start : start + _MIN_QUOTE] in report
        for at in range(0, len(message) - half + 1, half)
        if message[at : at + half] in report
        for start in range(max(0, at - half), min(at, len(message) - _MIN_QUOTE) + 1)
    )
