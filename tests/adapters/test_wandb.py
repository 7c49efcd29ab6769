"""A run in Weights & Biases, offline: what would be sent lies in its folder."""

from pathlib import Path

import pytest

from tests.support.score_runs import make_score_run

wandb = pytest.importorskip("wandb")

from histoeval.adapters.wandb import log_run

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"MODE": "offline", "SILENT": "true", "DIR": str(tmp_path)}.items():
        monkeypatch.setenv(f"WANDB_{name}", text)
    for name in ("CACHE_DIR", "DATA_DIR", "CONFIG_DIR", "ARTIFACT_DIR"):
        monkeypatch.setenv(f"WANDB_{name}", str(tmp_path / name))


def test_a_run_is_logged_without_its_texts(tmp_path: Path) -> None:
    run = make_score_run(tmp_path / "run")
    made = log_run(run, project="reports", dir=str(tmp_path), mode="offline")
    (place,) = (tmp_path / "wandb").glob(f"offline-run-*-{made}")
    wandb.teardown()  # until then its service may hold back what the record says
    (record,) = place.glob("*.wandb")
    content = record.read_bytes()
    assert b"marking/mean/a" in content
    assert b"signature/bleu" in content
    (table,) = place.rglob("*.table.json")
    text = table.read_text("utf-8")
    assert '"breast-1","a",0.5' in text
    assert "adenoma" not in text
    assert b"adenoma" not in content


def test_texts_are_logged_on_request_in_the_run_that_is_open(tmp_path: Path) -> None:
    with wandb.init(project="mine", dir=str(tmp_path), mode="offline") as mine:
        assert log_run(make_score_run(tmp_path / "run"), texts=True) == mine.id
    (table,) = (tmp_path / "wandb").rglob("*.table.json")
    assert "adenoma" in table.read_text("utf-8")
