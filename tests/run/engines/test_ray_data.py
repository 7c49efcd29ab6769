"""The Ray engine on a small cluster of this machine: the same rows, whatever is killed."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import histoeval
from histoeval.errors import EndpointError, HistoEvalError, InputError, OutputError, SettingError
from histoeval.nli.builtin import open_entailer
from histoeval.run.engines.engine import INLINE, Blocks, BlockSpool, Engine
from histoeval.run.engines.local import packed
from histoeval.run.engines.ray_engine import RayContext, RayEngine, read
from histoeval.run.extract import entail, open_pairs
from histoeval.run.tiles import TileFolder, write_tiles
from histoeval.slides.open import open_slide
from histoeval.slides.tiles import TileRequest, plan_tiles
from histoeval.slides.tissue import find_tissue
from tests.support import command
from tests.support.engine_jobs import DoublingJob, DoublingTask, Item, Items, doubled, worked
from tests.support.painted_slides import stained, write_pyramid
from tests.support.paths import ROOT
from tests.support.ray_jobs import GpuTask, felled, small_cluster

PAIRS = ROOT / "src" / "histoeval" / "examples" / "pairs.csv"
METRICS = "hare,concordance,rubric_offline,bleu_1,bleu,rouge_1,rouge_2,rouge_l,chrf"

pytest.importorskip("ray")
pytestmark = [pytest.mark.heavy, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with small_cluster() as ray:
        yield ray


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def texts(count: int) -> list[str]:
    """Some rows take longer, so that blocks are finished in another order."""
    return random.Random(0).choices(["a", "bc", "late"], weights=[5, 5, 1], k=count)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("actors", "block_rows"), [(1, 7), (2, None), pytest.param(4, 1, marks=pytest.mark.release)]
)
def test_results_of_one_process(actors: int, block_rows: int | None, tmp_path: Path) -> None:
    given = texts(60)
    expected = doubled(given, tmp_path / "inline", INLINE)
    found = doubled(given, tmp_path / "ray", RayEngine(actors), block_rows)
    assert files(tmp_path / "ray")["out.jsonl"] == files(tmp_path / "inline")["out.jsonl"]
    assert found.summary == expected.summary
    assert sorted(worked(tmp_path / "ray")) == sorted(worked(tmp_path / "inline"))
    assert not list((tmp_path / "ray").glob(".*blocks*"))


@pytest.mark.release
@pytest.mark.usefixtures("cluster")
def test_every_builtin_metric_has_the_same_bytes(tmp_path: Path) -> None:
    pairs = pl.read_csv(PAIRS)[::9]
    for name, engine in (("inline", INLINE), ("ray", RayEngine(2))):
        histoeval.score(pairs, metrics=METRICS, output=tmp_path / name, engine=engine, batch_size=4)
    assert files(tmp_path / "ray") == files(tmp_path / "inline")


@pytest.mark.release
@pytest.mark.usefixtures("cluster")
def test_the_other_verbs_have_the_same_bytes(tmp_path: Path) -> None:
    write_pyramid(tmp_path / "slide.tif", stained(512, 512), levels=2)
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"premise": "Left breast.", "hypothesis": "Right breast."}\n' * 9)
    engines: dict[str, Engine] = {"inline": INLINE, "ray": RayEngine(1)}
    for name, engine in engines.items():
        folder = tmp_path / name
        folder.mkdir()
        histoeval.extract(
            pl.read_csv(PAIRS)[::9], text="reference", output=folder / "read.jsonl", engine=engine
        )
        entail(open_pairs(pairs), open_entailer(), folder / "entailed.jsonl", engine=engine)
        reports = ROOT / "examples" / "trust" / "reports.csv"
        histoeval.trust(reports, output=folder / "trust", engine=engine)
        with open_slide(tmp_path / "slide.tif") as slide:
            plan = plan_tiles(slide, find_tissue(slide), TileRequest(size=256))
            write_tiles(slide, plan, TileFolder(folder / "tiles"), engine=engine)
    assert files(tmp_path / "ray") == files(tmp_path / "inline")
    assert {Path(name).suffix for name in files(tmp_path / "ray")} >= {".jsonl", ".png", ".html"}


@pytest.mark.usefixtures("cluster")
def test_in_memory_broken_rows_keep_their_place(tmp_path: Path) -> None:
    table = tmp_path / "broken.csv"
    table.write_bytes(
        b"id,reference,candidate\na,Colon: adenoma.,Colon.\nb,\xff\xfe,Colon.\na,Liver.,Liver.\n"
        b"c,,\nd,too,many,cells\n" + b"".join(b"e%d,Liver: normal.,Liver.\n" % n for n in range(9))
    )
    engines: dict[str, Engine] = {"inline": INLINE, "ray": RayEngine(1)}
    found = {
        name: histoeval.score(table, metrics="bleu", engine=engine, batch_size=2)
        for name, engine in engines.items()
    }
    assert found["ray"].summary == found["inline"].summary
    assert list(found["ray"].rows) == list(found["inline"].rows)
    assert found["ray"].summary["rows_with_errors"] == 4


@pytest.mark.usefixtures("cluster")
def test_killed_actors_and_a_poison_row_cost_that_row_alone(tmp_path: Path) -> None:
    given = texts(40)
    given[5] = given[22] = "fell"
    given[13] = "poison"
    rows = list(felled(given, tmp_path, RayEngine(2), 4).rows)
    assert [row.id for row in rows] == [f"r{n}" for n in range(40)]
    assert [row.id for row in rows if row.error] == ["r13"]
    assert rows[13].error == "worker_died"
    assert all(row.text == text * 2 for row, text in zip(rows, given, strict=True) if not row.error)


@pytest.mark.usefixtures("cluster")
def test_an_error_of_all_rows_frees_the_cluster(cluster: Any, tmp_path: Path) -> None:
    given = [*texts(20), "gone", *texts(20)]
    with pytest.raises(EndpointError, match="the server is gone"):
        doubled(given, tmp_path, RayEngine(2), 2)
    for _ in range(100):
        if cluster.available_resources().get("CPU") == 4:
            return
        time.sleep(0.1)
    pytest.fail("actors are left")


def test_a_killed_driver_resumes(cluster: Any, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    address = cluster.get_runtime_context().gcs_address
    script.write_text(
        "import sys; from pathlib import Path\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.support.engine_jobs import doubled\n"
        "from histoeval.run.engines.ray_engine import RayEngine\n"
        f"doubled(['late'] * 200, Path(sys.argv[1]), RayEngine(2, {address!r}), 5)\n"
    )
    folder = tmp_path / "out"
    process = subprocess.Popen([sys.executable, str(script), str(folder)], cwd=ROOT)
    while not (folder / "worked.txt").exists() or len(worked(folder)) < 40:
        assert process.poll() is None, "it ended before it was killed"
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _settle(folder)
    finished = (folder / "out.jsonl").read_bytes().count(b"\n")
    blocks = folder.glob(".out.jsonl.blocks-*/*.jsonl")
    spooled = sum(block.read_bytes().count(b"\n") for block in blocks)
    before = Counter(worked(folder))
    doubled(["late"] * 200, folder, RayEngine(2), 7)
    assert finished + spooled >= 20
    assert len(Counter(worked(folder)) - before) == 200 - finished - spooled
    assert (folder / "out.jsonl").read_bytes().count(b"\n") == 200


@pytest.mark.usefixtures("cluster")
def test_what_runs_on_a_gpu_gets_one(tmp_path: Path) -> None:
    job = DoublingJob(["a"] * 3, tmp_path)
    job.task = GpuTask(tmp_path)
    assert [row.text for row in job.run(engine=RayEngine()).rows] == ["0"] * 3


def _settle(folder: Path) -> None:
    """Wait until actors whose driver was killed have gone."""
    seen = -1
    while (now := len(worked(folder))) != seen:
        seen = now
        time.sleep(1)


def test_the_command_prints_nothing_of_ray(cluster: Any, tmp_path: Path) -> None:
    address = cluster.get_runtime_context().gcs_address
    options = ("--metrics", "bleu", "--output")
    ran = command.histoeval(
        *("score", PAIRS, *options, "there", "--engine", "ray", "--workers", "1"),
        *("--address", address),
        cwd=tmp_path,
    )
    assert (ran.code, ran.err) == (0, "")
    assert "ray" not in ran.out.lower().replace("array", "")
    histoeval.score(PAIRS, metrics="bleu", output=tmp_path / "here", engine="inline")
    assert files(tmp_path / "there") == files(tmp_path / "here")


# --- without a cluster ---------------------------------------------------------------------------


def context_of(tmp_path: Path, **changes: Any) -> RayContext:
    given: dict[str, Any] = {"package": packed(DoublingTask(tmp_path)), "spool": None}
    return RayContext(**given | changes)


def test_another_version_on_the_cluster_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="install the same version on all machines"):
        context_of(tmp_path, version="0.0.1").open()


def test_an_output_that_an_actor_cannot_see_is_refused(tmp_path: Path) -> None:
    spool = BlockSpool(tmp_path / "nowhere" / "out.jsonl", {})
    with pytest.raises(OutputError, match="storage that all machines of the cluster share"):
        context_of(tmp_path, spool=spool).open()


def sizes(blocks: Blocks[Item], actors: int) -> list[int]:
    rows = read({"item": pickle.dumps((str(Path.cwd()), blocks, actors))})
    return [len(pickle.loads(row["content"]).rows) for row in rows]


def test_blocks_grow_with_what_was_read_so_that_no_actor_ends_late() -> None:
    items = Items(["a"] * 100)
    assert sizes(Blocks(items, 32), 1) == [8, 8, 8, 8, 10, 14, 18, 24, 2]
    assert sizes(Blocks(items, 40, is_fixed=True), 1) == [40, 40, 20]
    assert sizes(Blocks(items, 4, finished=[range(98)]), 1) == [2]


class Damaged(Items):
    """A file whose end cannot be read."""

    def rows(self) -> Iterator[Item]:
        yield from super().rows()
        raise InputError("the file is damaged")


@pytest.mark.usefixtures("cluster")
def test_an_input_that_breaks_off_stops_the_run_with_its_reason(tmp_path: Path) -> None:
    job = DoublingJob([], tmp_path, 5)
    job.source = Damaged(["a"] * 12)
    with pytest.raises(InputError, match="the file is damaged"):
        job.run(engine=RayEngine(1))


def test_a_finished_run_starts_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    doubled(texts(9), tmp_path, INLINE)

    def refuse(_: str | None) -> None:
        raise HistoEvalError("a cluster was started")

    monkeypatch.setattr("histoeval.run.engines.ray_engine.connected", refuse)
    doubled(texts(9), tmp_path, RayEngine(2))
    with pytest.raises(HistoEvalError, match="a cluster was started"):
        doubled(texts(9), tmp_path / "other", RayEngine(2))
