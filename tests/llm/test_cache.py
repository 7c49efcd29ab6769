"""Replies are kept as they came, found by what was asked, and survive the process."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from histoeval.errors import OutputError
from histoeval.judges.prompt import load_prompt
from histoeval.judges.queue import Question
from histoeval.llm.cache import Cache, default_cache
from histoeval.llm.chat import Reply
from tests.support.fake_server import Loopback
from tests.support.judge_pairs import bench_at, make_pair

PROMPT = load_prompt("rubric4")


def key_of(name: object) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


def filled(path: Path) -> Cache:
    cache = Cache(path)
    for number in range(6):
        judge = "big@there" if number % 2 else "small@here"
        reply = Reply(text=f"said {number}", tokens_in=100, tokens_out=number, seconds=0.5)
        cache.store(key_of(number), judge, "rubric4-1-abc", 400, reply)
    return cache


def test_a_reply_is_found_again_by_another_process(tmp_path: Path) -> None:
    cache = filled(tmp_path / "deep" / "judge.sqlite")
    with Cache(cache.path) as other:
        said = Reply(text="said 3", tokens_in=100, tokens_out=3, seconds=0.5)
        assert other.find(key_of(3)) == said
        assert other.find(key_of(9)) is None


def test_what_was_written_survives_a_kill(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from histoeval.llm.cache import Cache; from histoeval.llm.chat import Reply\n"
        "cache = Cache(Path(sys.argv[1]))\n"
        "cache.store(sys.argv[2], 'j', 'p', 1, Reply(text='kept'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "c.sqlite"
    subprocess.run([sys.executable, "-c", program, str(path), key_of("k")], check=False)
    with Cache(path) as cache:
        assert cache.find(key_of("k")) == Reply(text="kept")


def test_a_question_that_two_runs_asked_at_once_counts_once(tmp_path: Path) -> None:
    with Cache(tmp_path / "c.sqlite") as one, Cache(tmp_path / "c.sqlite") as other:
        for number, cache in enumerate([one, other]):
            cache.store(key_of("k"), "j", "p", 1, Reply(text=f"said by {number}"))
        (stats,) = one.stats()
        assert stats.replies == 1
        assert [json.loads(line)["text"] for line in other.export()] == ["said by 1"]
        assert one.find(key_of("k")) == other.find(key_of("k")) == Reply(text="said by 1")
        assert other.clear() == 1


def test_replies_are_counted_cleared_and_exported_by_judge_and_prompt(tmp_path: Path) -> None:
    with filled(tmp_path / "c.sqlite") as cache:
        big, small = cache.stats()
        assert (big.judge, big.replies, big.tokens_in, big.tokens_out) == ("big@there", 3, 300, 9)
        assert (small.characters, small.seconds) == (1200, 1.5)
        lines = [json.loads(line) for line in cache.export()]
        assert [line["key"] for line in lines] == sorted(key_of(n) for n in range(6))
        assert {line["key"]: line["text"] for line in lines}[key_of(2)] == "said 2"
        assert cache.clear(judge="big") == 3
        assert cache.clear(prompt="expert5") == 0
        assert [each.judge for each in cache.stats()] == ["small@here"]
        assert cache.clear() == 3


def test_what_was_cleared_is_gone_from_the_files(tmp_path: Path) -> None:
    with filled(tmp_path / "c.sqlite") as cache:
        assert any(b"said 3" in path.read_bytes() for path in tmp_path.iterdir())
        cache.clear(judge="big")
        assert not any(b"said 3" in path.read_bytes() for path in tmp_path.iterdir())
        assert any(b"said 2" in path.read_bytes() for path in tmp_path.iterdir())


def test_a_file_that_is_no_cache_is_refused_for_people(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, and not a database\n" * 100, "utf-8")
    with pytest.raises(OutputError, match=r"cannot be used as a cache: .*; name another file"):
        Cache(path)
    assert path.read_text("utf-8").startswith("these are my notes")


def test_a_damaged_file_is_reported_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    filled(path).close()
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)
    with pytest.raises(OutputError, match="name another file with --cache, or delete it"):
        Cache(path).find(key_of(1))


LAYOUT_3 = """
CREATE TABLE replies (key BLOB PRIMARY KEY, judge TEXT NOT NULL, prompt TEXT NOT NULL,
    text TEXT NOT NULL, finish TEXT, tokens_in INTEGER, tokens_out INTEGER,
    constrained INTEGER NOT NULL, seconds REAL, characters INTEGER NOT NULL,
    stored TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP) WITHOUT ROWID;
PRAGMA user_version = 3;
"""


def of_layout_3(path: Path, count: int) -> Path:
    """A file with as many replies."""
    file = sqlite3.connect(path)
    file.executescript(LAYOUT_3)
    file.executemany(
        "INSERT INTO replies (key, judge, prompt, text, constrained, characters, tokens_in, "
        "seconds, stored) VALUES (?, 'j', 'p', ?, 1, 7, 3, 0.25, '2026-01-02 03:04:05')",
        [(bytes.fromhex(key_of(number)), f"reply {number}") for number in range(count)],
    )
    file.commit()
    file.close()
    return path


def test_a_file_of_the_layout_before_is_migrated_once_with_everything_in_it(tmp_path: Path) -> None:
    path = of_layout_3(tmp_path / "c.sqlite", 4)
    for _ in range(2):
        with Cache(path) as cache:
            found = [cache.find(key_of(number)) for number in range(4)]
            assert [each and each.text for each in found] == [f"reply {n}" for n in range(4)]
            assert found[0] == Reply(text="reply 0", tokens_in=3, constrained=True, seconds=0.25)
            (stats,) = cache.stats()
            assert (stats.replies, stats.characters) == (4, 28)
            lines = [json.loads(line) for line in cache.export()]
            assert {line["stored"] for line in lines} == {"2026-01-02 03:04:05"}


@pytest.mark.parametrize(
    "change", ["text = 'better'", "constrained = 1", "tokens_in = 7", "finish = 'stop'"]
)
def test_a_reply_changed_on_disk_is_noticed_and_asked_again(tmp_path: Path, change: str) -> None:
    with filled(tmp_path / "c.sqlite") as cache:
        cache._file.execute(f"UPDATE replies SET {change} WHERE text = 'said 3'")
        with pytest.warns(UserWarning, match="changed after they were stored"):
            assert cache.find(key_of(3)) is None
        assert cache.find(key_of(2)) is not None
        cache.store(key_of(3), "j", "p", 1, Reply(text="said again"))
        assert cache.find(key_of(3)) == Reply(text="said again")


def test_a_reply_under_another_key_is_noticed(tmp_path: Path) -> None:
    with filled(tmp_path / "c.sqlite") as cache:
        cache._file.execute("DELETE FROM replies WHERE text = 'said 2'")
        swap = "UPDATE replies SET key = ? WHERE text = 'said 3'"
        cache._file.execute(swap, (bytes.fromhex(key_of(2)),))
        with pytest.warns(UserWarning, match="changed"):
            assert cache.find(key_of(2)) is None


COUNTS = st.none() | st.integers(0, 2**53)
REPLIES = st.builds(
    Reply, st.text(), st.none() | st.text(), COUNTS, COUNTS, st.booleans(), st.floats(0) | COUNTS
)


@given(REPLIES)
def test_any_reply_is_found_as_it_was_stored(reply: Reply) -> None:
    with Cache(None) as cache:
        cache.store(key_of("k"), "j", "p", 1, reply)
        assert cache.find(key_of("k")) == reply


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes here")
def test_only_the_owner_may_read_the_cache(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        with filled(tmp_path / "new" / "c.sqlite") as cache:
            folder = tmp_path / "new"
            made = sorted(folder.iterdir())
            assert [file.name[8:] for file in made] == ["", "-shm", "-wal"]
            assert {mode_of(file) for file in made} == {0o600}
            assert mode_of(folder) == 0o700
            assert cache.stats()
    finally:
        os.umask(old)


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes here")
def test_an_older_cache_is_closed_to_others_and_a_file_that_is_none_is_not(tmp_path: Path) -> None:
    with filled(tmp_path / "c.sqlite") as cache:
        files = [Path(f"{cache.path}{end}") for end in ("", "-wal", "-shm")]
        for each in files:
            each.chmod(0o644)
        with Cache(cache.path):
            assert {mode_of(each) for each in files} == {0o600}
    notes = tmp_path / "notes.txt"
    notes.write_text("no cache" * 1000, "utf-8")
    notes.chmod(0o644)
    with pytest.raises(OutputError):
        Cache(notes)
    assert mode_of(notes) == 0o644


def test_two_processes_that_open_an_old_file_at_once_both_find_everything(tmp_path: Path) -> None:
    path = of_layout_3(tmp_path / "c.sqlite", 0)
    with ThreadPoolExecutor(8) as pool:
        caches = list(pool.map(lambda _: Cache(path), range(8)))
    for number, cache in enumerate(caches):
        cache.store(key_of(number), "j", "p", 1, Reply(text=str(number)))
    assert all(caches[0].find(key_of(number)) for number in range(8))
    for cache in caches:
        cache.close()


@pytest.mark.parametrize("table", ["fresh", "somebody_elses"])
def test_a_file_with_other_tables_is_refused_and_left_alone(tmp_path: Path, table: str) -> None:
    path = tmp_path / "c.sqlite"
    with sqlite3.connect(path) as file:
        file.execute(f"CREATE TABLE {table} (key TEXT)")
    file.close()
    before = path.read_bytes()
    with pytest.raises(OutputError, match="another version of HistoEval"):
        Cache(path)
    assert path.read_bytes() == before


def test_a_full_disk_stops_the_asking_and_is_said(tmp_path: Path, loopback: Loopback) -> None:
    bench = bench_at(loopback.url, concurrency=4, cache=tmp_path / "c.sqlite")
    bench.cache._file.execute("PRAGMA max_page_count = 20")
    pairs = [make_pair(number) for number in range(500)]
    with pytest.raises(OutputError, match="full"):
        bench.ask(PROMPT, pairs)
    assert 10 < len(loopback.calls) < 450


def test_it_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HISTOEVAL_CACHE", str(tmp_path / "elsewhere"))
    assert default_cache() == tmp_path / "elsewhere" / "judge.sqlite"


TEXT = st.text(max_size=8)
QUESTIONS = st.builds(
    Question,
    judge=TEXT,
    prompt=st.sampled_from([PROMPT, load_prompt("expert5")]),
    reference=TEXT,
    candidate=TEXT,
    parameters=TEXT,
    form=TEXT,
    repeat=st.integers(0, 3),
    order=st.sampled_from(["usual", "swapped"]),
)
FIRST = Question("m@u", PROMPT, "ab", "c", "{}")


@given(QUESTIONS, QUESTIONS)
@example(FIRST, replace(FIRST, reference="a", candidate="bc"))
@example(FIRST, replace(FIRST, reference="c", candidate="ab"))
@example(FIRST, replace(FIRST, prompt=load_prompt("expert5")))
@example(FIRST, replace(FIRST, order="swapped"))
@example(FIRST, replace(FIRST, repeat=1))
def test_two_questions_share_a_key_only_if_they_are_equal(one: Question, other: Question) -> None:
    assert (one.key == other.key) == (one == other and one.prompt == other.prompt)
