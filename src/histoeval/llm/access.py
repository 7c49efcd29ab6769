"""Access to endpoints: keys, headers, certificates, and the settings of requests.

Secrets come from the environment or from files, never from the command line. Each belongs to one
endpoint: with endpoints on different hosts every key and header is named for the one it is for.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from histoeval.errors import InputError, SettingError
from histoeval.report import Noun
from histoeval.settings import ACCESS, REQUESTS, Option

if TYPE_CHECKING:
    import ssl

# they name the judge where nothing else does
JUDGE_ENDPOINT, JUDGE_MODEL = "HISTOEVAL_JUDGE_ENDPOINT", "HISTOEVAL_JUDGE_MODEL"

# where the key of a judge and that of a model under test are, unless another place is named
JUDGE_KEY, SUBJECT_KEY = "HISTOEVAL_JUDGE_KEY", "HISTOEVAL_SUBJECT_KEY"
OPENAI = ("OPENAI_API_KEY", "api.openai.com")  # this variable is used for this host only
NO_KEY = "none"  # in place of a variable or a file: this endpoint gets no key
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OWN_HEADERS = frozenset(
    "accept-encoding connection content-length content-type host transfer-encoding".split()
)

_MIN_QUOTE = 20  # a message that shares this many consecutive characters with a report quotes it
MAX_MESSAGE = 300


class Secret:
    """A key that is never shown by accident: not by repr, not by pickle."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")


class Tls(Noun):
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
        if self.client_key is not None and self.client_cert is None:
            raise SettingError("--client-key needs --client-cert, the certificate it belongs to")
        path, kind = self.ca, "a CA certificate"
        try:
            if self.ca is not None:
                context.load_verify_locations(self.ca)
            if self.client_cert is not None:
                path, kind = self.client_cert, "a client certificate with its key"
                context.load_cert_chain(path, self.client_key, password=lambda: "")
        except OSError as error:
            reason = error.strerror or str(error)
            raise SettingError(
                f"{path} cannot be used as {kind}: {reason} (unencrypted PEM is expected)"
            ) from error


class Access(Noun):
    """Key, headers and certificates for one endpoint; the secrets are read when they are used."""

    key_env: str | None = None
    """The environment variable that holds the API key; "none" for no key."""
    key_file: Path | None = None
    headers: Mapping[str, str] = {}
    """Further headers by name; the value is "env:VARIABLE" or "file:PATH"."""
    tls: Tls | None = None

    @property
    def names_key(self) -> bool:
        return self.key_env is not None or self.key_file is not None

    @property
    def has_secrets(self) -> bool:
        return bool(self.headers) or self._key_places() != (None, None)

    def _key_places(self) -> tuple[Path | None, str | None]:
        file = None if str(self.key_file) == NO_KEY else self.key_file
        return file, None if self.key_env == NO_KEY else self.key_env

    def secrets(self, endpoint: str, usual: str | None) -> dict[str, Secret]:
        """The headers for an endpoint; without a key of its own it gets that of `usual`."""
        headers = {name: _header(name, value) for name, value in self.headers.items()}
        file, variable = self._key_places()
        if file is not None and variable is not None:
            raise SettingError(f"one endpoint has two keys: {variable} and {file}")
        if not self.names_key:
            usuals = (usual, OPENAI[0] if _host(endpoint) == OPENAI[1] else None)
            variable = next((name for name in usuals if name and os.environ.get(name)), None)
        source = variable if file is None else file
        if source is None:
            return headers
        key = _read_secret(source, "the key")
        if not key.isprintable() or not key.isascii() or " " in key:
            raise InputError(f"{source} holds no key: one word is expected")
        if any(name.lower() == "authorization" for name in headers):
            raise SettingError("there are both a key and a header Authorization: give one")
        return headers | {"Authorization": Secret(f"Bearer {key}")}


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
    """Return one access for each endpoint; a single one serves endpoints of one host and port."""
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
    has_open_place = not all(access.names_key for access in accesses)
    if len(hosts) > 1 and os.environ.get(usual) and has_open_place:
        raise SettingError(
            f"{usual} is set and would be sent to {len(hosts)} hosts, one of which it is not for; "
            f"{advice}"
        )
    return list(accesses)


def _host(endpoint: str) -> str:
    return endpoint.partition("://")[2].partition("/")[0].partition("?")[0].lower()


def _header(name: str, value: str) -> Secret:
    if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
        raise SettingError(f"--header {name!r}: this header cannot be set")
    kind, _, source = value.partition(":")
    if kind not in ("env", "file") or not source:
        raise SettingError(
            f"--header {name}: name where its value is, as in {name}=env:VARIABLE or "
            f"{name}=file:PATH, so that it is not seen in the list of processes"
        )
    text = _read_secret(source if kind == "env" else Path(source), f"the header {name}")
    if not text.isprintable() or not text.isascii():
        raise InputError(f"{source} holds no value of a header: one line of ASCII is expected")
    return Secret(text)


def _read_secret(source: Path | str, purpose: str) -> str:
    if isinstance(source, str):
        if not os.environ.get(source, "").strip():
            raise SettingError(
                f"the environment variable {source}, which should hold {purpose}, is not set"
            )
        return os.environ[source].strip()
    try:
        text = source.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise InputError(f"{purpose} cannot be read from {source}: {reason}") from error
    if not text:
        raise InputError(f"{source}, which should hold {purpose}, is empty")
    return text


def discreet(message: str, secrets: Iterable[str], texts: Iterable[str]) -> str:
    """A server's message, shortened and without secrets; withheld if it quotes a report."""
    for secret in secrets:
        message = message.replace(secret, "…")
    words = " ".join(message[: 20 * MAX_MESSAGE].split())
    head = words[: MAX_MESSAGE + _MIN_QUOTE]  # a quotation that the end of what is shown would cut
    if any(_quotes(head, " ".join(report.split())) for report in texts):
        return "(the server's message quotes the report and is not repeated here)"
    is_cut = len(words) > MAX_MESSAGE or len(message) > 20 * MAX_MESSAGE
    return words[:MAX_MESSAGE] + ("…" if is_cut else "")


def _quotes(message: str, report: str) -> bool:
    """True if a message has `_MIN_QUOTE` characters of a report, or all of a shorter one."""
    if len(report) < _MIN_QUOTE:
        return bool(report) and report in message
    starts = range(len(message) - _MIN_QUOTE + 1)
    return any(message[start : start + _MIN_QUOTE] in report for start in starts)


# --- options of verbs that send requests ----------------------------------------------------------

CacheFile = Annotated[
    Path | None, Option("Cache file for replies; ~/.cache/histoeval/judge.sqlite when omitted.")
]
Temperature = Annotated[
    float, Option("Sampling temperature.", REQUESTS, min=0, python="of the sampling.")
]


Positive = Annotated[float, Field(gt=0)]


class RetryPolicy(Noun):
    timeout_s: Annotated[
        Positive, Option("Seconds to wait for an answer.", REQUESTS, name="--timeout", min=0.01)
    ] = 120.0
    attempts: Annotated[
        int, Field(ge=1), Option("Attempts before a request fails.", REQUESTS, min=1)
    ] = 6
    longest_wait_s: Positive = 300.0  # a request whose server asks for a longer wait is given up
    requests_a_minute: Annotated[
        Positive | None,
        Option(
            "Maximum requests per minute.", REQUESTS, name="--rpm", shell=float | None, min=0.01
        ),
    ] = None
    tokens_a_minute: Annotated[
        Positive | None,
        Option("Maximum tokens per minute.", REQUESTS, name="--tpm", shell=float | None, min=1),
    ] = None


@dataclass(frozen=True)
class AccessOptions:
    key_env: Annotated[
        list[str] | None,
        Option(
            "Environment variable with the API key; HISTOEVAL_JUDGE_KEY when omitted. With "
            "several endpoints one for each, in order; 'none' for no key.",
            ACCESS,
            metavar="VARIABLE",
        ),
    ] = None
    key_file: Annotated[
        list[Path] | None,
        Option("File with the API key; one for each endpoint, or 'none'.", ACCESS),
    ] = None
    header: Annotated[
        list[str] | None,
        Option(
            "Further header, as in api-key=env:VARIABLE or api-key=file:PATH; 2:api-key=... is "
            "for the second endpoint.",
            ACCESS,
            metavar="NAME=env:VARIABLE",
        ),
    ] = None
    tls: Tls = field(default_factory=Tls)

    def accesses(self, endpoints: int) -> list[dict[str, Any]]:
        """The fields of an Access for each endpoint, or of one for all."""
        headers = [_numbered_header(text, endpoints) for text in self.header or ()]
        numbers = {number for number, _, _ in headers}
        key_options = [keys for keys in (self.key_env, self.key_file) if keys]
        has_several = any(numbers) or any(len(keys) > 1 for keys in key_options)
        count = endpoints if has_several else 1
        for keys in key_options:
            if len(keys) != count:
                raise SettingError(
                    f"{len(keys)} keys for {count} endpoints: give --key-env or --key-file once "
                    f"for each --endpoint, in the same order; '{NO_KEY}' where none is needed"
                )
        if count > 1 and 0 in numbers:
            raise SettingError(
                "with several endpoints say which one a header is for, as in "
                "--header 2:api-key=env:VARIABLE for the second"
            )
        return [
            {
                "key_env": self.key_env[index] if self.key_env else None,
                "key_file": self.key_file[index] if self.key_file else None,
                "headers": {
                    name: value for number, name, value in headers if number in (0, index + 1)
                },
                "tls": self.tls,
            }
            for index in range(count)
        ]


@dataclass(frozen=True)
class VlmAccess(AccessOptions):
    key_env: Annotated[
        list[str] | None,
        Option(
            "Environment variable with the API key; HISTOEVAL_SUBJECT_KEY when omitted; 'none' "
            "for no key.",
            ACCESS,
            metavar="VARIABLE",
        ),
    ] = None


def _numbered_header(text: str, endpoints: int) -> tuple[int, str, str]:
    """Split a header into the number of its endpoint (0: not given), its name and its value."""
    name, equals, value = text.partition("=")
    prefix, colon, suffix = name.partition(":")
    number = int(prefix) if colon and prefix.isdecimal() and prefix.isascii() else 0
    if not equals or (colon and not 1 <= number <= endpoints):
        raise SettingError(
            f"--header {prefix} is not understood: write {prefix}=env:VARIABLE or "
            f"{prefix}=file:PATH, and 2:{prefix}=... for the second of several endpoints"
        )
    return number, suffix if colon else name, value


def _json_object(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise SettingError(f"--body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise SettingError("--body must be a JSON object")
    return body


@dataclass(frozen=True)
class RequestOptions:
    body: Annotated[
        Mapping[str, Any],
        Option(
            "Extra JSON for the request body; null removes a field, as in "
            '\'{"seed": null, "reasoning_effort": "low"}\'.',
            REQUESTS,
            shell=str | None,
            read=_json_object,
            metavar="JSON",
        ),
    ] = field(default_factory=dict)
    concurrency: Annotated[int, Option("Requests at a time.", REQUESTS, min=1, max=1024)] = 16
    log_requests: Annotated[
        Path | None,
        Option("File to append every request to, with the reports and without keys.", REQUESTS),
    ] = None
    patience: RetryPolicy = field(default_factory=RetryPolicy)
    cache: CacheFile = None
    keep: Annotated[bool, Option("Do not cache replies.", name="--no-cache")] = True

    def fields(self) -> dict[str, Any]:
        names = ("concurrency", "log_requests", "patience", "cache", "keep")
        return {name: getattr(self, name) for name in names}
