"""The subject behind an endpoint: what it is sent, what is kept, and how it fails."""

import asyncio
import itertools
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL")

from PIL import Image

from histoeval.errors import InputError, Problem, SettingError
from histoeval.llm.access import RetryPolicy
from histoeval.llm.chat import Instruction
from histoeval.vlm.load import data_uri, load_vlm
from histoeval.vlm.model import Ask, VlmAnswer, VlmConfig, VlmSampling
from tests.support.fake_server import Call, Wrong
from tests.support.fake_vlm import (
    alone,  # noqa: F401
    described,
    picture_of,
    subject_at,
    vision,
    words_of,
)

pytestmark = pytest.mark.usefixtures("alone")

NEUTRAL = Instruction(name="plain", version=1, kind="neutral", text="Describe the field.")


def png(red: int, blue: int) -> bytes:
    file = BytesIO()
    pixels = np.full((20, 30, 3), (red, 90, blue), np.uint8)
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


PINK, BLUE = png(220, 120), png(90, 200)


def ask(text: str = "Describe.", *images: bytes) -> Ask:
    return Ask(NEUTRAL, text, images)


def test_pictures_and_words_arrive_as_such_servers_take_them() -> None:
    with vision() as server:
        said = described(subject_at(server), [PINK], NEUTRAL)
    assert isinstance(said, str)
    assert "hyperplastic polyp" in said
    (call,) = server.calls
    (message,) = call.body["messages"]
    assert message["role"] == "user"
    assert [part["type"] for part in message["content"]] == ["image_url", "text"]
    shown = picture_of(call)
    assert shown is not None
    assert shown.shape == (20, 30, 3)
    assert words_of(call) == "Describe the field."
    assert call.body["temperature"] == 0
    assert call.body["seed"] == 0
    assert call.body["max_tokens"] == 768
    assert "response_format" not in call.body
    assert data_uri(b"\xff\xd8\xff123").startswith("data:image/jpeg;base64,")
    assert data_uri(PINK).startswith("data:image/png;base64,")


def test_a_system_message_is_sent_where_the_prompt_has_one() -> None:
    told = NEUTRAL.model_copy(update={"system": "You are brief."})
    with vision() as server:
        described(subject_at(server), [PINK], told)
    roles = [message["role"] for message in server.calls[0].body["messages"]]
    assert roles == ["system", "user"]


def test_answers_come_in_the_order_of_the_questions_and_equal_ones_are_asked_once() -> None:
    asks = [ask("a", PINK), ask("a", BLUE), ask("a", PINK), ask("b", BLUE)]
    with vision(delay=0.2) as server:
        said = subject_at(server).describe_all(asks)
    texts = [each.text for each in said if isinstance(each, VlmAnswer)]
    assert ["carcinoma" in text for text in texts] == [False, True, False, True]
    assert len(server.calls) == 3
    assert server.most_at_once == 3


def test_what_was_answered_is_never_asked_again_by_another_run() -> None:
    with vision() as server:
        first = subject_at(server).describe_all([ask("a", PINK), ask("a", BLUE)])
        again = subject_at(server)
        assert again.describe_all([ask("a", BLUE), ask("a", PINK)]) == first[::-1]
        assert len(server.calls) == 2
        assert again.usage.cached == 2
        subject_at(server, manner=VlmSampling(seed=1)).describe_all([ask("a", PINK)])
        subject_at(server, keep=False).describe_all([ask("a", PINK)])
        assert len(server.calls) == 4


def test_it_can_be_asked_from_where_a_loop_runs_already() -> None:
    async def notebook(url: str) -> str | Problem:
        choice = VlmConfig(endpoint=url, model="eye")
        return described(load_vlm(choice), [PINK], NEUTRAL)

    with vision() as server:
        assert "polyp" in str(asyncio.run(notebook(server.url)))


def test_a_fault_that_passes_is_retried_and_leaves_no_trace() -> None:
    turns = itertools.count()

    def fault(call: Call) -> Wrong | None:
        return Wrong(status=503) if next(turns) == 0 else None

    with vision(fault=fault) as server:
        subject = subject_at(server)
        assert isinstance(described(subject, [PINK], NEUTRAL), str)
        assert subject.usage.retries == 1


def test_an_empty_answer_is_a_missing_report() -> None:
    with vision(say=lambda call: "  \n") as server:
        found = described(subject_at(server), [PINK], NEUTRAL)
    assert isinstance(found, Problem)
    assert found.code == "empty_report"


def test_an_answer_that_was_cut_off_is_told_to_be() -> None:
    raw = (
        b'{"choices": [{"message": {"content": "A polyp"}, "finish_reason": "length"}], '
        b'"usage": {}}'
    )
    with vision(fault=lambda call: Wrong(raw=raw)) as server:
        assert subject_at(server).describe_all([ask("a", PINK)]) == [VlmAnswer("A polyp", cut=True)]


def test_a_refusal_is_told_without_quoting_the_prompt() -> None:
    raw = b'{"error": {"message": "cannot take: The patient Jane Doe was born on 1 May"}}'
    with vision(fault=lambda call: Wrong(status=400, raw=raw)) as server:
        (found,) = subject_at(server).describe_all([ask("The patient Jane Doe was born", PINK)])
    assert isinstance(found, Problem)
    assert found.code == "subject_refused"
    assert "Jane" not in found.message


def test_an_endpoint_that_is_not_there_gives_a_reason_at_once_for_everything() -> None:
    choice = VlmConfig(endpoint="http://127.0.0.1:9/v1", model="eye")
    subject = load_vlm(choice)
    found = subject.describe_all([ask(str(n), PINK) for n in range(40)])
    assert {each.code for each in found if isinstance(each, Problem)} == {"subject_unreachable"}
    assert len(found) == 40
    assert subject.gone is not None
    assert "cannot be reached" in subject.gone


@pytest.mark.parametrize("status", [500, 401])
def test_an_endpoint_that_fails_again_and_again_is_given_up(status: int) -> None:
    with vision(fault=lambda call: Wrong(status=status)) as server:
        subject = subject_at(server, concurrency=4, patience=RetryPolicy(attempts=1))
        found = subject.describe_all([ask(str(n), PINK) for n in range(60)])
        assert all(isinstance(each, Problem) for each in found)
        assert len(server.calls) < 20
        assert subject.gone is not None
        assert str(status) in subject.gone


def test_one_that_is_slow_is_not_waited_for_beyond_the_patience() -> None:
    with vision(delay=2) as server:
        hasty = RetryPolicy(attempts=1, timeout_s=0.1)
        subject = subject_at(server, patience=hasty)
        subject._checked = True  # type: ignore[attr-defined]
        (found,) = subject.describe_all([ask("a", PINK)])
    assert isinstance(found, Problem)
    assert "within 0.1 s" in found.message


def test_the_key_of_the_subject_goes_into_the_header_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HISTOEVAL_JUDGE_KEY", "judges-key-123")
    monkeypatch.setenv("HISTOEVAL_SUBJECT_KEY", "subjects-key-456")
    with vision() as server:
        subject = subject_at(server)
        described(subject, [PINK], NEUTRAL)
    assert server.calls[0].headers["authorization"] == "Bearer subjects-key-456"
    assert "456" not in subject.identity
    monkeypatch.delenv("HISTOEVAL_SUBJECT_KEY")
    with vision() as server:
        described(subject_at(server), [PINK], NEUTRAL)
    assert "authorization" not in server.calls[0].headers, "the judge's key is the judge's alone"
    kept = (tmp_path / "cache" / "judge.sqlite").read_bytes()
    assert b"subjects-key" not in kept


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no address"):
        load_vlm(VlmConfig(endpoint="here", model="eye"))
    with pytest.raises(InputError, match="key cannot be read"):
        load_vlm(VlmConfig(endpoint="https://h/v1", model="eye", key_file=tmp_path / "missing"))
