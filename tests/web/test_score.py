"""Two texts or a table, scored from the browser; a job can be cancelled and continued."""

import gzip
import json
import re
import sys
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from histoeval.io.writing import locked
from histoeval.web import jobs, score
from histoeval.web.jobs import Jobs, UploadRequest
from histoeval.web.run_index import RunIndex
from tests.support.paths import ROOT
from tests.support.served_runs import EVIL, GOOD, REFERENCE

TABLE = f'id,reference,candidate\n1,"{REFERENCE}","{GOOD}"\n2,"{REFERENCE}",Benign.\n'.encode()
PATIENCE_S = 60


@pytest.fixture(autouse=True)
def _light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only metrics that load no model."""
    monkeypatch.setattr(score, "METRICS", {"bleu": "words", "chrf": "characters"})


def test_two_texts_are_scored_and_nothing_is_stored(visitor: TestClient, tmp_path: Path) -> None:
    answer = visitor.post("/score", data={"reference": REFERENCE, "candidate": f"{GOOD} {EVIL}"})
    assert answer.status_code == 200
    assert "bleu" in answer.text
    assert "<script>alert" not in answer.text
    assert "\x1b" not in answer.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("candidate", "complaint"),
    [("  ", "The candidate is empty"), ("x" * 2**20, "1,048,576 characters")],
)
def test_a_text_that_cannot_be_scored_is_refused(
    visitor: TestClient, candidate: str, complaint: str
) -> None:
    answer = visitor.post("/score", data={"reference": REFERENCE, "candidate": candidate})
    assert answer.status_code == 400
    assert complaint in answer.text
    assert REFERENCE in answer.text, "what was pasted is still there"


def send(visitor: TestClient, name: str, content: bytes, **fields: str | list[str]) -> str:
    given = {"metric": ["bleu"], **fields}
    answer = visitor.post(
        "/score/table", data=given, files={"table": (name, content)}, follow_redirects=False
    )
    return answer.headers.get("location", answer.text)


def test_a_table_becomes_an_ordinary_run(visitor: TestClient, tmp_path: Path) -> None:
    address = send(visitor, "../../My Pairs.csv", TABLE)
    (run,) = RunIndex(tmp_path).runs()
    assert (address, run.place) == (f"/runs/{run.id}/progress", tmp_path / "my-pairs")
    deadline = time.monotonic() + PATIENCE_S
    while "Finished" not in (text := visitor.get(f"{address}/state").text):
        assert time.monotonic() < deadline, text
        assert "problem" not in text
        time.sleep(0.1)
    assert "2 of 2 pairs" in text
    assert json.loads((run.place / "summary.json").read_text("utf-8"))["rows"] == 2
    assert visitor.get(f"/runs/{run.id}/").status_code == 200
    assert (run.place / "input.csv").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("pairs.exe", TABLE, "choose a table"),
        ("pairs.csv", b"", "empty"),
        ("pairs.csv", b"a,b\n1,2\n", "reference"),
        ("pairs.parquet", b"not a table", "input.parquet"),
        ("pairs.csv.gz", TABLE, "not a whole gzip file"),
        ("pairs.csv.gz", gzip.compress(TABLE)[:-9], "not a whole gzip file"),
        ("pairs.exe.gz", gzip.compress(TABLE), "choose a table"),
        ("pairs.parquet.gz", gzip.compress(TABLE), "choose a table"),
    ],
)
def test_a_table_that_cannot_be_read_leaves_nothing(
    visitor: TestClient, tmp_path: Path, name: str, content: bytes, complaint: str
) -> None:
    text = send(visitor, name, content)
    assert complaint in text
    assert str(tmp_path) not in text
    assert list(tmp_path.iterdir()) == []


def test_a_compressed_table_is_unpacked_but_not_without_bounds(
    visitor: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "/progress" in send(visitor, "Pairs.CSV.gz", gzip.compress(TABLE))
    assert (tmp_path / "pairs" / "input.csv").read_bytes() == TABLE
    monkeypatch.setattr(score, "MOST_UNPACKED", 2**20)
    assert "larger than 1 MB" in send(visitor, "bomb.csv.gz", gzip.compress(bytes(2**21)))
    assert [each.name for each in tmp_path.iterdir()] == ["pairs"]


def test_no_metric_is_no_run(visitor: TestClient, tmp_path: Path) -> None:
    assert "choose at least one metric" in send(visitor, "p.csv", TABLE, metric="judge_rubric4")


def request(folder: Path) -> Path:
    folder.mkdir()
    UploadRequest("input.csv", ["bleu"], "", [], 2).save(folder)
    return folder


def wait(work: Jobs, folder: Path, *states: str) -> jobs.Progress:
    deadline = time.monotonic() + PATIENCE_S
    while (found := work.progress(folder)).state not in states:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def test_jobs_wait_and_are_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(UploadRequest, "command", lambda *_: asleep)
    work, one, two = Jobs(), request(tmp_path / "one"), request(tmp_path / "two")
    work.start(one)
    work.start(two)
    wait(work, one, "running")
    assert work.progress(two).state == "waiting"
    work.cancel(two)
    assert work.progress(two).state == "cancelled"
    work.cancel(one)
    assert wait(work, one, "cancelled").is_over
    work.start(one)
    wait(work, one, "running")
    work.close()
    assert work.progress(one).state == "cancelled"


def test_a_job_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "import sys; print('histoeval: the disk is full', file=sys.stderr); sys.exit(2)"
    monkeypatch.setattr(UploadRequest, "command", lambda *_: [sys.executable, "-c", words])
    work, folder = Jobs(), request(tmp_path / "one")
    work.start(folder)
    assert wait(work, folder, "failed").message == "the disk is full"
    work.close()


def test_what_another_server_began_is_unfinished(tmp_path: Path) -> None:
    folder = request(tmp_path / "one")
    (folder / "scores.jsonl").write_text("{}\n", "utf-8")
    assert Jobs().progress(folder) == jobs.Progress("unfinished", 1, 2)


def test_a_job_of_a_killed_server_is_not_called_stopped(tmp_path: Path) -> None:
    folder = request(tmp_path / "one")
    with locked(folder / jobs.LOCK, folder):
        work = Jobs()
        work.start(folder)
        found = work.progress(folder)
        assert (found.state, found.is_over) == ("elsewhere", False)
    assert Jobs().progress(folder).state == "unfinished"
    (folder / jobs.LOCK).write_text("of a process that was killed", "utf-8")
    assert Jobs().progress(folder).state == "unfinished"


def test_the_page_on_the_server_names_the_tables_that_can_be_uploaded(visitor: TestClient) -> None:
    table = (ROOT / "docs" / "serve.md").read_text("utf-8").partition("upload a table (")[2]
    named = re.findall(r"`(\.[a-z.]+)`", table.partition(")")[0])
    offered = [*score.TABLES, *(f"{ending}.gz" for ending in score.PACKED_TABLES)]
    assert named == offered
    assert f'accept="{",".join(offered)},' in visitor.get("/score").text
