"""Every shipped weight file has a card: its hash, recipe, licence, sources and limits."""

import hashlib
import tomllib
from pathlib import Path

import pytest

from tests.support.paths import ROOT

MODELS = ROOT / "src" / "histoeval" / "models"
NOTICE = (ROOT / "NOTICE").read_text(encoding="utf-8")
NO_WEIGHTS = {"README.md", "results.json"}

folders = sorted(folder for folder in MODELS.iterdir() if folder.is_dir())
every_folder = pytest.mark.parametrize("folder", folders, ids=lambda folder: folder.name)


def faults(folder: Path) -> list[str]:
    """What the card of a folder lacks."""
    readme = folder / "README.md"
    if not readme.exists():
        return ["there is no card"]
    card = readme.read_text(encoding="utf-8")
    files = [file for file in sorted(folder.iterdir()) if file.name not in NO_WEIGHTS]
    lines = [(f"| {file.name} |", hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]
    lacking = [
        f"no row of {name} with sha256 {sha256}"
        for name, sha256 in lines
        if not any(row.startswith(name) and f"`{sha256}`" in row for row in card.splitlines())
    ]
    needed = {
        "a section on limits": "## Limits ",
        "a section on the recipe": "## Recipe ",
        "the command": f"histoeval train {folder.name}",
        "that a rerun gives other bits": "of the same kind",
        "a licence": "Licence",
        "NOTICE": "`NOTICE`",
    }
    plain = " ".join(card.split())
    return lacking + [name for name, words in needed.items() if words not in plain]


@every_folder
def test_weight_files_have_a_card(folder: Path) -> None:
    assert not faults(folder)


@every_folder
def test_the_notice_names_the_sources(folder: Path) -> None:
    assert f"(histoeval/models/{folder.name})" in NOTICE


def test_the_licences_that_ask_for_attribution_are_in_the_notice_and_the_wheel() -> None:
    for words in ("SNLI", "ConjNLI", "CC BY-SA 4.0", "REG2025", "Serdar Balci", "CC BY 3.0", "NCI"):
        assert words in NOTICE
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "NOTICE" in project["license-files"]


def test_a_changed_weight_and_a_missing_licence_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    assert faults(folder) == ["there is no card"]
    card = (MODELS / "reader" / "README.md").read_text(encoding="utf-8")
    (folder / "README.md").write_text(card.replace("Licence", "Leave"), encoding="utf-8")
    (folder / "encoder.onnx").write_bytes(b"other weights")
    found = faults(folder)
    assert "encoder.onnx" in found[0]
    assert found[1:] == ["a licence"]
