import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import InputError, OutputError
from histoeval.web.study.access import links_of, tokens_of
from histoeval.web.study.store import (
    ChangedElsewhere,
    RaterStore,
    opened_stores,
    rating_of,
    ratings_of,
    read_ratings,
)
from tests.support.rating_studies import make_study, rating

KEY = ("p0", "x")
OTHER = ("p1", "x")


def test_what_is_saved_is_there_again_and_the_last_counts(tmp_path: Path) -> None:
    file = tmp_path / "anna.jsonl"
    store = RaterStore(file)
    first = store.append(KEY, rating(2), request="request-1", is_draft=False)
    store.append(KEY, rating(4.5), request="request-2", is_draft=False, seen=[first.request])
    again = RaterStore(file).ratings
    assert again == store.ratings
    assert again.score_of(KEY) == 4.5
    assert again.revisions[KEY] == 2
    assert [json.loads(line)["rating"]["score"] for line in file.read_bytes().splitlines()] == [
        2,
        4.5,
    ]


def test_a_request_that_is_sent_again_is_not_doubled(tmp_path: Path) -> None:
    file = tmp_path / "anna.jsonl"
    first = RaterStore(file).append(KEY, rating(), request="request-1", is_draft=False)
    restarted = RaterStore(file)
    assert restarted.append(KEY, rating(), request="request-1", is_draft=False) == first
    assert len(file.read_bytes().splitlines()) == 1
    before = restarted.snapshot()
    restarted.append(OTHER, rating(3), request="request-2", is_draft=False)
    assert (set(before.saved), before.last) == ({KEY}, 1), "a snapshot does not change"
    file.write_bytes(file.read_bytes() * 2)
    assert read_ratings(file).revisions[KEY] == 1


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_half_a_line_is_dropped_and_nothing_else(cut: int, tmp_path: Path) -> None:
    file = tmp_path / "anna.jsonl"
    store = RaterStore(file)
    store.append(KEY, rating(1), request="request-1", is_draft=False)
    store.append(OTHER, rating(2), request="request-2", is_draft=False)
    file.write_bytes(file.read_bytes()[:-cut])
    assert set(read_ratings(file).saved) == {KEY}
    assert file.read_bytes()[-1:] != b"\n", "those who only read change nothing"
    store = RaterStore(file)
    store.append(OTHER, rating(3), request="request-3", is_draft=False)
    assert RaterStore(file).ratings.score_of(OTHER) == 3


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "anna.jsonl"
    file.write_bytes(b'{"number": 1}\n')
    with pytest.raises(OutputError, match=r"line 1 of .*anna\.jsonl is not a rating"):
        RaterStore(file)


def test_a_draft_is_kept_and_does_not_count(tmp_path: Path) -> None:
    file = tmp_path / "anna.jsonl"
    store = RaterStore(file)
    draft = store.append(KEY, rating(None), request="request-1", is_draft=True)
    again = RaterStore(file).ratings
    assert again.score_of(KEY) is None
    assert again.latest(KEY) == draft
    store.append(KEY, rating(3), request="request-2", is_draft=False, seen=[draft.request])
    assert store.ratings.drafts == {}
    after = store.append(
        KEY, rating(4), request="request-3", is_draft=True, seen=["request-1", "request-2"]
    )
    assert store.ratings.score_of(KEY) == 3
    assert RaterStore(file).ratings.latest(KEY) == after


def test_a_tab_that_has_not_seen_the_last_rating_is_refused(tmp_path: Path) -> None:
    store = RaterStore(tmp_path / "anna.jsonl")
    saved = store.append(KEY, rating(2), request="request-1", is_draft=False)
    with pytest.raises(ChangedElsewhere, match="another tab"):
        store.append(KEY, rating(5), request="request-2", is_draft=False)
    assert store.ratings.score_of(KEY) == 2
    store.append(KEY, rating(5), request="request-3", is_draft=False, seen=[saved.request])
    store.append(OTHER, rating(1), request="request-4", is_draft=False)
    assert store.ratings.score_of(KEY) == 5


def test_two_tabs_at_once_leave_whole_lines(tmp_path: Path) -> None:
    file = tmp_path / "anna.jsonl"
    store = RaterStore(file)

    def save(tab: int) -> None:
        for number in range(20):
            request = f"request-{tab}-{number}"
            key = (f"p{tab}-{number}", "x")
            store.append(key, rating(comment="x" * 300), request=request, is_draft=False)

    tabs = [threading.Thread(target=save, args=[tab]) for tab in range(4)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert [line["number"] for line in lines] == list(range(1, 81))
    assert len(RaterStore(file).ratings.saved) == 80


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "anna.jsonl"
    store = RaterStore(file)
    store.append(KEY, rating(2), request="request-1", is_draft=False)
    before = file.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OutputError, match="No space left"):
            store.append(OTHER, rating(3), request="request-2", is_draft=False)
    assert file.read_bytes() == before
    assert store.append(OTHER, rating(3), request="request-2", is_draft=False).number == 2


def test_links_stay_the_same_and_the_secret_is_its_owners(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    links = links_of(study, "http://127.0.0.1:8765")
    assert links == links_of(make_study(tmp_path), "http://127.0.0.1:8765")
    assert list(links) == ["coordinator", "anna", "ben", "chloe"]
    assert links["anna"].startswith("http://127.0.0.1:8765/study/anna/?token=")
    assert len(set(tokens_of(study).values())) == 4
    secret = study.folder / "secret.key"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    secret.unlink()
    assert not set(tokens_of(study).values()) & set(links.values())


def test_a_damaged_secret_is_not_used(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    tokens_of(study)
    (study.folder / "secret.key").write_text("", "utf-8")
    with pytest.raises(OutputError, match="all raters need new links"):
        tokens_of(study)


def test_one_server_at_a_time_writes(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    with (
        opened_stores(study),
        pytest.raises(OutputError, match="stop that server first"),
        opened_stores(study),
    ):
        pass
    with opened_stores(study) as stores:
        assert set(stores) == {"anna", "ben", "chloe"}


def test_a_plan_that_no_longer_fits_its_ratings_is_refused(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    with opened_stores(study) as stores:
        key = study.pairs[0].key
        stores["anna"].append(key, rating(), request="request-1", is_draft=False)
    with (
        pytest.raises(OutputError, match=r"another study \(different: seed\)"),
        opened_stores(make_study(tmp_path, seed=8)),
    ):
        pass
    with pytest.raises(OutputError, match="ratings of anna, whom the study no longer names"):
        ratings_of(make_study(tmp_path, raters=["ben"]))
    more = make_study(tmp_path, raters=["dora", "anna", "ben", "chloe"], name="Second name")
    with opened_stores(more) as stores:
        assert stores["anna"].ratings.score_of(key) == 3.5


def test_a_rating_is_checked_against_its_study(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    pair = study.pairs[0]
    mark = {"start": 0, "end": 6}
    error = {"kind": "omission", "severity": 3, "reference": mark}
    content = rating(errors=[error]).model_dump(mode="json")
    found = rating_of(content, study, pair, is_draft=False).errors[0]
    assert found.reference is not None
    assert found.reference.text == pair.reference[:6]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"score": None}, "The score is missing"),
        ({"score": 3.3}, "3.3 is not a score"),
        ({"score": 5.5}, "5.5 is not a score"),
        ({"criteria": {}}, "Critical finding concordance is missing"),
        ({"criteria": {"taste": 1}}, "not a step of 'taste'"),
        ({"criteria": {"factual_accuracy": 4}}, "4 is not a step"),
        ({"errors": [error | {"reference": None}]}, "needs words"),
        ({"errors": [error | {"reference": {"start": 5, "end": 5}}]}, "outside"),
        ({"errors": [error | {"reference": {"start": 0, "end": 9999}}]}, "outside"),
        ({"errors": [error | {"kind": "typo"}]}, r"errors\.0\.kind"),
        ({"errors": [error | {"severity": 5}]}, "severity"),
        ({"comment": "x" * 5001}, "comment"),
        ({"colour": 1}, "colour"),
    ]
    for changes, message in wrong:
        with pytest.raises(InputError, match=message):
            rating_of({**content, **changes}, study, pair, is_draft=False)
    draft = rating_of({"comment": "wait"}, study, pair, is_draft=True)
    assert draft.score is None
