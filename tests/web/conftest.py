"""The server without a browser."""

import re
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

from starlette.testclient import TestClient

from histoeval.web.app import create_app

TOKEN = "a-token-for-tests"
HOME = "http://127.0.0.1"


def enter(client: TestClient) -> TestClient:
    """Open the link as the owner; from then on forms are sent with `X-CSRF-Token`."""
    answer = client.get(f"/?token={TOKEN}")
    (csrf,) = re.findall(r'name="csrf" content="([^"]+)"', answer.text)
    client.headers["X-CSRF-Token"] = csrf
    return client


@pytest.fixture
def stranger(tmp_path: Path) -> TestClient:
    """Somebody who has no link."""
    return TestClient(create_app(tmp_path, token=TOKEN), base_url=HOME)


@pytest.fixture
def visitor(stranger: TestClient) -> TestClient:
    """The owner, who has opened the link."""
    return enter(stranger)
