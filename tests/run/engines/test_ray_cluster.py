"""What Ray gives each actor, and what people are told when there is no Ray."""

import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from histoeval.errors import EndpointError, MissingDependency, SettingError
from histoeval.run.engines import ray_engine
from histoeval.run.engines.ray_engine import ActorShare, connected, in_words, share_of
from tests.support.engine_jobs import DoublingTask


@pytest.mark.parametrize(
    ("resources", "workers", "kind", "expected"),
    [
        ({"CPU": 8.0}, None, {}, ActorShare(8, 1, 0)),
        ({"CPU": 4.0}, 2, {}, ActorShare(2, 1, 0)),
        ({"CPU": 4.0}, 6, {}, ActorShare(6, 1 / 2, 0)),
        ({"CPU": 8.0}, None, {"parallel": False}, ActorShare(1, 1, 0)),
        ({"CPU": 8.0, "GPU": 2.0}, None, {"on_gpu": True}, ActorShare(2, 1, 1)),
        ({"CPU": 8.0, "GPU": 2.0}, 3, {"on_gpu": True}, ActorShare(3, 1, 1 / 2)),
    ],
)
def test_actors_share_the_cluster(
    resources: dict[str, float], workers: int | None, kind: dict[str, bool], expected: ActorShare
) -> None:
    task = DoublingTask(Path())
    vars(task).update(kind)
    assert share_of(resources, workers, task) == expected


def test_a_gpu_that_is_not_there_is_named() -> None:
    task = DoublingTask(Path())
    task.on_gpu = True
    with pytest.raises(SettingError, match="the Ray cluster has no GPU"):
        share_of({"CPU": 8.0}, None, task)


class FakeRay(SimpleNamespace):
    """Ray as far as it is started and stopped."""

    def __init__(self, trouble: Exception | None = None, running: bool = False) -> None:
        super().__init__(trouble=trouble, running=running, started={}, stopped=0)

    def is_initialized(self) -> bool:
        return bool(self.running)

    def init(self, **settings: Any) -> None:
        self.started = settings | {"usage": os.environ["RAY_USAGE_STATS_ENABLED"]}
        if self.trouble is not None:
            raise self.trouble

    def shutdown(self) -> None:
        self.stopped += 1


def test_a_cluster_of_its_own_is_private_and_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRay()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray_engine, "_imported", lambda: fake)
    with connected(None):
        folder = Path(fake.started["_temp_dir"]).parent
        assert folder.stat().st_mode & 0o077 == 0
    assert (fake.started["address"], fake.started["usage"], fake.stopped) == ("local", "0", 1)
    assert not folder.exists()


def test_a_cluster_that_runs_already_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRay(running=True)
    monkeypatch.setattr(ray_engine, "_imported", lambda: fake)
    with connected(None):
        pass
    assert (fake.started, fake.stopped) == ({}, 0)


def test_the_address_of_a_ray_job(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRay()
    monkeypatch.setattr(ray_engine, "_imported", lambda: fake)
    with socket.create_server(("127.0.0.1", 0)) as head:
        address = f"127.0.0.1:{head.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        with connected(None):
            pass
    assert fake.started["address"] == address
    assert "num_cpus" not in fake.started


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (ConnectionError("no route\nmuch more"), "no Ray cluster at auto: no route; start one"),
        (RuntimeError("Python 3.11 and 3.12"), "does not fit this installation: Python 3.11 and"),
    ],
)
def test_bad_clusters(trouble: Exception, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_engine, "_imported", lambda: FakeRay(trouble))
    with pytest.raises(EndpointError, match=message), connected("auto"):
        pass


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "no Ray cluster at 127.0.0.1:1: .*refused"),
        ("head:ray", "no Ray cluster at head:ray"),
        ("ray://head:10001", "--address auto, or by `ray job submit`"),
    ],
)
def test_addresses_of_nobody(address: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_engine, "_imported", FakeRay)
    with pytest.raises(EndpointError, match=message), connected(address):
        pass


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependency, match=r"histoeval\[ray\]"), connected(None):
        pass


def test_what_ray_says_is_shortened() -> None:
    assert "have no histoeval" in str(in_words(ModuleNotFoundError("No module named 'histoeval'")))
    assert "Ray has stopped: ValueError: bad; " not in str(in_words(ValueError("bad\ntrace")))
    assert "Ray has stopped: ValueError: bad (" in str(in_words(ValueError("bad\ntrace")))
