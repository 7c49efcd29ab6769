"""A service that misbehaves is asked again when that may help, and never when it does not."""

import asyncio
import email.utils
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import EndpointError
from histoeval.judges.prompt import load_prompt
from histoeval.llm import service
from histoeval.llm.access import RetryPolicy, Secret
from histoeval.llm.chat import NoReply, Reply, Request, RequestRefused
from histoeval.llm.service import RateLimit, Service, retry_after, wait_before
from tests.support.fake_server import Call, Fault, Loopback, Wrong, completion, stream

PROMPT = load_prompt("rubric4")
TEXTS = ("a reference of the ascending colon", "a candidate scored 4 3 2 1 as it deserves")
REQUEST = Request(
    PROMPT.messages(*TEXTS),
    PROMPT.schema_of_answer,
    '{"temperature": 0, "seed": 3, "max_tokens": 99}',
    TEXTS,
)
GOOD = '"overall_equivalence": 1'


def ask(server: Loopback, times: int = 1, **settings: Any) -> list[Reply]:
    """The replies to as many equal requests at a time."""
    key = settings.pop("key", "")
    secrets = {"Authorization": Secret(f"Bearer {key}")} if key else {}
    form = settings.pop("form", "auto")
    patience = RetryPolicy(**({"timeout_s": 5} | settings))
    asked = Service(server.url, "m", secrets, patience, form)

    async def run() -> list[Reply]:
        async with asked:
            return list(await asyncio.gather(*[asked.ask(REQUEST) for _ in range(times)]))

    return asyncio.run(run())


def at_first(*wrongs: Wrong) -> Fault:
    """Something wrong in the first calls."""
    left = list(wrongs)
    return lambda call: left.pop(0) if left else None


def test_a_request_says_everything_that_counts(loopback: Loopback) -> None:
    (reply,) = ask(loopback, key="sk-1")
    (call,) = loopback.calls
    assert call.path == "/v1/chat/completions"
    assert call.headers["authorization"] == "Bearer sk-1"
    assert call.body["model"] == "m"
    assert (call.body["temperature"], call.body["seed"], call.body["max_tokens"]) == (0, 3, 99)
    described = call.body["response_format"]["json_schema"]
    assert described["schema"] == PROMPT.schema_of_answer
    assert call.body["messages"] == PROMPT.messages(*TEXTS)
    assert GOOD in reply.text
    assert (reply.tokens_in, reply.tokens_out, reply.constrained) == (900, 50, True)
    assert reply.finish == "stop"


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong(status=429, headers=(("Retry-After", "0"),)),
        Wrong(status=500),
        Wrong(status=502, raw=b"<html>bad gateway</html>"),
        Wrong(status=503),
        Wrong(cut=True),
        Wrong(raw=b"not json"),
        Wrong(raw=b"[]"),
        Wrong(raw=b'{"choices": []}'),
        Wrong(raw=b'{"choices": [{"message": {"content": 7}}]}'),
        Wrong(raw=stream("{}")[:60], headers=(("Content-Type", "text/event-stream"),)),
    ],
)
def test_what_may_pass_is_tried_again(loopback: Loopback, wrong: Wrong) -> None:
    loopback.fault = at_first(wrong, wrong)
    (reply,) = ask(loopback)
    assert GOOD in reply.text
    assert len(loopback.calls) == 3


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        *((403, None), (413, None), (451, None)),
        *((401, "HISTOEVAL_JUDGE_KEY"), (402, "paid"), (404, "--model"), (405, "/v1")),
    ],
)
def test_what_will_not_pass_is_not_tried_again_and_what_no_request_can_pass_ends_the_run(
    loopback: Loopback, status: int, advice: str | None
) -> None:
    loopback.fault = lambda call: Wrong(status=status, raw=b'{"error": {"message": "no such"}}')
    kind = RequestRefused if advice is None else EndpointError
    with pytest.raises(kind, match=f"{status}: no such" + (f"; .*{advice}" if advice else "")):
        ask(loopback)
    assert len(loopback.calls) == 1


def test_a_server_that_stays_broken_is_given_up_after_so_many_attempts(loopback: Loopback) -> None:
    loopback.fault = lambda call: Wrong(status=500)
    with pytest.raises(NoReply, match="after 4 attempts; the last: the server answers 500"):
        ask(loopback, attempts=4)
    assert len(loopback.calls) == 4


def test_a_server_that_is_too_slow_is_not_waited_for(loopback: Loopback) -> None:
    loopback.fault = at_first(Wrong(delay=3))
    began = time.perf_counter()
    assert GOOD in ask(loopback, timeout_s=0.2)[0].text
    assert time.perf_counter() - began < 2


def test_retry_after_is_kept_to(loopback: Loopback) -> None:
    loopback.fault = at_first(Wrong(status=429, headers=(("Retry-After", "0.3"),)))
    began = time.perf_counter()
    ask(loopback)
    assert time.perf_counter() - began >= 0.3


def test_a_wait_that_is_too_long_is_not_waited(loopback: Loopback) -> None:
    loopback.fault = lambda call: Wrong(status=429, headers=(("Retry-After", "86400"),))
    with pytest.raises(NoReply, match="asks to wait"):
        ask(loopback)
    assert len(loopback.calls) == 1


def no_schema(call: Call) -> Wrong | None:
    known = call.body.get("response_format", {}).get("type") != "json_schema"
    return None if known else Wrong(status=400, raw=b'{"error": "response_format unknown"}')


def test_a_server_without_schemas_is_asked_in_a_simpler_way_thereafter(loopback: Loopback) -> None:
    loopback.fault = no_schema
    asked = Service(loopback.url, "m")

    async def twice() -> list[Reply]:
        async with asked:
            return [await asked.ask(REQUEST), await asked.ask(REQUEST)]

    replies = asyncio.run(twice())
    assert [reply.constrained for reply in replies] == [False, False]
    kinds = [call.body["response_format"]["type"] for call in loopback.calls]
    assert kinds == ["json_schema", "json_object", "json_object"]


def test_a_request_that_is_wrong_in_itself_does_not_loosen_the_others(loopback: Loopback) -> None:
    left = [3]

    def too_long(call: Call) -> Wrong | None:
        left[0] -= 1
        return Wrong(status=400, raw=b'{"error": "too long"}') if left[0] >= 0 else None

    loopback.fault = too_long
    asked = Service(loopback.url, "m")

    async def twice() -> Reply:
        async with asked:
            with pytest.raises(RequestRefused, match="too long"):
                await asked.ask(REQUEST)
            return await asked.ask(REQUEST)

    assert asyncio.run(twice()).constrained


def test_a_format_that_was_named_is_kept_to(loopback: Loopback) -> None:
    loopback.fault = no_schema
    with pytest.raises(RequestRefused):
        ask(loopback, form="json_schema")
    ask(loopback, form="plain")
    assert "response_format" not in loopback.calls[-1].body


def test_the_newer_name_for_the_most_tokens_is_learned(loopback: Loopback) -> None:
    def newer(call: Call) -> Wrong | None:
        said = b'{"error": {"message": "use max_completion_tokens instead of max_tokens"}}'
        return Wrong(status=400, raw=said) if "max_tokens" in call.body else None

    loopback.fault = newer
    assert ask(loopback)[0].constrained
    assert loopback.calls[-1].body["max_completion_tokens"] == 99


def test_a_body_in_chunks_is_read(loopback: Loopback) -> None:
    body = completion("in chunks")
    parts = [body[:50], body[50:]]
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    loopback.respond = lambda call: (head + chunked, Wrong())  # type: ignore[method-assign]
    assert ask(loopback)[0].text == "in chunks"


def test_connections_are_kept_open_and_used_again(loopback: Loopback) -> None:
    asked = Service(loopback.url, "m")

    async def many() -> None:
        async with asked:
            for _ in range(20):
                await asyncio.gather(*[asked.ask(REQUEST) for _ in range(3)])

    asyncio.run(many())
    assert len(loopback.calls) == 60
    assert loopback.connections == 3


def test_requests_a_minute_are_kept_to(loopback: Loopback) -> None:
    began = time.perf_counter()
    ask(loopback, times=5, requests_a_minute=1200)
    assert time.perf_counter() - began >= 4 * 60 / 1200


def test_a_message_of_the_server_that_quotes_the_report_is_not_told(loopback: Loopback) -> None:
    said = f'{{"error": "cannot read: {TEXTS[1]} with sk-1"}}'.encode()
    loopback.fault = lambda call: Wrong(status=422, raw=said)
    with pytest.raises(RequestRefused) as caught:
        ask(loopback, key="sk-1")
    assert "deserves" not in str(caught.value)
    assert "sk-1" not in str(caught.value)


def ping(endpoint: str) -> None:
    service = Service(endpoint, "m")

    async def run() -> None:
        async with service:
            await service.ping()

    asyncio.run(run())


def test_a_ping_reports_a_refused_key_and_a_missing_server(loopback: Loopback) -> None:
    def answer(status: int) -> None:
        head = f"HTTP/1.1 {status} Status\r\nContent-Length: 0\r\n\r\n".encode()
        loopback.respond = lambda call: (head, Wrong())  # type: ignore[method-assign]

    answer(401)
    with pytest.raises(EndpointError, match="refuses the key"):
        ping(loopback.url)
    answer(404)
    ping(loopback.url)
    with pytest.raises(EndpointError, match="connection refused; is the server running"):
        ping("http://127.0.0.1:9/v1")
    with pytest.raises(EndpointError, match="unknown host"):
        ping("https://nowhere.invalid/v1")


@given(
    st.integers(1, 600), st.lists(st.floats(0, 3), min_size=1, max_size=60), st.integers(1, 3000)
)
def test_no_minute_exceeds_its_limits(a_minute: int, pauses: list[float], tokens: int) -> None:
    now, allowed = 0.0, 6000
    limits = RateLimit(a_minute, allowed, lambda: now)
    starts: list[float] = []
    for pause in pauses:
        now += pause
        starts.append(now + limits.reserve(tokens))
    for start in starts:
        within = [other for other in starts if start <= other < start + 60 - 1e-6]
        assert len(within) <= a_minute
        assert (len(within) - 1) * tokens <= allowed


def test_without_limits_nobody_waits() -> None:
    limits = RateLimit(clock=lambda: 0.0)
    assert [limits.reserve(10**9) for _ in range(1000)] == [0.0] * 1000


def test_what_a_request_cost_more_than_was_thought_is_waited_for() -> None:
    limits = RateLimit(None, 600, lambda: 0.0)
    assert limits.reserve(10) == 0
    limits.correct(50)
    assert limits.reserve(10) == pytest.approx(6.0)


def test_waits_grow_to_a_minute_and_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FIRST_WAIT_S", 0.5)
    chance = random.Random(0)
    drawn = [[wait_before(n, {}, chance) for _ in range(50)] for n in range(12)]
    for n, waits in enumerate(drawn):
        most = min(60.0, 0.5 * 2**n)
        assert most / 2 <= min(waits) < max(waits) <= most
        assert len(set(waits)) > 40


@pytest.mark.parametrize("asked", ["7", "0", "12.5"])
def test_a_server_that_says_how_long_is_waited_for_that_long(asked: str) -> None:
    wait = wait_before(0, {"retry-after": asked}, random.Random(1))
    assert float(asked) <= wait <= 1.1 * float(asked)


def test_a_date_is_understood_too_and_what_is_neither_is_not() -> None:
    then = datetime.now(UTC) + timedelta(seconds=30)
    found = retry_after({"retry-after": email.utils.format_datetime(then, usegmt=True)})
    assert found == pytest.approx(30, abs=2)
    for wrong in ("soon", "\u00b2", "\u0663", "Wed, 21 Oct 99999999999 07:28:00 GMT", "-1", "."):
        assert retry_after({"retry-after": wrong}) is None
    assert retry_after({"retry-after": "9" * 400}) == float("inf")
    assert retry_after({}) is None
    past = datetime.now(UTC) - timedelta(hours=1)
    assert retry_after({"retry-after": email.utils.format_datetime(past, usegmt=True)}) == 0
