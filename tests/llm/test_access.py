"""Keys come from the environment or a file, and nothing secret is ever told."""

import pickle
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import InputError, SettingError
from histoeval.llm.access import JUDGE_KEY, MAX_MESSAGE, Access, Secret, discreet, one_each
from histoeval.llm.service import checked_endpoint
from tests.support.tables import from_table

HERE = "http://localhost:8000/v1"
REPORT = "Left breast: invasive carcinoma of no special type, grade 2, in a woman of 53."


def key_for(endpoint: str, **places: Any) -> str | None:
    """The key that an endpoint is sent."""
    sent = Access(**places).secrets(endpoint, JUDGE_KEY).get("Authorization")
    return None if sent is None else sent.reveal().removeprefix("Bearer ")


def test_a_key_is_taken_from_what_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text("from-file\n", "utf-8")
    monkeypatch.setenv("MY_KEY", "from-variable")
    monkeypatch.setenv("HISTOEVAL_JUDGE_KEY", "usual")
    assert key_for(HERE, key_file=file) == "from-file"
    assert key_for(HERE, key_env="MY_KEY") == "from-variable"
    assert key_for(HERE) == "usual"
    assert key_for(HERE, key_env="none") is None
    assert key_for(HERE, key_file=Path("none")) is None
    assert key_for(HERE, key_env="none", key_file=file) == "from-file"
    with pytest.raises(SettingError, match="two keys"):
        key_for(HERE, key_env="MY_KEY", key_file=file)


def test_the_key_for_openai_goes_to_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    assert key_for("https://api.openai.com/v1") == "sk-theirs"
    assert key_for("https://api.openai.com/v1", key_env="none") is None
    for other in (HERE, "https://api.openai.com.example.org/v1", "https://api.openai.com@evil/v1"):
        assert key_for(other) is None


def test_headers_are_in_variables_or_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "value").write_text("from file \n", "utf-8")
    monkeypatch.setenv("AZURE_KEY", "from-variable")
    headers = {"api-key": "env:AZURE_KEY", "X-Team": f"file:{tmp_path / 'value'}"}
    sent = Access(headers=headers).secrets(HERE, None)
    assert {name: secret.reveal() for name, secret in sent.items()} == {
        "api-key": "from-variable",
        "X-Team": "from file",
    }
    assert "from" not in repr(sent)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("api-key", "sk-1-typed", "env:VARIABLE"),
        ("api-key", "env:NO_SUCH", "NO_SUCH"),
        ("api-key", "file:no/such", "no/such"),
        ("api-key", "env:TWO_LINES", "one line"),
        ("Host", "env:AZURE_KEY", "cannot be set"),
        ("a b", "env:AZURE_KEY", "cannot be set"),
        ("x\r\ny", "env:AZURE_KEY", "cannot be set"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, reason: str
) -> None:
    monkeypatch.setenv("AZURE_KEY", "x")
    monkeypatch.setenv("TWO_LINES", "sk-1-typed\nb")
    with pytest.raises((SettingError, InputError), match=reason) as caught:
        Access(headers={name: value}).secrets(HERE, None)
    assert "typed" not in str(caught.value)


def test_a_key_and_its_own_header_are_one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HISTOEVAL_JUDGE_KEY", "usual")
    with pytest.raises(SettingError, match="both a key and a header"):
        Access(headers={"authorization": "env:HISTOEVAL_JUDGE_KEY"}).secrets(HERE, JUDGE_KEY)


TWO_HOSTS = ("https://one.example.org/v1", "https://two.example.org/v1")
TWO_PORTS = ("http://127.0.0.1:8001/v1", "http://127.0.0.1:8002/v1")


@pytest.mark.parametrize("endpoints", [TWO_HOSTS, TWO_PORTS])
def test_no_secret_is_for_two(monkeypatch: pytest.MonkeyPatch, endpoints: tuple[str, str]) -> None:
    no_key = Access(key_env="none")
    for only in (Access(), no_key):
        assert one_each([only], endpoints, JUDGE_KEY) == [only, only]
    for only in (Access(key_env="A"), Access(key_file=Path("a")), Access(headers={"a": "env:A"})):
        with pytest.raises(SettingError, match="repeat --key-env"):
            one_each([only], endpoints, JUDGE_KEY)
    monkeypatch.setenv("HISTOEVAL_JUDGE_KEY", "usual")
    with pytest.raises(SettingError, match=r"HISTOEVAL_JUDGE_KEY is set .* repeat --key-env"):
        one_each([Access()], endpoints, JUDGE_KEY)
    with pytest.raises(SettingError, match="HISTOEVAL_JUDGE_KEY is set"):
        one_each([Access(key_env="A"), Access()], endpoints, JUDGE_KEY)
    each = [Access(key_env="A"), no_key]
    assert one_each(each, endpoints, JUDGE_KEY) == each
    with pytest.raises(SettingError, match="2 keys for 3 endpoints"):
        one_each(each, (*endpoints, HERE), JUDGE_KEY)


def test_one_host_may_be_given_one_key_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HISTOEVAL_JUDGE_KEY", "usual")
    for only in (Access(), Access(key_env="A")):
        assert one_each([only], (HERE, HERE.replace("v1", "v2"), "local"), JUDGE_KEY) == [only] * 3


@pytest.mark.parametrize("content", ["", "two words", "line\nline", "\x00"])
def test_what_is_no_key_is_refused_without_being_told(tmp_path: Path, content: str) -> None:
    file = tmp_path / "key"
    file.write_text(content, "utf-8")
    with pytest.raises(InputError) as caught:
        key_for(HERE, key_file=file)
    assert "words" not in str(caught.value)
    with pytest.raises(SettingError, match="NO_SUCH_KEY"):
        key_for(HERE, key_env="NO_SUCH_KEY")
    with pytest.raises(InputError, match="cannot be read"):
        key_for(HERE, key_file=tmp_path / "missing")


def test_a_key_does_not_show_itself() -> None:
    secret = Secret("sk-12345")
    assert "12345" not in f"{secret} {secret!r} {[secret]}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_what_a_server_says_is_told_without_the_key_and_without_the_report() -> None:
    secret = ["sk-12345"]
    assert discreet("bad key sk-12345", secret, ()) == "bad key …"
    assert discreet("model not found", secret, (REPORT,)) == "model not found"
    echoed = f"cannot parse: ...{REPORT[10:50]}..."
    assert "carcinoma" not in discreet(echoed, secret, ("short", REPORT))
    assert len(discreet("x" * 10_000, (), ())) < 400
    split = discreet("x" * 295 + "sk-12345", secret, ())
    assert "sk" not in split, "a key at the end is not cut in two"


@given(st.text("ab ", max_size=70), st.text("ab ", max_size=70))
def test_a_message_is_withheld_exactly_if_it_quotes_the_report(report: str, message: str) -> None:
    plain, shown = " ".join(report.split()), " ".join(message.split())
    pieces = {plain[at : at + 20] for at in range(max(1, len(plain) - 19))}
    quotes = any(piece and piece in shown for piece in pieces)
    assert (discreet(message, (), (report,)) != shown) == quotes


@pytest.mark.parametrize("report", ["abc " * 250_000, "a" * 1_000_000, REPORT * 12_000])
@pytest.mark.parametrize("message", ["a" * 9 + "b", "x " * 4_000_000, "left breast "])
def test_a_report_of_a_million_characters_is_searched_quickly(report: str, message: str) -> None:
    began = time.process_time()
    discreet(message * 40, ["sk-12345"], (report, report))
    assert time.process_time() - began < 1.5


@from_table
def test_an_address_with_a_key_in_it_or_none_at_all_is_refused(endpoint: str) -> None:
    with pytest.raises(SettingError) as caught:
        checked_endpoint(endpoint)
    assert "sk-1" not in str(caught.value)


def test_a_query_is_kept_apart_from_the_address() -> None:
    address = checked_endpoint("https://host/openai/deployments/d/?api-version=2024-06-01#there")
    assert address == ("https://host/openai/deployments/d", "api-version=2024-06-01")


@pytest.mark.parametrize("host", ["models.example.org", "10.0.0.3:8000", "[2001:db8::1]"])
def test_an_address_that_is_not_encrypted_is_warned_of(host: str) -> None:
    with pytest.warns(UserWarning, match="not encrypted"):
        checked_endpoint(f"http://{host}/v1")
    checked_endpoint(f"https://{host}/v1")
    for here in ("localhost:8000", "127.0.0.5", "[::1]:9"):
        checked_endpoint(f"http://{here}/v1")


def test_a_quotation_at_the_end_of_what_is_shown_is_withheld() -> None:
    report = "Colon, biopsy: tubular adenoma with low-grade dysplasia."
    for filler in range(MAX_MESSAGE - 10, MAX_MESSAGE):
        message = discreet("x" * filler + " " + report, (), (report,))
        assert "Colon" not in message
