"""Nobody gets in without the link, from another site or by another name."""

import asyncio
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from histoeval.web.app import create_app
from histoeval.web.pages import without_paths
from histoeval.web.run_index import RunIndex
from histoeval.web.security import MAX_BODY, Visitor
from tests.web.conftest import HOME, TOKEN


def test_without_the_token_every_page_is_closed(stranger: TestClient) -> None:
    for address in ("/", "/runs/x", "/nothing"):
        answer = stranger.get(address)
        assert answer.status_code == 401
        assert "by the link that `histoeval serve` printed" in answer.text


def test_a_wrong_token_is_refused_and_sets_no_cookie(stranger: TestClient) -> None:
    answer = stranger.get("/?token=guess")
    assert answer.status_code == 403
    assert not stranger.cookies


def test_the_link_becomes_a_cookie_and_leaves_the_address_bar(stranger: TestClient) -> None:
    answer = stranger.get(f"/?token={TOKEN}&page=2", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/?page=2")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert stranger.get("/").status_code == 200


def test_the_link_leads_to_no_other_site(stranger: TestClient) -> None:
    for path in ("//evil.example/", "///evil.example", "/\\evil.example", "/%5Cevil.example"):
        answer = stranger.get(f"{HOME}{path}?token={TOKEN}", follow_redirects=False)
        assert answer.status_code == 303
        assert re.match(r"/(?![/\\])", answer.headers["location"]), path


ELSEWHERE = "evil.example 127.0.0.1.evil.example 10.0.0.7 [::1 [ 127.0.0.1@evil.example"


@pytest.mark.parametrize("host", ["", *ELSEWHERE.split()])
def test_another_name_of_the_server_is_refused(visitor: TestClient, host: str) -> None:
    assert visitor.get("/", headers={"Host": host}).status_code == 421


def test_with_any_address_a_name_still_has_to_be_known(tmp_path: Path) -> None:
    app = create_app(tmp_path, token=TOKEN, any_address=True)
    client = TestClient(app, base_url=HOME)
    assert client.get("/", headers={"Host": "10.0.0.7:8484"}).status_code == 401
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 421


def test_a_request_without_the_csrf_token_is_refused(visitor: TestClient) -> None:
    del visitor.headers["X-CSRF-Token"]
    for form in ({}, {"csrf": "guess"}):
        answer = visitor.post("/score", data=form)
        assert answer.status_code == 403
        assert "reload" in answer.text


def test_a_request_of_another_site_is_refused(visitor: TestClient) -> None:
    answer = visitor.post("/score", headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403


def test_a_body_that_is_too_large_is_refused(visitor: TestClient) -> None:
    assert visitor.post("/score", content=b"x" * (MAX_BODY + 1)).status_code == 413

    def endless() -> object:
        yield from (b"x" * 2**20 for _ in range(MAX_BODY // 2**20 + 2))

    assert visitor.post("/score", content=endless()).status_code == 413  # type: ignore[arg-type]


def test_pages_run_nothing_inline_and_are_not_kept(visitor: TestClient) -> None:
    for address in ("/", "/nothing"):
        headers = visitor.get(address).headers
        assert "script-src 'self';" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "name", ["../secret", "..%2f..%2fsecret", "%2e%2e/secret", "vendor/%2e%2e/%2e%2e/page.py"]
)
def test_static_files_lead_nowhere_else(visitor: TestClient, name: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("mine", "utf-8")
    answer = visitor.get(f"/static/{name}")
    assert answer.status_code in {401, 404}
    assert "mine" not in answer.text


def test_bugs_tell_nothing_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError(f"no {tmp_path}")

    monkeypatch.setattr(RunIndex, "runs", fail)
    app = create_app(tmp_path, token=TOKEN)
    client = TestClient(app, base_url=HOME, raise_server_exceptions=False)
    answer = client.get(f"/?token={TOKEN}")
    assert answer.status_code == 500
    assert "RuntimeError" in answer.text
    assert str(tmp_path) not in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_paths_become_names_in_messages() -> None:
    folder = Path("/home/anna/results")
    message = "/home/anna/results/one/scores.jsonl and /etc/ssl/x.pem and 3/4 and and/or"
    assert without_paths(message, folder) == "one/scores.jsonl and …/x.pem and 3/4 and and/or"


def test_a_visitor_stays_in_its_area() -> None:
    rater = Visitor("anna", "/study/rate")
    assert rater.may_open("/study/rate/3")
    assert not rater.may_open("/study/rates")
    assert not rater.may_open("/")
    assert Visitor("owner").may_open("/anything")


def test_an_origin_or_length_that_cannot_be_read_is_refused(visitor: TestClient) -> None:
    assert visitor.post("/score", headers={"Origin": "http://[::1"}).status_code == 403
    endless = {"Content-Length": "9" * 5000}
    assert visitor.post("/score", content=b"x", headers=endless).status_code == 413


def test_one_broken_folder_does_not_hide_the_runs(visitor: TestClient, tmp_path: Path) -> None:
    for name in ("fine", "dangling", "half \udcff name", "upload"):
        (tmp_path / name).mkdir()
    (tmp_path / "dangling" / "scores.jsonl").symlink_to(tmp_path / "nothing")
    (tmp_path / "upload" / "upload.json").write_text('{"x": 1}', "utf-8")
    for name in ("fine", "half \udcff name"):
        (tmp_path / name / "scores.jsonl").write_text("", "utf-8")
    runs = RunIndex(tmp_path).runs()
    assert {run.name for run in runs} == {"fine", "half \udcff name", "upload"}
    listed = visitor.get("/")
    assert listed.status_code == 200
    assert "half \\udcff name" in listed.text
    for run in runs:
        assert visitor.get(f"/runs/{run.id}/").status_code == 400
    uploaded = next(run for run in runs if run.name == "upload")
    answer = visitor.get(f"/runs/{uploaded.id}/progress")
    assert (answer.status_code, "upload.json is damaged" in answer.text) == (400, True)


def test_an_upload_that_is_broken_off_is_no_failure(visitor: TestClient) -> None:
    gone: list[Message] = [{"type": "http.request", "body": b"--a", "more_body": True}]

    async def receive() -> Message:
        return gone.pop() if gone else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError(f"nobody is there for {message}")

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/score/table",
        "query_string": b"",
        "headers": [
            (b"host", b"127.0.0.1"),
            *((b"cookie", f"{key}={value}".encode()) for key, value in visitor.cookies.items()),
        ],
    }

    async def answer() -> None:
        await visitor.app(scope, receive, send)

    asyncio.run(answer())
    assert not gone
