"""The HTTP client against servers on this machine: TLS, proxies, redirects, sizes, IPv6."""

import asyncio
import gzip
import os
import socket
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from histoeval.errors import EndpointError, SettingError
from histoeval.llm import client
from histoeval.llm.access import RetryPolicy, Secret, Tls
from histoeval.llm.chat import Instruction
from histoeval.llm.client import ClientError, HttpClient, Response
from histoeval.llm.service import Service
from histoeval.vlm.load import load_vlm
from histoeval.vlm.model import VlmConfig
from tests.llm.certificates import Certificates, make_certificates
from tests.llm.test_service import GOOD, REQUEST
from tests.support.command import Outcome, run_in
from tests.support.fake_server import Call, Loopback, Wrong, completion, serving
from tests.support.fake_vlm import described
from tests.support.judge_pairs import make_pair, write_pairs

BODY = b'{"messages": [0, {"content": ""}]}'
GZIP = (("Content-Encoding", "gzip"),)


def asked(endpoint: str, tls: Tls | None = None, key: str | None = None) -> str:
    """What a service replies."""
    secret = {} if key is None else {"Authorization": Secret(f"Bearer {key}")}
    service = Service(
        endpoint, "m", secret, RetryPolicy(timeout_s=5, attempts=1), connections=2, tls=tls
    )

    async def run() -> str:
        async with service:
            await service.ping()
            return (await service.ask(REQUEST)).text

    return asyncio.run(run())


def sent(url: str, *timeouts: float) -> list[Response | BaseException]:
    """The responses to requests at the same time."""

    async def run() -> list[Response | BaseException]:
        pool = HttpClient(url, 4, {})
        try:
            requests = [pool.send("POST", "/x", BODY, timeout) for timeout in timeouts]
            return [*await asyncio.gather(*requests, return_exceptions=True)]
        finally:
            await pool.close()

    return asyncio.run(run())


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def secure(certificates: Certificates) -> Iterator[Loopback]:
    with serving(Loopback(), tls=certificates.server_context()) as server:
        yield server


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_named_ca_is_trusted(secure: Loopback, certificates: Certificates, host: str) -> None:
    assert GOOD in asked(secure.url.replace("127.0.0.1", host), Tls(ca=certificates.ca))


def test_a_certificate_of_an_unknown_ca_is_refused_with_advice(secure: Loopback) -> None:
    with pytest.raises(EndpointError, match=r"certificate is not trusted: .*--ca"):
        asked(secure.url, key="sk-1")
    assert not secure.calls


def test_a_certificate_must_name_the_server(secure: Loopback, certificates: Certificates) -> None:
    """127.0.0.2 is the same server, and not in the certificate."""
    with (
        serving(Loopback(), host="127.0.0.2", tls=certificates.server_context()) as other,
        pytest.raises(EndpointError, match="not trusted"),
    ):
        asked(other.url.replace("127.0.0.1", "127.0.0.2"), Tls(ca=certificates.ca))


@pytest.mark.parametrize("files", [1, 2])
def test_a_client_certificate_is_sent_on_demand(certificates: Certificates, files: int) -> None:
    tls = Tls(
        ca=certificates.ca,
        client_cert=certificates.client,
        client_key=certificates.client.with_suffix(".key") if files == 2 else None,
    )
    with serving(Loopback(), tls=certificates.server_context(mutual=True)) as server:
        assert GOOD in asked(server.url, tls)
        with pytest.raises(EndpointError, match="cannot be reached"):
            asked(server.url, Tls(ca=certificates.ca))


def test_files_that_hold_no_certificate_are_named_before_anything_is_sent(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no certificate", "utf-8")
    for tls in (Tls(ca=tmp_path / "none.pem"), Tls(client_cert=tmp_path / "notes.txt")):
        with pytest.raises(SettingError, match=r"(none\.pem|notes\.txt) cannot be used as a"):
            Service("https://localhost/v1", "m", tls=tls)
    with pytest.raises(SettingError, match="--client-cert"):
        Service("https://localhost/v1", "m", tls=Tls(client_key=tmp_path / "notes.txt"))


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_a_private_ca_may_be_named_in_the_environment(
    secure: Loopback, certificates: Certificates, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(certificates.ca))
    assert GOOD in asked(secure.url)
    other = variable.replace("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
    monkeypatch.setenv(other, str(certificates.server.with_suffix(".ext")))
    with pytest.raises(SettingError, match=f"which {other} names, cannot be used"):
        asked(secure.url)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_missing_proxy_is_named_discreetly(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setenv(f"{scheme}_proxy", "http://me:hunter2@127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(EndpointError) as caught:
        asked(f"{scheme}://localhost:1/v1")
    assert f"{scheme.upper()}_PROXY names the proxy http://127.0.0.1:9:" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "me:" not in str(caught.value)


def test_a_refusing_proxy_is_quoted_without_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(Loopback):
        def respond(self, call: Call) -> tuple[bytes, Wrong]:
            return b"HTTP/1.1 407 Log in\x9b2J first\r\nContent-Length: 0\r\n\r\n", Wrong()

    with serving(Refusing()) as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "")
        with pytest.raises(EndpointError, match="the proxy refuses: 407 Log in") as caught:
            asked("https://localhost:1/v1")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "address", ["socks5://me:hunter2@127.0.0.1:9", "ftp://proxy:21", "http://proxy:99999", "p:abc"]
)
def test_an_unusable_proxy_is_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(client, "find_spec", lambda name: None)
    monkeypatch.setenv("https_proxy", address)
    with pytest.raises(SettingError, match="which HTTPS_PROXY names, cannot be used") as caught:
        Service("https://localhost/v1", "m")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("exempt", ["127.0.0.1", "127.0.0.0/8", "*", "x.example.org, 127.0.0.1"])
def test_no_proxy_exempts(loopback: Loopback, monkeypatch: pytest.MonkeyPatch, exempt: str) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", exempt)
    assert GOOD in asked(loopback.url)


def test_a_path_in_any_script_and_a_query_are_sent(loopback: Loopback) -> None:
    address = loopback.url.replace("/v1", "/\u6a21/v1?api-version=2024-06-01&d=a%20b")
    assert GOOD in asked(address)
    assert loopback.calls[0].path == (
        "/%E6%A8%A1/v1/chat/completions?api-version=2024-06-01&d=a%20b"
    )


def test_plain_requests_go_through_the_proxy_that_the_environment_names(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", loopback.url.removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "127.0.0.1,other.example.com")
    with pytest.warns(UserWarning, match="not encrypted"):
        assert GOOD in asked("http://models.example.com/v1")
    assert loopback.calls[0].path == "http://models.example.com/v1/chat/completions"
    assert GOOD in asked(loopback.url)
    assert loopback.calls[1].path == "/v1/chat/completions", "NO_PROXY names it"


def test_https_goes_through_a_tunnel_of_the_proxy(
    secure: Loopback, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy sees where to, and nothing of the key."""
    heads: list[bytes] = []
    closed: list[asyncio.Event] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        closed.append(asyncio.Event())
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        there, to_there = await asyncio.open_connection("127.0.0.1", secure.port)
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")

        async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while piece := await source.read(65536):
                target.write(piece)
            target.close()

        await asyncio.gather(pump(reader, to_there), pump(there, writer))
        await asyncio.gather(writer.wait_closed(), to_there.wait_closed(), return_exceptions=True)
        closed[-1].set()

    async def run() -> str:
        async with await asyncio.start_server(tunnel, "127.0.0.1", 0) as proxy:
            port = proxy.sockets[0].getsockname()[1]
            monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
            monkeypatch.setenv("no_proxy", "")
            url = f"https://localhost:{secure.port}/v1"
            answer = await asyncio.to_thread(asked, url, Tls(ca=certificates.ca), "sk-1")
            await asyncio.gather(*(event.wait() for event in closed))
            return answer

    assert GOOD in asyncio.run(run())
    assert heads[0].startswith(f"CONNECT localhost:{secure.port} ".encode())
    assert b"sk-1" not in b"".join(heads)
    assert secure.calls[0].headers["authorization"] == "Bearer sk-1"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_reported_and_nothing_follows_it(loopback: Loopback, status: int) -> None:
    with serving(Loopback()) as other:
        there = f"{other.url}/chat/completions?token=sk-secret"
        loopback.fault = lambda call: Wrong(status=status, raw=b"", headers=(("Location", there),))
        with pytest.raises(EndpointError, match=f"redirects to {other.url}:") as caught:
            asked(loopback.url, key="sk-1")
        assert "sk-secret" not in str(caught.value)
        assert other.connections == 0
    assert len(loopback.calls) == 1


def test_a_compressed_answer_is_read(loopback: Loopback) -> None:
    packed = gzip.compress(completion("small"))
    loopback.fault = lambda call: Wrong(raw=packed, headers=GZIP)
    assert asked(loopback.url) == "small"
    assert "gzip" in loopback.calls[0].headers["accept-encoding"]


def test_a_gzip_bomb_is_stopped_before_it_fills_the_memory(loopback: Loopback) -> None:
    bomb = gzip.compress(bytes(100 * 2**20), 1)
    assert len(bomb) < 2**20
    loopback.fault = lambda call: Wrong(raw=bomb, headers=GZIP)
    tracemalloc.start()
    try:
        (failure,) = sent(loopback.url, 30)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(failure, ClientError)
    assert "longer than 16 MiB" in str(failure)
    assert peak < 60 * 2**20


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (Wrong(raw=bytes(3000)), "longer than"),
        (Wrong(raw=b"no gzip", headers=GZIP), "compressed answer is broken"),
        (Wrong(cut=True), "dropped"),
        (Wrong(headers=(("Content-Length", "many"),)), "dropped"),
    ],
)
def test_an_answer_that_cannot_be_used_is_explained(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, wrong: Wrong, reason: str
) -> None:
    monkeypatch.setattr(client, "MAX_BYTES", 2048)
    loopback.fault = lambda call: wrong
    (failure,) = sent(loopback.url, 5)
    assert isinstance(failure, ClientError)
    assert reason in str(failure)


def test_what_does_not_speak_http_is_not_quoted(loopback: Loopback) -> None:
    loopback.respond = lambda call: (b"SSH-2.0-secret\r\n\r\n", Wrong())  # type: ignore[method-assign]
    (failure,) = sent(loopback.url, 5)
    assert str(failure) == client.DROPPED


def test_each_request_has_its_own_deadline(loopback: Loopback) -> None:
    loopback.delay = 0.5
    kinds = [type(answer) for answer in sent(loopback.url, 9.0, 0.1, 9.0)]
    assert kinds == [Response, TimeoutError, Response]


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6 here")
def test_an_ipv6_address_is_taken() -> None:
    try:
        with serving(Loopback(), host="::1") as server:
            assert GOOD in asked(f"http://[::1]:{server.port}/v1")
            assert server.calls[0].headers["host"] == f"[::1]:{server.port}"
    except OSError as error:
        pytest.skip(f"there is no IPv6 here: {os.strerror(error.errno or 0)}")


def test_a_connection_that_the_server_closed_is_opened_again(loopback: Loopback) -> None:
    loopback.fault = lambda call: Wrong(headers=(("Connection", "close"),))

    async def twice() -> list[int]:
        pool = HttpClient(loopback.url, 2, {})
        try:
            return [(await pool.send("POST", "/x", BODY, 5)).status for _ in range(2)]
        finally:
            await pool.close()

    assert asyncio.run(twice()) == [200, 200]


def test_the_command_line_and_python_name_certificates(
    certificates: Certificates, tmp_path: Path
) -> None:
    write_pairs(tmp_path / "pairs.csv", [make_pair(number) for number in range(3)])
    with serving(Loopback(), tls=certificates.server_context(mutual=True)) as server:
        who = ("--endpoint", server.url, "--model", "m", "--no-cache")
        tls = ("--ca", str(certificates.ca), "--client-cert", str(certificates.client))

        def judge(*arguments: str) -> Outcome:
            return run_in(tmp_path, "judge", "pairs.csv", *who, *arguments)

        assert judge(*tls).code == 0
        assert len(server.calls) == 3
        refused = judge("--ca", str(certificates.ca))
        assert (refused.code, refused.out) == (2, "")
        assert "cannot be reached" in refused.err
        named = Tls(ca=certificates.ca, client_cert=certificates.client)
        config = VlmConfig(endpoint=server.url, model="m", tls=named)
        instruction = Instruction(name="plain", version=1, kind="neutral", text="Describe it.")
        server.say = lambda call: "A polyp."
        assert described(load_vlm(config), [], instruction) == "A polyp."
