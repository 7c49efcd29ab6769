"""Keys come from the environment or a file, and nothing secret is ever told."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from histoeval.errors import InputError, SettingError
from histoeval.llm.api_key import Secret, discreet, read_key
from histoeval.llm.service import checked_endpoint

HERE = "http://localhost:8000/v1"
REPORT = "Left breast: invasive carcinoma of no special type, grade 2, in a woman of 53."


def revealed(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()


def test_a_key_is_taken_from_what_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("from-file\n", "utf-8")
    monkeypatch.setenv("MY_KEY", "from-variable")
    monkeypatch.setenv("HISTOEVAL_JUDGE_KEY", "usual")
    assert revealed(read_key(HERE, file=file)) == "from-file"
    assert revealed(read_key(HERE, variable="MY_KEY")) == "from-variable"
    assert revealed(read_key(HERE)) == "usual"


def test_the_key_for_openai_goes_to_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    assert revealed(read_key("https://api.openai.com/v1")) == "sk-theirs"
    assert read_key(HERE) is None
    assert read_key("https://api.openai.com.example.org/v1") is None


@pytest.mark.parametrize("content", ["", "two words", "line\nline", "\x00"])
def test_what_is_no_key_is_refused_without_being_told(tmp_path: Path, content: str) -> None:
    file = tmp_path / "key"
    file.write_text(content, "utf-8")
    with pytest.raises(InputError) as caught:
        read_key(HERE, file=file)
    assert "words" not in str(caught.value)
    with pytest.raises(SettingError, match="NO_SUCH_KEY"):
        read_key(HERE, variable="NO_SUCH_KEY")
    with pytest.raises(InputError, match="cannot be read"):
        read_key(HERE, file=tmp_path / "none")


def test_a_key_does_not_show_itself() -> None:
    secret = Secret("sk-12345")
    assert "12345" not in f"{secret} {secret!r} {[secret]}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_what_a_server_says_is_told_without_the_key_and_without_the_report() -> None:
    secret = Secret("sk-12345")
    assert discreet("bad key sk-12345", secret, ()) == "bad key …"
    assert discreet("model not found", secret, (REPORT,)) == "model not found"
    echoed = f"cannot parse: ...{REPORT[10:50]}..."
    assert "carcinoma" not in discreet(echoed, secret, ("short", REPORT))
    assert len(discreet("x" * 10_000, None, ())) < 400


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://user:sk-1@host/v1",
        "https://host/v1?key=sk-1",
        "ftp://host/v1",
        "host/v1",
        "",
        "http://host/v1/chat/completions",
    ],
)
def test_an_address_with_a_key_in_it_or_none_at_all_is_refused(endpoint: str) -> None:
    with pytest.raises(SettingError):
        checked_endpoint(endpoint)
