"""Judges are named by endpoints and models that go together."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import histoeval
from histoeval.errors import SettingError
from histoeval.judges.choice import JudgeConfig, open_panel
from tests.support.fake_server import Loopback, serving
from tests.support.judge_command import Here
from tests.support.judge_pairs import make_pair

ONE, TWO = "sk-only-for-one", "sk-only-for-two"


@pytest.fixture
def second() -> Iterator[Loopback]:
    with serving(Loopback()) as server:
        yield server


@pytest.fixture
def _keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_ONE", ONE)
    monkeypatch.setenv("KEY_TWO", TWO)
    (tmp_path / "two.key").write_text(TWO, "utf-8")


def sent(server: Loopback, header: str = "authorization") -> set[str | None]:
    """What a server got in a header of its requests."""
    return {call.headers.get(header) for call in server.calls}


def test_endpoints_and_models_must_fit_together() -> None:
    with pytest.raises(SettingError, match="2 endpoints for 3 models"):
        _ = JudgeConfig(endpoints=("http://a", "http://b"), models=("x", "y", "z")).seats
    with pytest.raises(SettingError, match="named twice"):
        _ = JudgeConfig(endpoints=("http://a",), models=("x", "x")).seats


@pytest.mark.parametrize(
    ("options", "one", "two"),
    [
        ("--key-env KEY_ONE --key-env KEY_TWO", f"Bearer {ONE}", f"Bearer {TWO}"),
        ("--key-env none --key-env KEY_TWO", None, f"Bearer {TWO}"),
        ("--key-file none --key-file two.key", None, f"Bearer {TWO}"),
        (
            "--key-env KEY_ONE --key-env none --key-file none --key-file two.key",
            f"Bearer {ONE}",
            f"Bearer {TWO}",
        ),
        ("--key-env none", None, None),
    ],
)
@pytest.mark.usefixtures("_keys")
def test_each_endpoint_of_a_panel_gets_its_own_key(
    here: Here, second: Loopback, monkeypatch: pytest.MonkeyPatch,
    options: str, one: str | None, two: str | None,
) -> None:  # fmt: skip
    monkeypatch.setenv("HISTOEVAL_JUDGE_KEY", "sk-for-nobody")
    if options == "--key-env none":
        monkeypatch.delenv("HISTOEVAL_JUDGE_KEY")
    both = ("--endpoint", second.url, "--model", "other", *options.split())
    assert here.judge(*both).code == 0
    assert (sent(here.server), sent(second)) == ({one}, {two})


@pytest.mark.parametrize("verb", ["judge", "score"])
def test_one_key_for_two_hosts_is_refused_before_anything_is_sent(
    here: Here, second: Loopback, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("HISTOEVAL_JUDGE_KEY", ONE)
    metrics = ("--metrics", "judge_rubric4") if verb == "score" else ()
    panel = (*here.who, "--endpoint", second.url, "--model", "other", *metrics)
    for options in ((), ("--key-env", "HISTOEVAL_JUDGE_KEY")):
        refused = here(verb, "pairs.csv", *panel, *options)
        assert (refused.code, refused.out) == (2, "")
        assert "--key-env" in refused.err
        assert "'none'" in refused.err
        assert ONE not in refused.err
    assert not here.server.calls
    assert not second.calls
    assert not second.connections


def test_all_models_of_a_host_share_a_key(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HISTOEVAL_JUDGE_KEY", ONE)
    assert here.judge("--model", "other").code == 0
    again = here.server.url.replace("/v1", "/v2")
    assert here.judge("--endpoint", again, "--model", "n", output="second").code == 0
    assert sent(here.server) == {f"Bearer {ONE}"}


@pytest.mark.usefixtures("_keys")
def test_a_header_goes_to_the_endpoint_it_is_numbered_for(here: Here, second: Loopback) -> None:
    panel = ("--endpoint", second.url, "--model", "other")
    header = ("--header", "2:api-key=env:KEY_TWO")
    assert here.judge(*panel, *header).code == 0
    assert (sent(here.server, "api-key"), sent(second, "api-key")) == ({None}, {TWO})
    for wrong in ("api-key=env:KEY_TWO", "3:api-key=env:KEY_TWO", f"api-key: {TWO}"):
        refused = here.judge(*panel, "--header", wrong, output="wrong")
        assert (refused.code, refused.out) == (2, "")
        assert "2:" in refused.err
        assert TWO not in refused.err


@pytest.mark.usefixtures("_keys")
def test_python_names_a_key_with_each_endpoint(loopback: Loopback, second: Loopback) -> None:
    llm = [
        histoeval.Endpoint(url=loopback.url, model="a", key_env="KEY_ONE"),
        histoeval.Endpoint(url=second.url, model="b", headers={"api-key": "env:KEY_TWO"}),
    ]
    histoeval.judge([make_pair(1)], llm=llm)
    assert (sent(loopback), sent(second)) == ({f"Bearer {ONE}"}, {None})
    assert (sent(loopback, "api-key"), sent(second, "api-key")) == ({None}, {TWO})
    shared: dict[str, Any] = {"endpoints": (loopback.url, second.url), "models": ("a", "b")}
    with pytest.raises(SettingError, match="its own key_env"):
        open_panel(JudgeConfig(**shared, key_env="KEY_ONE"))
