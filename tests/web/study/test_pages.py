"""The server of a study, without a browser: who sees what, and what is saved."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from histoeval.io.writing import write_json
from histoeval.web.study.access import tokens_of
from histoeval.web.study.app import create_study_app, study_links
from histoeval.web.study.plan import ExpertStudy
from histoeval.web.study.store import ratings_of
from tests.support.rating_studies import SYSTEMS, make_study, rating, write_pairs, write_plan
from tests.support.tables import from_table

Opening = Callable[[str], TestClient]
HOME = "http://127.0.0.1"


@pytest.fixture
def study(tmp_path: Path) -> ExpertStudy:
    """A study whose coordinator sees the scores of a metric."""
    write_pairs(tmp_path)
    return make_study(tmp_path, run=str(_write_run(tmp_path)))


def _write_run(folder: Path) -> Path:
    run = folder / "run"
    run.mkdir()
    lines = [
        f'{{"id": "p{number // 2}", "system": "{SYSTEMS[number % 2]}", "row": {number + 1}, '
        f'"scores": {{"bleu": {{"value": {13.579 + number}}}}}, "errors": []}}'
        for number in range(12)
    ]
    (run / "scores.jsonl").write_text("\n".join(lines), "utf-8")
    about = {"signature": "bleu|x", "range": [0, 100], "higher_is_better": True}
    write_json(run / "summary.json", {"metrics": {"bleu": about}})
    return run


@pytest.fixture
def opening(study: ExpertStudy, tmp_path: Path) -> Iterator[Opening]:
    """Opens the link of a rater or of the coordinator, in a browser of its own."""
    app = create_study_app(tmp_path / "STUDY.yaml")
    tokens = tokens_of(study)

    def opened(who: str) -> TestClient:
        client = TestClient(app, base_url=HOME)
        answer = client.get(f"/study/{who}/?token={tokens[who]}")
        assert answer.status_code == 200, answer.text
        (csrf,) = re.findall(r'name="csrf" content="([^"]+)"', answer.text)
        client.headers["X-CSRF-Token"] = csrf
        return client

    with TestClient(app):
        yield opened


def _save(client: TestClient, rater: str, number: int, **changes: Any) -> Any:
    body = {
        "request": f"request-{number}",
        "seen": [],
        "is_draft": False,
        "rating": rating().model_dump(mode="json"),
    }
    return client.post(f"/study/{rater}/pairs/{number}", json=body | changes)


def test_no_rater_sees_a_system_pair_or_metric(opening: Opening, study: ExpertStudy) -> None:
    client = opening("anna")
    answers = [client.get("/study/anna/")]
    for number in range(1, 13):
        answers.append(client.get(f"/study/anna/pairs/{number}"))
        answers.append(_save(client, "anna", number))
        answers.append(client.get(f"/study/anna/pairs/{number}"))
    answers += [client.get("/study/anna/"), _save(client, "anna", 1, request="request-x")]
    assert [each.status_code for each in answers] == [200] * 38 + [409]
    for answer in answers:
        shown = f"{answer.text} {dict(answer.headers)}".lower()
        assert not any(secret in shown for secret in (*SYSTEMS, "bleu", "13.579"))
        assert not re.search(r"\bp\d\b|\bc\d\b", shown), "ids of pairs and cases"


def test_raters_see_pairs_in_their_order(opening: Opening, study: ExpertStudy) -> None:
    for rater in ("anna", "ben"):
        client = opening(rater)
        for number, pair in enumerate(study.order(rater), start=1):
            text = client.get(f"/study/{rater}/pairs/{number}").text
            words = re.sub(r"<[^>]+>", "", text)
            assert pair.reference in words
            assert pair.candidate in words


def test_the_link_of_one_opens_no_page_of_another(opening: Opening, study: ExpertStudy) -> None:
    anna, coordinator = opening("anna"), opening("coordinator")
    for address in ("/study/ben/", "/study/ben/pairs/1", "/study/coordinator/", "/"):
        assert anna.get(address).status_code == 403
    assert anna.get("/study/coordinator/tables/sheet.csv").status_code == 403
    assert _save(anna, "ben", 1).status_code == 403
    assert coordinator.get("/study/anna/pairs/1").status_code == 403
    assert _save(coordinator, "anna", 1).status_code == 403
    token = tokens_of(study)["anna"]
    for address in (f"/study/ben/?token={token}", "/study/anna/?token=guess"):
        assert anna.get(address).status_code == 403


def test_two_raters_in_one_browser_stay_apart(opening: Opening, study: ExpertStudy) -> None:
    client = opening("anna")
    answer = client.get(f"/study/ben/?token={tokens_of(study)['ben']}")
    assert "Hello ben" in answer.text
    assert "Hello anna" in client.get("/study/anna/").text
    assert _save(client, "anna", 1).status_code == 200
    assert _save(client, "ben", 1).status_code == 403, (
        "the page that anna's form is on is not ben's"
    )
    assert [len(each.saved) for each in ratings_of(study).values()] == [1, 0, 0]


def test_a_save_is_on_the_disk_when_it_is_answered(opening: Opening, study: ExpertStudy) -> None:
    answer = _save(opening("anna"), "anna", 3)
    assert answer.json() == {"request": "request-3", "saved": 1, "next": "/study/anna/pairs/4"}
    found = ratings_of(study)["anna"]
    assert found.score_of(study.order("anna")[2].key) == 3.5


def test_a_save_sent_again_counts_once(opening: Opening, study: ExpertStudy) -> None:
    client = opening("anna")
    first = _save(client, "anna", 3)
    assert _save(client, "anna", 3).json() == first.json()
    assert list(ratings_of(study)["anna"].revisions.values()) == [1]


def test_the_next_pair_is_one_without_a_score_and_then_the_list(opening: Opening) -> None:
    client = opening("anna")
    assert _save(client, "anna", 12).json()["next"] == "/study/anna/pairs/1"
    for number in range(1, 11):
        _save(client, "anna", number)
    assert _save(client, "anna", 11).json()["next"] == "/study/anna/"
    assert "You have scored all 12 pairs" in client.get("/study/anna/").text


def test_a_draft_is_there_again(opening: Opening, study: ExpertStudy) -> None:
    mark = {"kind": "omission", "severity": 3, "reference": {"start": 0, "end": 4}}
    draft = {"score": 2.5, "criteria": {"factual_accuracy": 1}, "comment": 'a "b" <c>'}
    _save(opening("anna"), "anna", 2, is_draft=True, rating=draft | {"errors": [mark]})
    text = opening("anna").get("/study/anna/pairs/2").text
    assert re.search(r'name="score" value="2.5" [^>]*checked', text)
    assert re.search(r'name="factual_accuracy" value="1" [^>]*checked', text)
    assert "a &#34;b&#34; &lt;c&gt;" in text
    assert "&#34;kind&#34;: &#34;omission&#34;" in text
    assert 'data-seen="request-2"' in text
    assert not ratings_of(study)["anna"].saved


@from_table
def test_what_cannot_be_saved_is_said(
    opening: Opening, changes: dict[str, Any], message: str
) -> None:
    answer = _save(opening("anna"), "anna", 1, **changes)
    assert answer.status_code == 400
    assert message in answer.json()["message"]


def test_a_page_behind_replaces_nothing(opening: Opening, study: ExpertStudy) -> None:
    client = opening("anna")
    _save(client, "anna", 1)
    behind = _save(client, "anna", 1, request="request-b", rating=rating(1).model_dump(mode="json"))
    assert (behind.status_code, behind.json()["latest"]) == (409, "request-1")
    assert ratings_of(study)["anna"].revisions == {study.order("anna")[0].key: 1}
    again = _save(client, "anna", 1, request="request-c", seen=["request-1"])
    assert again.status_code == 200


def test_texts_cannot_harm_the_page(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script> \x1b[2J \u202e left " + "word " * 40_000
    pair = {"id": "a", "reference": evil, "candidate": "<b onclick=x>\r\n&amp;"}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(pair), "utf-8")
    write_plan(tmp_path, pairs="pairs.jsonl", labels=None)
    app = create_study_app(tmp_path / "STUDY.yaml")
    with TestClient(app, base_url=HOME) as client:
        token = tokens_of(app.state.study)["anna"]
        client.get(f"/study/anna/?token={token}")
        text = client.get("/study/anna/pairs/1").text
    assert "<script>alert" not in text
    assert "<b onclick" not in text
    assert "\u202e" not in text
    assert text.count("<span data-o") < 3_000


def test_the_coordinator_sees_how_far_raters_are(opening: Opening, study: ExpertStudy) -> None:
    empty = opening("coordinator").get("/study/coordinator/").text
    assert "No pair has two ratings yet" in empty
    scores = {"anna": (0, 1, 2, 3, 4, 5), "ben": (0, 1, 2, 3, 4, 0)}
    keys = [pair.key for pair in study.pairs]
    for rater, given in scores.items():
        client = opening(rater)
        order = [pair.key for pair in study.order(rater)]
        for key, score in zip(keys, given, strict=False):
            number = order.index(key) + 1
            sent = rating(score, comment=f"said {score}").model_dump(mode="json")
            assert _save(client, rater, number, rating=sent).status_code == 200
    coordinator = opening("coordinator")
    text = coordinator.get("/study/coordinator/").text
    for shown in ("6 of 12", SYSTEMS[1], "bleu", "Krippendorff", "polyline", "pair 6</a>"):
        assert shown in text
    pair = coordinator.get("/study/coordinator/pairs/6").text
    assert "said 5" in pair
    assert "18.579" in pair
    assert coordinator.get("/study/coordinator/pairs/13").status_code == 404
    sheet = coordinator.get("/study/coordinator/tables/sheet.csv")
    assert sheet.text.splitlines()[0].endswith("rater_anna,rater_ben,rater_chloe")
    for name in ("ratings.csv", "errors.csv"):
        assert coordinator.get(f"/study/coordinator/tables/{name}").status_code == 200
    assert coordinator.get("/study/coordinator/tables/secret.key").status_code == 404


@pytest.mark.parametrize("number", ["0", "13", "-1", "9" * 5000, "x", "٣"])
def test_a_number_that_is_no_pair_is_nowhere(opening: Opening, number: str) -> None:
    for who in ("anna", "coordinator"):
        assert opening(who).get(f"/study/{who}/pairs/{number}").status_code == 404


def test_the_links_that_are_printed_are_those_that_open(tmp_path: Path) -> None:
    app = create_study_app(write_plan(tmp_path))
    lines = list(study_links(app, HOME))
    with TestClient(app, base_url=HOME) as client:
        for line in (lines[0], *lines[2:]):
            assert client.get(line.split()[-1].removeprefix(HOME)).status_code == 200
