"""What tests of both packages need: the shipped models, and tiny ones made on the spot."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from research.tests.support.training_fixtures import (
    plain_encoder,
    tagger,
    tiny_aligner,
    tiny_corpus,
)

from tests.support.memory import LIMIT, MemoryWatch, Resident
from tests.support.report_words import WORDS
from tests.support.shipped_models import (
    shipped_aligner,
    shipped_encoder,
    shipped_entailer,
    shipped_reader,
)

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders
    from histoeval.align.builtin import BuiltinAligner
    from histoeval.nli.builtin import BuiltinEntailer
    from histoeval.pathgls.grounding.builtin import BuiltinEncoder
    from histoeval.reader.builtin import BuiltinReader
    from tests.support.command import Outcome

# Two workers share two cores: more threads of torch and numpy only wait for each other. What
# starts a process of its own passes this on.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Tests of engines name theirs; all others stay in their process, where they can be patched.
os.environ["HISTOEVAL_ENGINE"] = "inline"

# In `nohup make test &` and in some CI runners Ctrl-C is ignored, also by the commands that tests
# start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What is noted of commands and requests, and replies that are cached, stay out of the home folder.
os.environ.setdefault("HISTOEVAL_CACHE", mkdtemp(prefix="histoeval-tests-"))

# The same examples in every run, so that nothing that lands can fail by chance afterwards; to look
# for new ones, run with HISTOEVAL_EXPLORE=1. `make release` names the profile with more of them.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("release", derandomize=True, deadline=None, max_examples=200)
settings.register_profile("explore", deadline=None, max_examples=200)
settings.load_profile("explore" if "HISTOEVAL_EXPLORE" in os.environ else "steady")

MEMORY = pytest.StashKey[MemoryWatch]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Memory is watched from beside the tests, where these are in workers."""
    if session.config.getoption("numprocesses", None):
        session.config.stash[MEMORY] = MemoryWatch()
        session.config.stash[MEMORY].start()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What the processes came to is told in the summary."""
    if watch := session.config.stash.get(MEMORY, None):
        watch.stop()


RESIDENT = Resident()


def pytest_runtest_logfinish() -> None:
    RESIDENT.give_back()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if watch := config.stash.get(MEMORY, None):
        above = f", more than the {LIMIT:,.0f} MB allowed" if watch.largest > LIMIT else ""
        terminalreporter.write_line(f"{watch}{above}", red=bool(above))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests and training come first: no worker is left with one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: not (item.path in slow or "train" in item.path.parts))


def pytest_collection_finish() -> None:
    """What was imported to collect the tests stays until the end: no collection looks at it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_open() -> Iterator[None]:
    """A file that a module leaves open fails that module, and not by chance a later one.

    What is still in use afterwards (libraries, models) is not searched again: without the freeze
    each module would wait for a second while all of it is walked through.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _no_metric_left_behind() -> Iterator[None]:
    """A metric that a module registers is gone after it."""
    from histoeval.metrics.registry import METRICS

    before = dict(METRICS)
    yield
    METRICS.clear()
    METRICS.update(before)


@pytest.fixture(scope="session")
def reader() -> BuiltinReader:
    """The shipped reader."""
    return shipped_reader()


@pytest.fixture(scope="session")
def aligner() -> BuiltinAligner:
    """The shipped aligner."""
    return shipped_aligner()


@pytest.fixture(scope="session")
def entailer() -> BuiltinEntailer:
    """The shipped NLI model."""
    return shipped_entailer()


@pytest.fixture(scope="session")
def encoder() -> BuiltinEncoder:
    """The shipped grounding model."""
    return shipped_encoder()


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> ModelFolders:
    """A tagger, a relation model and an encoder with random weights, as folders."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)  # more threads only get in each other's way on models this small
    pytest.importorskip("transformers")
    from benchmarks.random_models import Shape, make_models

    folder: Path = tmp_path_factory.mktemp("models")
    shape = Shape(layers=1, heads=2, outside=12, spread=6)
    return make_models(folder, [" ".join(WORDS)] * 3, shape)


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """`histoeval` with the given words, run in `tmp_path` and in this process."""
    from tests.support.command import histoeval_here

    return partial(histoeval_here, cwd=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
