"""Changes one rule of the source at a time, and tells which changes no test notices.

`make mutants` tries the changes of `tests/data/mutants.toml`: central clinical rules, each with
what the change would mean for a patient and the smallest tests that ought to notice it. They are
made in a copy of `src`, never in the working tree.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from histoeval.errors import SettingError

ROOT = Path(__file__).resolve().parents[1]
LISTED = ROOT / "tests" / "data" / "mutants.toml"
COLUMNS = ["rule that is broken", "what it would mean", "result"]
_SECONDS = 120
_PASSED, _FAILED = 0, 1


@dataclass(frozen=True)
class ListedMutant:
    """A line of the source, the line in its place, and the tests that ought to notice."""

    name: str
    means: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    def applied(self, source: str) -> str:
        """The source with the line replaced; an error if it does not stand there once."""
        lines = source.split("\n")
        if (count := lines.count(self.before)) != 1:
            raise SettingError(
                f"tests/data/mutants.toml, {self.name!r}: {self.file} has the line "
                f"{self.before.strip()!r} {count} times, not once; find the line that has this "
                "rule now, and write it into tests/data/mutants.toml"
            )
        return "\n".join(self.after if line == self.before else line for line in lines)


def listed_mutants() -> list[ListedMutant]:
    """The mutants of `tests/data/mutants.toml`."""
    rows = tomllib.loads(LISTED.read_text("utf-8"))["mutant"]
    return [ListedMutant(**row | {"tests": tuple(row["tests"])}) for row in rows]


class SourceCopy:
    """A copy of `src` in which one file at a time is changed, and the tests that run on it."""

    def __init__(self, folder: Path) -> None:
        self._package = folder / "src" / "histoeval"
        self._clock = 0
        shutil.copytree(
            ROOT / "src" / "histoeval",
            self._package,
            ignore=shutil.ignore_patterns("__pycache__"),
            copy_function=_copy_code,
        )

    @contextmanager
    def changed(self, file: str, source: str) -> Iterator[None]:
        """The copy with other contents of a file."""
        before = (self._package / file).read_text("utf-8")
        self._write(file, source)
        try:
            yield
        finally:
            self._write(file, before)

    def _write(self, file: str, source: str) -> None:
        """Each time with a later date: bytecode is kept for a file of one date and length."""
        path = self._package / file
        path.write_text(source, "utf-8")
        self._clock += 10
        os.utime(path, times=(2e9 + self._clock,) * 2)

    def test(self, tests: Sequence[str], seconds: float = _SECONDS) -> tuple[int | None, str]:
        """The exit code of pytest, None if it took too long, and the end of what it said."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(self._package.parent)},
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, f"no end after {seconds:.0f} s"
        return done.returncode, "\n".join(done.stdout.splitlines()[-15:]) + done.stderr[-1000:]


def _copy_code(source: str, target: str) -> None:
    """Python is copied; word lists and models are only linked to."""
    if source.endswith(".py"):
        shutil.copyfile(source, target)
    else:
        Path(target).symlink_to(source)


def listed() -> tuple[list[list[str]], int]:
    """A row for each listed mutant, and how many no test noticed."""
    mutants, rows, survived = listed_mutants(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        copy = SourceCopy(Path(folder))
        code, said = copy.test(sorted({test for mutant in mutants for test in mutant.tests}))
        if code != _PASSED:
            raise SettingError(f"the tests of tests/data/mutants.toml fail unchanged\n{said}")
        for mutant in mutants:
            source = (ROOT / "src" / "histoeval" / mutant.file).read_text("utf-8")
            with copy.changed(mutant.file, mutant.applied(source)):
                code, said = copy.test(mutant.tests)
            if code not in (_PASSED, _FAILED, None):
                raise SettingError(f"{mutant.name}: the tests could not be run\n{said}")
            survived += code == _PASSED
            missed = f"**survived** {' '.join(mutant.tests)}"
            rows.append([mutant.name, mutant.means, missed if code == _PASSED else "caught"])
    return rows, survived
