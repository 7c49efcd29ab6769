"""Decisions on reports: the worst come first, the last decision counts, and none is lost."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from histoeval.errors import OutputError
from histoeval.web.app import create_app
from histoeval.web.run_index import RunIndex
from histoeval.web.trust import REVIEWS, add_review, read_reviews
from tests.support.served_runs import EVIL, write_trust
from tests.web.conftest import HOME, TOKEN, enter


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    write_trust(tmp_path / "trust")
    return enter(TestClient(create_app(tmp_path, token=TOKEN), base_url=HOME))


@pytest.fixture
def run(client: TestClient, tmp_path: Path) -> str:
    (found,) = RunIndex(tmp_path).runs()
    return found.id


def queued(client: TestClient, state: str) -> list[str]:
    text = client.get(f"/review?state={state}").text
    return re.findall(r'<td><a href="/review/[^/]+/(\d+)"', text)


def test_the_worst_come_first_and_what_was_cleared_not_at_all(client: TestClient, run: str) -> None:
    assert queued(client, "open") == ["3", "4", "2"]
    assert queued(client, "deploy") == ["1"]
    assert queued(client, "all") == ["3", "4", "2", "1"]


def test_a_decision_leads_to_the_next_report(client: TestClient, run: str, tmp_path: Path) -> None:
    given = {"decision": "send_back", "comment": f"Wrong organ. {EVIL}", "reviewer": "Anna"}
    answer = client.post(f"/review/{run}/3", data=given, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/review/{run}/4?decided=3")
    assert queued(client, "open") == ["4", "2"]
    assert queued(client, "send_back") == ["3"]
    text = client.get(f"/review/{run}/3").text
    assert "sent back by Anna" in text
    assert "<script>alert" not in text
    ((review,),) = read_reviews(tmp_path / "trust").values()
    assert review.comment == given["comment"].strip()


def test_the_last_decision_counts(client: TestClient, run: str, tmp_path: Path) -> None:
    for decision in ("send_back", "accept"):
        client.post(f"/review/{run}/2", data={"decision": decision, "reviewer": "Anna"})
    assert queued(client, "accept") == ["2"]
    assert [each.decision for each in read_reviews(tmp_path / "trust")[2]] == [
        "send_back",
        "accept",
    ]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"decision": "burn", "reviewer": "Anna"},
        {"decision": "accept", "reviewer": "Anna", "comment": "x" * 5000},
        {"decision": "accept"},
    ],
)
def test_what_is_no_decision_is_refused(
    client: TestClient, run: str, tmp_path: Path, given: dict[str, str]
) -> None:
    assert client.post(f"/review/{run}/2", data=given).status_code == 400
    assert not (tmp_path / "trust" / REVIEWS).exists()


def test_a_rejected_report_needs_a_reason(client: TestClient, run: str, tmp_path: Path) -> None:
    given = {"decision": "accept", "reviewer": "Anna"}
    for missing in ({}, {"comment": "seen by two"}, {"confirmed": "yes"}):
        assert client.post(f"/review/{run}/3", data={**given, **missing}).status_code == 400
    assert not (tmp_path / "trust" / REVIEWS).exists()
    client.post(f"/review/{run}/3", data={**given, "comment": "seen by two", "confirmed": "yes"})
    assert queued(client, "accept") == ["3"]
    assert 'class="first" type="submit" name="decision" value="send_back"' in (
        client.get(f"/review/{run}/3").text
    )


def test_a_decision_can_be_taken_back(client: TestClient, run: str) -> None:
    given = {"decision": "accept", "reviewer": "Anna"}
    after = client.post(f"/review/{run}/2", data=given)
    assert "report 2 : accepted" in after.text
    client.post(f"/review/{run}/2", data={**given, "decision": "reopen"})
    assert queued(client, "open") == ["3", "4", "2"]


def test_what_was_not_checked_for_cancer_is_flagged(client: TestClient, run: str) -> None:
    assert client.get("/review?state=all").text.count("cancer not checked") == 1
    assert "Cancer was not checked" in client.get(f"/review/{run}/4").text
    assert "Cancer was not checked" not in client.get(f"/review/{run}/3").text


def test_half_a_line_of_a_killed_server_is_dropped(tmp_path: Path) -> None:
    add_review(tmp_path, 1, "one", "accept", "Anna")
    with (tmp_path / REVIEWS).open("ab") as file:
        file.write(b'{"row": 2, "id"')
    assert list(read_reviews(tmp_path)) == [1]
    add_review(tmp_path, 3, "three", "send_back", "Anna", "why")
    assert list(read_reviews(tmp_path)) == [1, 3]


def test_a_line_that_is_no_review_is_named(tmp_path: Path) -> None:
    (tmp_path / REVIEWS).write_text('{"row": 1}\n', "utf-8")
    with pytest.raises(OutputError, match="line 1 of"):
        read_reviews(tmp_path)


def test_the_queue_gives_reasons_in_words_and_is_narrowed_to_a_verdict(client: TestClient) -> None:
    text = client.get("/review").text
    assert "Too little speaks for the report" in text
    assert "No image belongs to this report." in text
    assert "without_endpoint" not in text
    narrowed = client.get("/review?state=all&verdict=review").text
    assert re.findall(r'<td><a href="/review/[^/]+/(\d+)"', narrowed) == ["4", "2"]
    assert re.search(r'aria-current="true">review 2</a>', narrowed)
    assert "all 4</a>" in narrowed


def test_a_report_under_review_folds_numbers_away(client: TestClient, run: str) -> None:
    shown, technical = client.get(f"/review/{run}/4").text.split('<details class="technical">')
    assert "A pathologist reads it" in shown
    assert "Grounding compares" in shown
    assert "This policy does not ask for it." in shown
    assert "no_image" not in shown
    assert "no_image" in technical


def test_a_damaged_run_hides_no_other_from_the_queue(client: TestClient, tmp_path: Path) -> None:
    write_trust(tmp_path / "broken")
    (tmp_path / "broken" / "trust.jsonl").write_text("{no row\n", "utf-8")
    text = client.get("/review?state=open").text
    assert "broken cannot be read" in text
    assert str(tmp_path) not in text
    assert queued(client, "open") == ["3", "4", "2"]
