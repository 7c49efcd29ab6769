"""What is released: the wheel and what is in it, one version, hashes that anybody gets again."""

import json
import re
import subprocess
import sys
import tomllib
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement

from histoeval.errors import HistoEvalError
from histoeval.version import __version__
from tests.support.paths import ROOT

HEAVY = {"torch", "transformers", "onnx", "ray", "matplotlib", "starlette", "pandas", "pyarrow"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built by what is installed, without a network."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    ran = subprocess.run(
        [*command, "--directory", folder], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    (found,) = folder.iterdir()
    return found


def test_the_wheel_is_small_for_every_platform_and_holds_what_belongs_in_it(wheel: Path) -> None:
    from benchmarks.dist import wheel_faults

    assert list(wheel_faults(wheel)) == []


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    source = ROOT / "src"
    files = [file for file in (source / "histoeval").rglob("*") if file.is_file()]
    ours = {str(each.relative_to(source)) for each in files if "__pycache__" not in each.parts}
    with ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("histoeval/")}
    assert packed == ours


def test_the_default_installation_is_light(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        about = HeaderParser().parsestr(archive.read(name).decode())
    needed = [Requirement(each) for each in about.get_all("Requires-Dist") or ()]
    default = {each.name for each in needed if each.marker is None}
    assert "onnxruntime" in default
    assert not default & HEAVY
    assert about["Version"] == __version__
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("tests/test_x.py", "tests/test_x.py does not belong there"),
        ("histoeval/shared/data.csv", "histoeval/shared/data.csv does not belong there"),
        ("histoeval/x.so", "histoeval/x.so does not belong there"),
        (None, "histoeval/models/reader/README.md is missing"),
    ],
)
def test_a_wheel_with_something_wrong_is_refused(
    name: str | None, fault: str, tmp_path: Path
) -> None:
    from benchmarks.dist import wheel_faults

    bad = tmp_path / "histoeval-0.1.0-py3-none-any.whl"
    with ZipFile(bad, "w") as archive:
        archive.writestr(name or "histoeval/__init__.py", "")
    assert fault in list(wheel_faults(bad))


def test_research_is_of_this_version() -> None:
    project = tomllib.loads((ROOT / "research" / "pyproject.toml").read_text("utf-8"))
    assert project["tool"]["hatch"]["version"]["path"] == "../src/histoeval/version.py"
    assert project["project"]["dependencies"] == [f"histoeval=={__version__}"]


def test_there_is_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/histoeval/version.py"
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == __version__
    assert citation["license"] == project["project"]["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    others = {ROOT / "CITATION.cff", ROOT / "CHANGELOG.md"}
    assigned = re.compile(
        rf"(?:__version__|^version) *[=:] *\W?{re.escape(__version__)}", re.MULTILINE
    )
    files = [*ROOT.glob("*"), *(ROOT / "src" / "histoeval").rglob("*.py")]
    found = {each for each in files if each.is_file() and assigned.search(each.read_text("utf-8"))}
    assert found - others == {ROOT / "src" / "histoeval" / "version.py"}


def test_the_changelog_keeps_its_form() -> None:
    """As keepachangelog.com has it: what is to come first, then versions with their dates."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first, *versions = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert first == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", each) for each in versions)
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= kinds


@pytest.mark.release
def test_a_second_build_has_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    from benchmarks.dist import built_twice

    wheel, sdist = built_twice(tmp_path)
    assert sdist.stat().st_size < 100_000_000
    assert wheel.name == f"histoeval-{__version__}-py3-none-any.whl"


@pytest.mark.alone
@pytest.mark.release
def test_the_first_minute_is_one(wheel: Path) -> None:
    """Needs a registry to download from; what is installed then runs with the network cut off."""
    from benchmarks import first_minute

    try:
        steps = {row[0]: row[1:] for row in first_minute.measure(["--wheel", str(wheel)])}
    except HistoEvalError as error:
        if "pip download" in str(error):
            pytest.skip("there is no registry to download from")
        raise
    assert min(map(float, steps[first_minute.TOTAL])) < first_minute.MOST_SECONDS
    assert sum(name.startswith("histoeval ") for name in steps) == 4, json.dumps(steps)
