"""The examples of docs/integrations.md run, each with its real tool."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tests.support.score_runs import make_score_run

PAGE = (ROOT / "docs" / "integrations.md").read_text("utf-8")
SECTIONS = {
    title: "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    for title, _, text in (part.partition("\n") for part in PAGE.split("\n## ")[1:])
}
TOOLS = {
    "Hugging Face evaluate": "evaluate",
    "torchmetrics": "torchmetrics",
    "inspect_ai": "inspect_ai",
    "MLflow": "mlflow",
    "Weights & Biases": "wandb",
    "pandas": "pandas",
}
REFERENCES = ["Left breast: carcinoma, grade 2.", "Colon: tubular adenoma."]
CANDIDATES = ["Left breast: carcinoma, grade 3.", "Colon: adenoma."]

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def test_every_section_with_python_is_of_a_tool() -> None:
    assert {title for title, code in SECTIONS.items() if code} == set(TOOLS)


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::UserWarning:mlflow")
@pytest.mark.parametrize("title", TOOLS)
def test_the_example_runs(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = pytest.importorskip(TOOLS[title])
    make_score_run(tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    if tool.__name__ == "evaluate":
        monkeypatch.setattr(tool.config, "HF_METRICS_CACHE", str(tmp_path))
    if tool.__name__ == "mlflow":
        monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        monkeypatch.setattr(tool.tracking._tracking_service.utils, "_tracking_uri", None)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    if tool.__name__ == "wandb":
        monkeypatch.setenv("WANDB_SILENT", "true")
        monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))
    names: dict[str, Any] = {"references": REFERENCES, "candidates": CANDIDATES}
    exec(SECTIONS[title], names)


@pytest.mark.heavy
def test_inspect_knows_the_scorer_by_the_entry_point_of_this_package() -> None:
    import tomllib
    from importlib import import_module

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pytest.importorskip("inspect_ai")
    module = import_module(project["entry-points"]["inspect_ai"]["histoeval"])
    assert callable(module.report_score)
