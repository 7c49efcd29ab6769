"""The notebooks run from top to bottom, and print what they show."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tests.test_docs_commands import check_printed

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))

TRAINS = "train_a_reader"

every_notebook = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.heavy if path.stem == TRAINS else (), id=path.stem)
        for path in NOTEBOOKS
    ],
)


def printed(cell: Any) -> str:
    return "".join(each.text for each in cell.get("outputs", ()) if each.get("name") == "stdout")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of Jupyter's own, in this process
@every_notebook
def test_it_runs_and_prints_what_it_shows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.stem == TRAINS:
        pytest.importorskip("torch")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("COLUMNS", "100")
    shown = nbformat.read(path, as_version=4)
    ran = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(ran, timeout=300, kernel_name="python3", resources=place).execute()
    for expected, got in zip(shown.cells, ran.cells, strict=True):
        check_printed(path.stem, printed(expected), printed(got), within=0.1)


@every_notebook
def test_it_is_short_says_who_wrote_its_texts_and_has_small_outputs(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    assert len(book.cells) <= 20
    assert path.stat().st_size < 20_000
    prose = " ".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    assert "language model" in prose
    for cell in book.cells:
        assert all(each.get("name") == "stdout" for each in cell.get("outputs", ()))
        assert not cell.get("execution_count")
