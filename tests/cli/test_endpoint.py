"""Keys, headers and queries reach the server that they are for, and are written nowhere."""

import json
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from histoeval.llm.client import RequestLog
from tests.support.command import Outcome, run_in
from tests.support.fake_server import Call, Loopback, Wrong, right_answer, serving
from tests.support.fake_vlm import MALIGNANT, alone, write_picture  # noqa: F401
from tests.support.judge_pairs import make_pair, write_pairs
from tests.support.painted_slides import stained

pytestmark = pytest.mark.usefixtures("alone")

KEY, HEADER, QUERY = "sk-key-1f3e5d7c", "gateway-secret-9b8a7f", "2024-06-01-preview"
SECRETS = (KEY, HEADER, QUERY)
Run = Callable[..., Outcome]


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serving(Loopback()) as model:
        yield model


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("MY_KEY", KEY)
    (tmp_path.parent / f"{tmp_path.name}-header").write_text(HEADER, "utf-8")
    write_pairs(tmp_path / "pairs.csv", [make_pair(number) for number in range(4)])
    (tmp_path / "images").mkdir()
    write_picture(tmp_path / "images" / "a.png", stained(64, 64))
    (tmp_path / "reports.csv").write_text(f"id,image,report\n1,a.png,{MALIGNANT}\n", "utf-8")
    return partial(run_in, tmp_path)


def access(server: Loopback, folder: Path) -> tuple[str, ...]:
    """As for a gateway in front of Azure: a deployment, a query, a header and a key."""
    secret = folder.parent / f"{folder.name}-header"
    return (
        "--endpoint", server.url.replace("/v1", f"/openai/deployments/d?api-version={QUERY}"),
        "--model", "m", "--key-env", "MY_KEY",
        "--header", f"Ocp-Apim-Subscription-Key=file:{secret}",
    )  # fmt: skip


def leaks(folder: Path, *outcomes: Outcome) -> list[str]:
    """Where a secret can be read: in any file, or on the screen."""
    contents = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    screens = {f"screen {n}": "".join(each[1:]).encode() for n, each in enumerate(outcomes)}
    return [
        f"{secret} in {place}"
        for secret in SECRETS
        for place, content in (contents | screens).items()
        if secret.encode() in content
    ]


VERBS = {
    "judge": ("judge", "pairs.csv", "--output", "out", "--log-requests", "sent.jsonl"),
    "generate": ("generate", "images", "--output", "out", "--log-requests", "sent.jsonl"),
    "trust": (
        "trust", "--reports", "reports.csv", "--images", "images", "--output", "out",
        "--attack", "malignant_history", "--no-pictures",
    ),
    "score": ("score", "pairs.csv", "--metrics", "judge_rubric4", "--output", "out"),
    "check": ("judge", "check", "--output", "out.jsonl"),
}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_a_gateway_gets_header_key_and_query_and_nothing_else_does(
    server: Loopback, run: Run, tmp_path: Path, verb: str
) -> None:
    server.say = lambda call: MALIGNANT if verb in ("generate", "trust") else right_answer(call)
    outcome = run(*VERBS[verb], *access(server, tmp_path))
    assert outcome.code in ((0, 1) if verb in ("check", "trust") else (0,)), outcome.err
    for call in server.calls:
        assert call.path == f"/openai/deployments/d/chat/completions?api-version={QUERY}"
        assert call.headers["authorization"] == f"Bearer {KEY}"
        assert call.headers["ocp-apim-subscription-key"] == HEADER
    assert server.calls
    assert leaks(tmp_path, outcome) == []


def echo(call: Call) -> Wrong:
    """What a careless gateway does."""
    body = json.dumps({"error": f"400 {call.path} {call.headers} \x1b[2J"}).encode()
    return Wrong(status=400, raw=body)


@pytest.mark.parametrize("verb", ["judge", "generate"])
def test_a_server_that_repeats_everything_makes_no_secret_known(
    server: Loopback, run: Run, tmp_path: Path, verb: str
) -> None:
    server.fault = echo
    outcome = run(*VERBS[verb], *access(server, tmp_path))
    assert outcome.code in (1, 2)
    assert server.calls
    assert leaks(tmp_path, outcome) == []


def test_requests_are_logged_without_pictures(server: Loopback, run: Run, tmp_path: Path) -> None:
    assert run(*VERBS["judge"], *access(server, tmp_path)).code == 0
    log = tmp_path / "sent.jsonl"
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    bodies = [line["body"] for line in lines]
    assert sorted(map(json.dumps, bodies)) == sorted(json.dumps(c.body) for c in server.calls)
    assert {line["url"].partition("/openai")[2] for line in lines} == {
        "/deployments/d/chat/completions"
    }
    assert log.stat().st_mode & 0o777 == 0o600
    server.say = lambda call: MALIGNANT
    assert run(*VERBS["generate"], *access(server, tmp_path), "--overwrite").code == 0
    picture = json.loads(log.read_text("utf-8").splitlines()[-1])["body"]["messages"][0]
    assert picture["content"][0]["image_url"]["url"].startswith("data:image/jpeg;sha256,")
    refused = run(*VERBS["judge"], *access(server, tmp_path), "--log-requests", "no/such/file")
    assert refused.code == 2
    assert "requests cannot be logged in no/such/file" in refused.err


@pytest.mark.parametrize("name", ["pairs.json", "scores.jsonl"])
def test_a_log_of_requests_is_added_to_no_other_file(
    server: Loopback, run: Run, tmp_path: Path, name: str
) -> None:
    log = tmp_path / name
    if name == "pairs.json":
        log.write_text("[]")
        log.chmod(0o644)
    refused = run(*VERBS["judge"], *access(server, tmp_path), "--log-requests", name)
    assert refused.code == 2
    assert f"{name} is no log of requests" in refused.err
    assert not log.exists() or (log.read_text(), log.stat().st_mode & 0o777) == ("[]", 0o644)
    assert server.calls == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_device_that_requests_are_logged_to_keeps_its_mode(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o644)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    RequestLog(pipe).add("http://localhost/v1", b"{}")
    assert b'"url": "http://localhost/v1"' in os.read(reader, 1000)
    os.close(reader)
    assert pipe.stat().st_mode & 0o777 == 0o644


def test_an_address_without_encryption_is_warned_of_once(run: Run) -> None:
    there = ("--endpoint", "http://models.example.org/v1", "--model", "m")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        outcome = run("judge", "pairs.csv", *there, "--model", "n", "--dry-run")
    assert outcome.code == 0
    assert outcome.err.count("is not encrypted") == 1
    assert outcome.err.startswith("histoeval: http://models.example.org/v1 is not encrypted")
