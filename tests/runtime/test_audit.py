"""What is noted of requests: hosts, hashes and lengths, and never their content."""

import hashlib
import json
import warnings
from pathlib import Path

import pytest

from histoeval.errors import OutputError
from histoeval.llm.client import RequestLog
from histoeval.runtime.audit import audit_log, note_sent
from histoeval.runtime.transformer import note_download

BODY = '{"messages": "Left breast: carcinoma 😀"}'.encode()


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HISTOEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HISTOEVAL_AUDIT", raising=False)
    return tmp_path / "cache" / "sent.jsonl"


def test_a_request_is_noted_by_its_hash(log: Path) -> None:
    note_sent("https://user:key@llm.example.org:8443/v1/chat?api-key=x", "m", "judge", BODY)
    (line,) = log.read_text("utf-8").splitlines()
    noted = json.loads(line)
    assert noted["host"] == "llm.example.org:8443"
    assert noted["url"] == "https://llm.example.org:8443/v1/chat"
    assert (noted["model"], noted["purpose"]) == ("m", "judge")
    assert noted["sha256"] == hashlib.sha256(BODY).hexdigest()
    assert noted["characters"] == len(BODY.decode())
    assert "carcinoma" not in line
    assert "key" not in line
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.parent.stat().st_mode & 0o777 == 0o700


def test_models_are_noted_only_where_the_hub_is_asked(log: Path, tmp_path: Path) -> None:
    note_download(str(tmp_path))
    assert not log.exists()
    note_download("org/model")
    noted = json.loads(log.read_text("utf-8"))
    assert (noted["host"], noted["model"]) == ("huggingface.co", "org/model")


def test_another_file_or_none_can_be_named(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HISTOEVAL_AUDIT", "0")
    note_sent("http://localhost", "m", "judge", BODY)
    assert audit_log() is None
    monkeypatch.setenv("HISTOEVAL_AUDIT", str(tmp_path / "named.jsonl"))
    note_sent("http://localhost", "m", "judge", BODY)
    assert (tmp_path / "named.jsonl").exists()
    assert not log.exists()


def test_a_named_log_that_cannot_be_written_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    monkeypatch.setenv("HISTOEVAL_AUDIT", str(tmp_path / "file" / "log"))
    with pytest.raises(OutputError, match="cannot be noted"):
        note_sent("http://localhost", "m", "judge", BODY)
    monkeypatch.delenv("HISTOEVAL_AUDIT")
    monkeypatch.setenv("HISTOEVAL_CACHE", str(tmp_path / "file" / "folder"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        note_sent("http://localhost", "m", "judge", BODY)
    assert "cannot be noted" in str(caught[0].message)


def test_the_log_with_texts_has_the_same_hash(log: Path, tmp_path: Path) -> None:
    note_sent("http://localhost/v1", "m", "judge", BODY)
    RequestLog(tmp_path / "texts.log").add("http://localhost/v1", BODY, "m", "judge")
    short = json.loads(log.read_text("utf-8"))
    whole = json.loads((tmp_path / "texts.log").read_text("utf-8"))
    assert whole["sha256"] == short["sha256"]
    assert "carcinoma" in whole["body"]["messages"]
