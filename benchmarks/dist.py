"""What a release consists of, built twice and checked, in one folder.

`python -m benchmarks dist [--output dist] [--no-sbom]`, or `make dist`, builds the sdist and the
wheel, builds both again from the unpacked sdist, and refuses if one byte differs or the wheel holds
what it should not. Beside them it writes `sbom.cdx.json`, the packages of a default installation in
an empty environment (CycloneDX; pip fetches them), and `SHA256SUMS`. Time stamps in the archives
are those of the last commit, or SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import ZipFile

from histoeval.errors import HistoEvalError

ROOT = Path(__file__).parents[1]
COLUMNS = ["file", "MB", "sha256"]
MOST_BYTES = 100_000_000
"""What a registry takes without asking, and what a hospital's proxy lets through."""

SBOM, SUMS = "sbom.cdx.json", "SHA256SUMS"
MODELS = ("aligner", "concordance", "grounding", "nli", "reader")
NEEDED = (
    *(f"histoeval/models/{name}/README.md" for name in MODELS),
    "histoeval/py.typed",
    "histoeval/examples/pairs.csv",
    "histoeval/examples/quickstart/score.py.txt",
    "histoeval/view/html/static/vendor/htmx.LICENSE.txt",
)
FOREIGN = re.compile(r"(^|/)(tests?|shared|results|benchmarks|\.\w+|__pycache__)/|\.(pyc|so|pyd)$")
"""What no wheel of ours holds: tests, data of others, leftovers, anything compiled."""


def measure(options: Sequence[str]) -> list[list[str]]:
    """The files of the release, in the folder that was named."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks dist")
    asked.add_argument("--output", type=Path, default=ROOT / "dist")
    asked.add_argument("--no-sbom", action="store_true")
    given = asked.parse_args(options)
    with tempfile.TemporaryDirectory() as drafts:
        wheel, sdist = built_twice(Path(drafts))
        if wrong := [*wheel_faults(wheel)]:
            raise HistoEvalError("the wheel cannot be released: " + "; ".join(wrong))
        files = [wheel, sdist] if given.no_sbom else [wheel, sdist, _sbom(wheel)]
        shutil.rmtree(given.output, ignore_errors=True)
        given.output.mkdir(parents=True)
        kept = [Path(shutil.copy(file, given.output)) for file in files]
    lines = [f"{sha256(file)}  {file.name}\n" for file in kept]
    (given.output / SUMS).write_text("".join(lines), encoding="utf-8")
    return [[file.name, f"{file.stat().st_size / 1e6:.1f}", sha256(file)] for file in kept]


def built_twice(drafts: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of this tree, which the sdist alone gives once more."""
    first = _built(ROOT, drafts / "first")
    sdist = next(file for file in first if file.name.endswith(".tar.gz"))
    with tarfile.open(sdist) as archive:
        archive.extractall(drafts / "source", filter="data")
    (source,) = (drafts / "source").iterdir()
    (source / "PKG-INFO").unlink()  # the build writes it, and would list it in another place
    second = _built(source, drafts / "second")
    if [sha256(file) for file in first] != [sha256(file) for file in second]:
        raise HistoEvalError(f"a second build differs; compare the files in {drafts}")
    return next(file for file in first if file.suffix == ".whl"), sdist


def _built(source: Path, output: Path) -> list[Path]:
    """Both archives of a tree, by the build backend that is installed here."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(output)]
    environment = {"SOURCE_DATE_EPOCH": _time_of_commit(), **os.environ}
    ran = subprocess.run(
        [*command, str(source)], env=environment, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise HistoEvalError(f"the build failed: {ran.stdout}{ran.stderr}")
    return sorted(output.iterdir())


def _time_of_commit() -> str:
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    return subprocess.check_output(command, text=True).strip()


def wheel_faults(wheel: Path) -> Iterator[str]:
    """What is wrong with a wheel: its size, its tags, what it lacks, what it must not hold."""
    if (size := wheel.stat().st_size) >= MOST_BYTES:
        yield f"{size / 1e6:.1f} MB are too many"
    if not wheel.name.endswith("-py3-none-any.whl"):
        yield f"{wheel.name} is not for every platform"
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    info = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"
    needed = (*NEEDED, f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE")
    yield from (f"{name} is missing" for name in needed if name not in names)
    for name in names:
        if FOREIGN.search(name) or not name.startswith(("histoeval/", f"{info}/")):
            yield f"{name} does not belong there"


def _sbom(wheel: Path) -> Path:
    """What a default installation consists of, by name, version and licence."""
    home, target = wheel.parent / "environment", wheel.parent / SBOM
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", str(wheel)], check=True)
    subprocess.run([*pip, "uninstall", "--yes", "setuptools"], check=True)
    listing = [sys.executable, "-m", "cyclonedx_py", "environment", "--short-PURLs"]
    settings = ["--output-reproducible", "--mc-type", "library", "--of", "JSON", "-o", str(target)]
    project = ["--pyproject", str(ROOT / "pyproject.toml")]
    subprocess.run([*listing, *settings, *project, python], check=True)
    return target


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
