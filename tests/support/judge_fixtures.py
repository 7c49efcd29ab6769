"""Every test with a cache of its own, no key from outside, and short waits."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from histoeval.llm import service
from tests.support.fake_server import Loopback, serving
from tests.support.judge_command import Here
from tests.support.judge_pairs import make_pair, write_pairs

OUTSIDE = (
    "HISTOEVAL_JUDGE_KEY HISTOEVAL_JUDGE_ENDPOINT HISTOEVAL_JUDGE_MODEL HISTOEVAL_SUBJECT_KEY "
    "OPENAI_API_KEY http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE"
).split()


def isolate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, no key, proxy or certificate from outside, and short waits."""
    monkeypatch.setenv("HISTOEVAL_CACHE", str(tmp_path / "cache"))
    for name in OUTSIDE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(service, "FIRST_WAIT_S", 0.01)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(tmp_path, monkeypatch)


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serving(Loopback()) as server:
        yield server


@pytest.fixture
def here(loopback: Loopback, tmp_path: Path) -> Here:
    write_pairs(tmp_path / "pairs.csv", [make_pair(number) for number in range(30)])
    return Here(loopback, tmp_path)
