"""The local engine: the same rows whatever happens to its processes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Lock

import pytest

import histoeval
from histoeval.errors import EndpointError, HistoEvalError, OutputError, SettingError
from histoeval.io.store import RowStore
from histoeval.run.engines.engine import INLINE, BlockSpool, Engine, InlineEngine
from histoeval.run.engines.local import LocalEngine, packed
from histoeval.run.extract import entail, open_pairs
from histoeval.run.models import load_entailer
from histoeval.run.settings import EngineSettings
from tests.support.engine_jobs import (
    Doubled,
    DoublingJob,
    DoublingTask,
    ForkingTask,
    doubled,
    worked,
)

ROOT = Path(__file__).parents[3]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks safely")
KINDS = [DoublingTask, pytest.param(ForkingTask, marks=LINUX)]
"""Workers that are started by themselves, and workers that are forked of one process."""


def texts(count: int, seed: int = 0) -> list[str]:
    """Some rows take longer, so that blocks are finished in another order."""
    return random.Random(seed).choices(["a", "bc", "late"], weights=[5, 5, 1], k=count)


@pytest.mark.parametrize(
    ("workers", "block_rows", "kind"),
    [
        *((workers, None, DoublingTask) for workers in (1, 2, 4)),
        *((workers, rows, DoublingTask) for workers, rows in ((2, 1), (3, 7), (2, 1000))),
        pytest.param(3, 4, ForkingTask, marks=LINUX),
    ],
)
def test_results_are_those_of_one_process(
    workers: int, block_rows: int | None, kind: type[DoublingTask], tmp_path: Path
) -> None:
    given = texts(60)
    expected = doubled(given, tmp_path / "inline", INLINE)
    found = doubled(given, tmp_path / "local", LocalEngine(workers), block_rows, kind)
    same = [(tmp_path / name / "out.jsonl").read_bytes() for name in ("inline", "local")]
    assert same[0] == same[1]
    assert found.summary == expected.summary
    assert sorted(worked(tmp_path / "local")) == sorted(worked(tmp_path / "inline"))
    assert not list((tmp_path / "local").glob(".*blocks*"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_kills_its_worker_costs_itself(kind: type[DoublingTask], tmp_path: Path) -> None:
    given = texts(40)
    given[13] = "poison"
    for place in (3, 17, 31):
        given[place] = "once"
    job = DoublingJob(given, tmp_path, 5)
    job.task = kind(tmp_path)
    found = job.run(engine=LocalEngine(2))
    rows = list(found.rows)
    assert [row.id for row in rows] == [f"r{n}" for n in range(40)]
    assert [row.error for row in rows if row.error] == ["worker_died"]
    assert "killed by SIGKILL" in rows.pop(13).text
    assert [row.text for row in rows] == [text * 2 for text in given if text != "poison"]
    assert found.summary["errors"]["worker_died"]["count"] == 1
    assert job.charged == 39, "what rows have cost is counted also where they were done one by one"


def test_what_no_row_could_survive_stops_the_run(tmp_path: Path) -> None:
    given = [*texts(20), "gone", *texts(20)]
    with pytest.raises(EndpointError, match="the server is gone"):
        doubled(given, tmp_path, LocalEngine(2), 2)
    found = doubled([*given[:20], "a", *given[21:]], tmp_path, LocalEngine(2), 2)
    assert len(list(found.rows)) == 41


def test_a_killed_run_resumes_and_works_on_no_finished_block_again(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "import sys; from pathlib import Path\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.support.engine_jobs import doubled\n"
        "from histoeval.run.engines.local import LocalEngine\n"
        "doubled(['late'] * 200, Path(sys.argv[1]), LocalEngine(3), 5)\n"
    )
    folder = tmp_path / "out"
    for wanted in (20, 60):
        process = subprocess.Popen([sys.executable, str(script), str(folder)])
        while not (folder / "worked.txt").exists() or len(worked(folder)) < wanted:
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    time.sleep(1)  # workers that are left over end with their block
    finished = (folder / "out.jsonl").read_bytes().count(b"\n")
    blocks = folder.glob(".out.jsonl.blocks-*/*.jsonl")
    spooled = sum(block.read_bytes().count(b"\n") for block in blocks)
    before = Counter(worked(folder))
    doubled(["late"] * 200, folder, LocalEngine(2), 7)
    again = Counter(worked(folder)) - before
    assert len(again) == 200 - finished - spooled
    assert (folder / "out.jsonl").read_bytes().count(b"\n") == 200


def test_a_script_without_a_main_guard_may_use_it(tmp_path: Path) -> None:
    script = tmp_path / "bare.py"
    script.write_text(
        "import histoeval\n"
        "pairs = [{'reference': 'Adenoma.', 'candidate': f'Colon {n}.'} for n in range(40)]\n"
        "found = histoeval.score(pairs, metrics='bleu', engine='local', workers=2)\n"
        "print(len(found))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "40\n"


class Own:
    """Something that cannot travel."""

    def __init__(self) -> None:
        self.lock = Lock()


def test_what_cannot_travel_is_refused_or_done_here(tmp_path: Path) -> None:
    job = DoublingJob(texts(20), tmp_path)
    job.task.own = Own()  # type: ignore[attr-defined]
    with pytest.raises(SettingError, match="cannot be sent to another process"):
        packed(job.task)
    with pytest.raises(SettingError, match="--engine inline"):
        job.run(engine=LocalEngine(2))
    again = DoublingJob(texts(20), tmp_path)
    again.task.own = Own()  # type: ignore[attr-defined]
    assert len(list(again.run(engine=LocalEngine(2, demanded=False)).rows)) == 20


def test_engines_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HISTOEVAL_ENGINE")
    assert isinstance(EngineSettings().choose_engine(), LocalEngine)
    assert isinstance(EngineSettings(engine="inline").choose_engine(), InlineEngine)
    monkeypatch.setenv("HISTOEVAL_ENGINE", "inline")
    assert isinstance(EngineSettings().choose_engine(), InlineEngine)
    assert isinstance(EngineSettings(workers=2).choose_engine(), LocalEngine)
    for name, workers, address, told in (
        ("dask", None, None, "known: local, ray, inline"),
        ("inline", 3, None, "leave --workers out"),
        ("local", None, "auto", "goes with --engine ray"),
        ("local", 0, None, "1 or more"),
    ):
        with pytest.raises(SettingError, match=told):
            EngineSettings(engine=name, workers=workers, address=address).choose_engine()


def test_a_gpu_is_used_by_one_process_unless_a_number_is_given(tmp_path: Path) -> None:
    here, there = DoublingJob(["pid"] * 20, tmp_path), DoublingJob(["pid"] * 20, tmp_path)
    here.task.on_gpu = there.task.on_gpu = True
    ours = f"{os.getpid()}"
    assert {row.text for row in here.run(engine=LocalEngine()).rows} == {ours}
    assert ours not in {row.text for row in there.run(engine=LocalEngine(2)).rows}


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_that_cannot_begin_stops_the_run_and_costs_no_row(
    kind: type[DoublingTask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(HistoEvalError, match="before it could begin"):
        doubled(texts(20), tmp_path / "out", LocalEngine(2), kind=kind)
    assert not (tmp_path / "out" / "out.jsonl").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_that_cannot_be_loaded(kind: type[DoublingTask], tmp_path: Path) -> None:
    job = DoublingJob(texts(20), tmp_path)
    job.task = kind(tmp_path)
    job.task.own = Unloadable()  # type: ignore[attr-defined]
    with pytest.raises(SettingError, match="no such weights"):
        job.run(engine=LocalEngine(2))


class Unloadable:
    """A model whose file has gone."""

    def __reduce__(self) -> tuple[object, ...]:
        return _load, ()


def _load() -> None:
    raise SettingError("no such weights")


TEXTS = [f"t{n}" for n in range(12)]


def spool_of(folder: Path, texts: list[str] = TEXTS) -> BlockSpool:
    job = DoublingJob(texts, folder)
    return BlockSpool(folder / "out.jsonl", job.request())


def rows(*places: int) -> list[Doubled]:
    return [Doubled(f"r{n}", TEXTS[n] * 2) for n in places]


def test_blocks_are_found_in_order_and_no_row_is_in_two(tmp_path: Path) -> None:
    spool = spool_of(tmp_path)
    for start, length in ((8, 2), (3, 4), (5, 3), (0, 2)):
        spool.put(start, rows(*range(start, start + length)))
    assert spool.blocks(0) == [range(2), range(3, 7), range(8, 10)]
    assert spool.blocks(4) == [range(3, 7), range(8, 10)]
    assert Doubled.of_line(spool.lines(range(8, 10))[1]) == rows(9)[0]
    spool.clear()
    assert spool.blocks(0) == []
    assert not spool.folder.exists()


def test_a_run_takes_finished_blocks_over(tmp_path: Path) -> None:
    spool = spool_of(tmp_path)
    spool.put(2, rows(2, 3, 4))
    spool.put(7, rows(7, 8))
    doubled(TEXTS, tmp_path, INLINE)
    assert worked(tmp_path) == ["r0", "r1", "r5", "r6", "r9", "r10", "r11"]
    assert list(RowStore(tmp_path / "out.jsonl", Doubled.of_line)) == rows(*range(12))


def test_of_a_block_that_was_half_written_the_rest_is_taken(tmp_path: Path) -> None:
    doubled(TEXTS, tmp_path, INLINE)
    whole = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    (tmp_path / "worked.txt").unlink()
    spool_of(tmp_path).put(2, rows(2, 3, 4, 5))
    doubled(TEXTS, tmp_path, INLINE)
    assert worked(tmp_path) == ["r6", "r7", "r8", "r9", "r10", "r11"]
    assert (tmp_path / "out.jsonl").read_bytes() == whole


def test_blocks_of_another_input_are_not_taken(tmp_path: Path) -> None:
    spool_of(tmp_path, TEXTS[:5]).put(0, rows(0, 1))
    doubled(TEXTS, tmp_path, INLINE)
    assert len(worked(tmp_path)) == 12


def test_a_block_that_does_not_fit_the_input_is_refused(tmp_path: Path) -> None:
    spool_of(tmp_path).put(2, rows(5, 6))
    with pytest.raises(OutputError, match="not what the input has there"):
        doubled(TEXTS, tmp_path, INLINE)


METRICS = "concordance,hare,rubric_offline,bleu,rouge_1,rouge_l,chrf"
PAIRS = [
    {"id": "1", "reference": "Colon: adenocarcinoma, pT2.", "candidate": "Colon: tubular adenoma."},
    {"id": "2", "reference": "Left breast: carcinoma, grade 2.", "candidate": "Left breast."},
    {"id": "2", "reference": "Twice.", "candidate": "Twice."},
    {"id": "4", "reference": "Skin: naevus. Margins clear.", "candidate": "Skin: melanoma."},
    {"id": "5", "reference": "Prostate: no tumour.", "candidate": ""},
]


def write_scores(output: Path, engine: Engine, rows: int | None) -> None:
    histoeval.score(PAIRS, metrics=METRICS, output=output, engine=engine, batch_size=rows)


def write_readings(output: Path, engine: Engine, rows: int | None) -> None:
    histoeval.extract(
        PAIRS, text="reference", output=output / "read.jsonl", engine=engine, batch_size=rows
    )


def write_entailments(output: Path, engine: Engine, rows: int | None) -> None:
    output.mkdir()
    table = output / "pairs.jsonl"
    pairs = [{"premise": f"Grade {n}.", "hypothesis": "Grade 2."} for n in range(1, 9)]
    table.write_text("".join(json.dumps(pair) + "\n" for pair in [*pairs, {"premise": ""}]))
    model = load_entailer(None)
    entail(open_pairs(table), model, output / "out.jsonl", engine=engine, batch_size=rows)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("write", [write_scores, write_readings, write_entailments])
def test_files_are_equal(write: Callable[[Path, Engine, int | None], None], tmp_path: Path) -> None:
    write(tmp_path / "inline", INLINE, None)
    expected = contents(tmp_path / "inline")
    assert expected
    for name, workers, rows in (("one", 1, None), ("two", 2, 1)):
        write(tmp_path / name, LocalEngine(workers), rows)
        assert contents(tmp_path / name) == expected
