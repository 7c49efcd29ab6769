"""Changes one rule of the source at a time, and tells which changes no test notices.

`make mutants` tries the changes of `tests/data/mutants.toml`: central clinical rules, each with
what the change would mean for a patient and the smallest tests that ought to notice it. They are
made in a copy of `src`, never in the working tree.

`make mutation` makes up changes itself, in the clinical values and the comparers: a limit, a
condition, a number, a severity. Tests are collected and the catalogues loaded once; each change is
made in a fork of that process, which runs the tests that reach the changed line until one fails.
How many digits `round` leaves is no rule, and is not changed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import gc
import hashlib
import importlib
import itertools
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from histoeval.errors import SettingError

ROOT = Path(__file__).resolve().parents[1]
LISTED = ROOT / "tests" / "data" / "mutants.toml"
COLUMNS = ["rule that is broken", "what it would mean", "result"]
_SECONDS = 120
_PASSED, _FAILED, _ERROR = 0, 1, 3


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


# --- generated changes ----------------------------------------------------------------------------

PACKAGE = ROOT / "src" / "histoeval"
TESTS = (
    "tests/concordance",
    "tests/terms/values",
    "tests/align/opposites",
    "tests/facts",
    "tests/nli/features",
)
"""What is run: tests elsewhere notice changes, too, but not for want of a rule."""
NO_COMPARERS = ("__init__", "rubric", "statements", "verification", "verified_errors", "weights")
"""Modules of concordance that compare no values: a model's answers, and how parts are weighted."""
SURVIVORS = ["place", "before", "after", "tests that reach it"]
LEAST_SCORE = 0.85
_REACHED = ROOT / ".pytest_cache" / "mutation.pickle"
"""What tests reach, for the next run on the same source."""
_PART = 50
_BROAD = 30
_MOST = 200
"""Tests of one change, those first that reach most of its file, the others of the quickest files:
one that needs more to be noticed has survived."""

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.Continue: ast.Break,
    ast.Break: ast.Continue,
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_SEVERITIES = ("MINOR", "MODERATE", "MAJOR", "CRITICAL")
_UNREAD = ("annotation", "returns", "decorator_list", "type_comment", "format_spec")
_QUIET = ("__repr__", "__str__", "__hash__")
_HARMLESS = {"strict", "maxsize", "slots", "frozen"}
"""Arguments whose value changes nothing that a rule says."""


@dataclass(frozen=True)
class Mutant:
    """The change of one piece of a file: which one of the pieces, and which of its changes."""

    file: str
    place: int
    which: int
    lines: tuple[int, int]
    statement: tuple[int, int]
    function: tuple[str, int] | None
    """Name and first line of the function that it is in; None is outside of functions."""
    before: str
    after: str

    @property
    def path(self) -> Path:
        """The file that is changed."""
        return PACKAGE / self.file

    def tree(self) -> ast.Module:
        """The file with the change."""
        tree = ast.parse(_source(self.path))
        slot = next(slot for at, slot in enumerate(_slots(tree)) if at == self.place)
        slot.put(_changes(slot)[self.which])
        return ast.fix_missing_locations(tree)

    def code(self) -> CodeType | None:
        """The changed function."""
        return _code_of(compile(self.tree(), str(self.path), "exec"), self.function)


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@functools.cache
def _source(path: Path) -> str:
    """A file as it was at the beginning."""
    return path.read_text("utf-8")


def _code_of(code: CodeType, function: tuple[str, int] | None) -> CodeType | None:
    if (code.co_qualname, code.co_firstlineno) == function:
        return code
    inner = (_code_of(each, function) for each in code.co_consts if isinstance(each, CodeType))
    return next(filter(None, inner), None)


@dataclass(frozen=True)
class _Slot:
    """A piece of a file: the part of a node, with what it stands in."""

    owner: ast.AST
    field: str
    at: int | None
    node: ast.AST
    statement: ast.stmt
    function: ast.FunctionDef | None
    qualname: str

    def put(self, node: ast.AST) -> None:
        """Puts another piece in its place."""
        if self.at is None:
            setattr(self.owner, self.field, node)
        else:
            getattr(self.owner, self.field)[self.at] = node


def _slots(tree: ast.Module) -> Iterator[_Slot]:
    """Every piece that may be changed, in the order of the file."""

    def below(
        owner: ast.AST, statement: ast.stmt | None, function: ast.FunctionDef | None, name: str
    ) -> Iterator[_Slot]:
        for field, value in ast.iter_fields(owner):
            if field in _UNREAD:
                continue
            listed = isinstance(value, list)
            for at, node in enumerate(value if listed else [value]):
                if not isinstance(node, ast.AST) or _is_unread(owner, node):
                    continue
                inner, inner_name, where = function, name, statement
                if isinstance(node, ast.stmt):
                    where = node
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and function is None:
                    inner_name = f"{name}.{node.name}" if name else node.name
                if isinstance(owner, ast.FunctionDef) and function is None and field == "body":
                    inner = owner
                if where is not None:
                    yield _Slot(
                        owner, field, at if listed else None, node, where, inner, inner_name
                    )
                yield from below(node, where, inner, inner_name)

    yield from below(tree, None, None, "")


def _is_unread(owner: ast.AST, node: ast.AST) -> bool:
    """Whether a piece has no part in any rule: error texts, patterns, what is for type checkers."""
    unread = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr)
    if isinstance(node, unread) or isinstance(owner, ast.Slice):  # how far words are looked for
        return True
    if (
        (isinstance(node, ast.FunctionDef) and node.name in _QUIET)
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        or (isinstance(node, ast.keyword) and node.arg in _HARMLESS)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in ("re.compile", "TypeVar"))
        or (
            isinstance(owner, ast.Call)
            and ast.unparse(owner.func) == "round"
            and node in owner.args[1:]
        )
    ):
        return True
    # Types that are given names: `Places = dict[Value, deque[int]]`, `str | None`.
    return (
        isinstance(owner, ast.Assign)
        and isinstance(node, ast.Subscript | ast.BinOp)
        and (
            any(
                isinstance(t, ast.Name) and t.id[:1].isupper() and not t.id.isupper()
                for t in owner.targets
            )
        )
    )


def _changes(slot: _Slot) -> list[ast.AST]:
    """What is tried in place of a piece."""
    node, owner = slot.node, slot.owner
    if other := _OPERATORS.get(type(node)):
        words = isinstance(owner, ast.BinOp) and any(
            isinstance(side, ast.JoinedStr | ast.List | ast.Tuple | ast.Dict | ast.Set)
            or (isinstance(side, ast.Constant) and isinstance(side.value, str))
            for side in (owner.left, owner.right)
        )
        return [] if words else [other()]
    changed: list[ast.AST] = []
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        changed.append(node.operand)
    elif isinstance(node, ast.Constant):
        changed += _constants(node.value)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if isinstance(owner, ast.Call) and owner.func is node and node.id in _NAMES:
            changed.append(ast.Name(_NAMES[node.id], ast.Load()))
        changed += [ast.Name(step, ast.Load()) for step in _steps(node.id)]
    elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Severity":
        changed += [ast.Attribute(node.value, step, ast.Load()) for step in _steps(node.attr)]
    elif isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
        changed.append(ast.Return(ast.Constant(None)))
    is_condition = (slot.field == "test" and isinstance(owner, ast.If | ast.IfExp)) or (
        slot.field == "ifs" and isinstance(owner, ast.comprehension)
    )
    if is_condition:
        changed += [ast.Constant(True), ast.Constant(False)]
    return changed


def _constants(value: object) -> list[ast.AST]:
    if isinstance(value, bool):
        return [ast.Constant(not value)]
    if isinstance(value, int):
        return [ast.Constant(value + 1), ast.Constant(value - 1)]
    if isinstance(value, float):
        step = 0.1 if abs(value) <= 1 else 1.0
        return [ast.Constant(round(value + step, 6)), ast.Constant(round(value - step, 6))]
    return []


def _steps(name: str) -> list[str]:
    """Severities that are one step off."""
    if name not in _SEVERITIES:
        return []
    place = _SEVERITIES.index(name)
    return [_SEVERITIES[at] for at in (place - 1, place + 1) if 0 <= at < len(_SEVERITIES)]


def mutated_files() -> list[Path]:
    """The clinical values and the comparers."""
    comparers = (PACKAGE / "concordance").glob("*.py")
    return sorted(
        [
            *(PACKAGE / "terms" / "values").rglob("*.py"),
            *(path for path in comparers if path.stem not in NO_COMPARERS),
        ]
    )


def mutants_of(file: Path) -> list[Mutant]:
    """Every change that is tried in a file."""
    mutants, seen = [], set()
    for place, slot in enumerate(_slots(ast.parse(_source(file)))):
        shown = slot.node if hasattr(slot.node, "lineno") else slot.owner
        for which, node in enumerate(_changes(slot)):
            after = copy.deepcopy(slot.owner)
            _Slot(after, *_fields(slot)[1:]).put(copy.deepcopy(node))
            before, changed = ast.unparse(slot.owner), ast.unparse(ast.fix_missing_locations(after))
            lines = (shown.lineno, shown.end_lineno or shown.lineno)  # type: ignore[attr-defined]
            if (lines, before, changed) in seen:
                continue
            seen.add((lines, before, changed))
            function = (slot.qualname, _first_line(slot.function)) if slot.function else None
            name = file.relative_to(PACKAGE).as_posix()
            ends = slot.statement.lineno, slot.statement.end_lineno or slot.statement.lineno
            told = _difference(before, changed)
            mutants.append(Mutant(name, place, which, lines, ends, function, *told))
    return mutants


def _fields(slot: _Slot) -> tuple[Any, ...]:
    return tuple(getattr(slot, name) for name in _Slot.__dataclass_fields__)


def _difference(before: str, after: str) -> tuple[str, str]:
    """The first lines that differ."""
    pairs = zip(before.split("\n"), after.split("\n"), strict=False)
    one, other = next(((b.strip(), a.strip()) for b, a in pairs if a != b), (before, after))
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    start = max(0, same - 50)
    return one[start : start + 100], other[start : start + 100]


def _first_line(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])


# --- tests of generated changes -------------------------------------------------------------------


@dataclass(frozen=True)
class _Test:
    """What one test reaches in the files that are changed, and how long it takes."""

    item: int
    seconds: float
    lines: frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Outcome:
    """A change, and whether a test noticed it."""

    mutant: Mutant
    caught: bool
    tests: int


class _Session:
    """A pytest plugin: in place of running the tests it runs them on every change."""

    def __init__(self, mutants: Sequence[Mutant], workers: int) -> None:
        self._mutants = mutants
        self._workers = workers
        self._files = {str(path) for path in mutated_files()}
        self.outcomes: list[Outcome] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        """Instead of pytest's own loop, after tests are collected."""
        for path in sorted(self._files):
            importlib.import_module(_module(Path(path)))
        _load_catalogues(self._workers)
        gc.unfreeze()
        gc.collect()
        objects = gc.get_objects()
        self._functions: dict[tuple[str, str, int], FunctionType] = {
            (code.co_filename, code.co_qualname, code.co_firstlineno): each
            for each in objects
            if isinstance(each, FunctionType) and (code := each.__code__).co_filename in self._files
        }
        names = {function.__module__ for function in self._functions.values()}
        self._caches = [
            each
            for each in objects
            if isinstance(each, functools._lru_cache_wrapper) and each.__module__ in names
        ]
        del objects
        self._forget(lambda cache: cache.cache_parameters()["maxsize"] is not None)
        gc.freeze()
        self._items = session.items
        self._tests = self._all_reached()
        self._try_all()
        return True

    def _forget(self, which: Callable[[Any], bool]) -> None:
        """Empties caches of the changed files: what was read of a text, or a table."""
        for cache in filter(which, self._caches):
            cache.cache_clear()

    def _all_reached(self) -> list[_Test]:
        """What every test reaches, by as many processes as there are workers, or as it is kept."""
        key = hashlib.sha256("".join(_source(path) for path in mutated_files()).encode()).digest()
        kept: dict[str, _Test] = {}
        if _REACHED.exists():
            of, tests = pickle.loads(_REACHED.read_bytes())
            kept = tests if of == key else {}
        new = [at for at, item in enumerate(self._items) if item.nodeid not in kept]
        parts = [new[at : at + _PART] for at in range(0, len(new), _PART)]
        with tempfile.TemporaryDirectory() as folder:
            waiting: list[tuple[int, Path]] = []
            for worker in range(self._workers):
                share = list(itertools.chain.from_iterable(parts[worker :: self._workers]))
                out = Path(folder) / str(worker)
                if not (pid := os.fork()):
                    _in_child(partial(self._reach, share, out))
                waiting.append((pid, out))
            for pid, out in waiting:
                os.waitpid(pid, 0)
                reached, failed = pickle.loads(out.read_bytes())
                if failed:
                    raise SettingError(f"these tests fail unchanged: {', '.join(failed)}")
                kept |= reached
        _REACHED.parent.mkdir(exist_ok=True)
        _REACHED.write_bytes(pickle.dumps((key, kept)))
        return [replace(kept[item.nodeid], item=at) for at, item in enumerate(self._items)]

    def _reach(self, share: Sequence[int], out: Path) -> int:
        tests: dict[str, _Test] = {}
        failed: list[str] = []
        lines: set[tuple[str, int]] = set()
        files = self._files

        def line(frame: FrameType, _event: str, _: object) -> Any:
            lines.add((frame.f_code.co_filename, frame.f_lineno))
            return line

        def call(frame: FrameType, _event: str, _: object) -> Any:
            return line if frame.f_code.co_filename in files else None

        for at, following in zip(share, [*share[1:], None], strict=False):
            lines.clear()
            self._forget(lambda cache: cache.cache_info().currsize > 1)
            began = time.perf_counter()
            sys.settrace(call)
            passed = self._passes(at, following)
            sys.settrace(None)
            name = self._items[at].nodeid
            tests[name] = _Test(at, time.perf_counter() - began, frozenset(lines))
            if not passed:
                failed.append(name)
        out.write_bytes(pickle.dumps((tests, failed)))
        return _PASSED

    def _passes(self, at: int, following: int | None) -> bool:
        from _pytest.runner import runtestprotocol

        nextitem = None if following is None else self._items[following]
        reports = runtestprotocol(self._items[at], log=False, nextitem=nextitem)
        return not any(report.failed for report in reports)

    def _of(self, mutant: Mutant) -> list[_Test]:
        """Tests that reach a change, or its file if none does, and not too many."""
        path = str(mutant.path)
        of_tables = 0, 1 << 20  # which are made once, before there are tests
        reach: list[_Test] = []
        for first, last in (
            [mutant.lines, mutant.statement, of_tables] if mutant.function else [of_tables]
        ):
            reach = reach or [
                test
                for test in self._tests
                if any(file == path and first <= at <= last for file, at in test.lines)
            ]
        of_file: dict[Path, float] = defaultdict(float)
        for test in reach:
            of_file[self._items[test.item].path] += test.seconds
        random.Random(0).shuffle(reach)
        reach.sort(key=lambda test: -sum(file == path for file, _ in test.lines))
        broad, rest = reach[:_BROAD], reach[_BROAD:]
        rest.sort(key=lambda test: of_file[self._items[test.item].path])
        return [*broad, *rest[:_MOST]]

    def _try_all(self) -> None:
        """Every change, by as many processes as there are workers; Ctrl-C ends it early."""
        left = list(reversed(self._mutants))
        running: dict[int, tuple[Mutant, int, float]] = {}
        try:
            while left or running:
                while left and len(running) < self._workers:
                    mutant = left.pop()
                    tests = self._of(mutant)
                    if not (pid := os.fork()):
                        _in_child(partial(self._try, mutant, tests))
                    running[pid] = mutant, len(tests), time.monotonic() + 4 * _SECONDS
                for pid, (mutant, count, until) in list(running.items()):
                    ended, status = os.waitpid(pid, os.WNOHANG)
                    if not ended and time.monotonic() < until:
                        continue
                    if not ended:
                        os.killpg(pid, signal.SIGKILL)
                        os.waitpid(pid, 0)
                    del running[pid]
                    # A change that could not be made was not noticed by a test.
                    survived = bool(ended) and os.waitstatus_to_exitcode(status) in (
                        _PASSED,
                        _ERROR,
                    )
                    self._note(Outcome(mutant, not survived, count))
                time.sleep(0.02)
        except KeyboardInterrupt:
            for pid in running:
                os.killpg(pid, signal.SIGKILL)

    def _note(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        lost = sum(not each.caught for each in self.outcomes)
        if not outcome.caught:
            mutant = outcome.mutant
            change = " -> ".join(_shown(mutant))
            sys.stderr.write(f"\r{mutant.file}:{mutant.lines[0]}: {change}\n")
        sys.stderr.write(f"\r{len(self.outcomes)} of {len(self._mutants)}, {lost} survived ")
        sys.stderr.flush()

    def _try(self, mutant: Mutant, tests: Sequence[_Test]) -> int:
        """In a fork: whether all tests pass with the change."""
        if not tests:
            return _PASSED
        if not (self._changed_function if mutant.function else _changed_values)(mutant):
            return self._try_anew(mutant, tests)
        self._forget(lambda cache: cache.__module__ == _module(mutant.path))
        items = [test.item for test in tests]
        for at, following in zip(items, [*items[1:], items[-1]], strict=True):
            if not self._passes(at, following):
                return _FAILED
        return _PASSED

    def _changed_function(self, mutant: Mutant) -> bool:
        name, line = mutant.function or ("", 0)
        code, function = mutant.code(), self._functions.get((str(mutant.path), name, line))
        if not code or not function or code.co_freevars != function.__code__.co_freevars:
            return False
        function.__code__ = code
        return True

    def _try_anew(self, mutant: Mutant, tests: Sequence[_Test]) -> int:
        """In a new process, for what cannot be changed in this one."""
        with tempfile.TemporaryDirectory() as folder:
            listed = Path(folder) / "tests"
            listed.write_text("\n".join(self._items[test.item].nodeid for test in tests), "utf-8")
            copied = SourceCopy(Path(folder))
            with copied.changed(mutant.file, ast.unparse(mutant.tree())):
                done, _ = copied.test([f"@{listed}"], 4 * _SECONDS)
        return _PASSED if done == _PASSED else _FAILED


def _changed_values(mutant: Mutant) -> bool:
    """Changes the plain values of a module, and those that others took from it, by running it."""
    name = _module(mutant.path)
    old = vars(sys.modules[name])
    new = {"__name__": name, "__file__": str(mutant.path)}
    try:
        exec(compile(mutant.tree(), str(mutant.path), "exec"), new)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False
    changed = {key for key, value in new.items() if _is_plain(value) and old.get(key) != value}
    places = [old, *(vars(each) for each in list(sys.modules.values()) if each)]
    before = {key: old[key] for key in changed}
    for place in places:
        for key in changed & place.keys():
            if place[key] is before[key]:
                place[key] = new[key]
    for mine, other in _functions_of(old, new):
        if mine.__defaults__ != other.__defaults__ and _is_plain(other.__defaults__):
            mine.__defaults__ = other.__defaults__
            changed.add(mine.__name__)
    return bool(changed)


def _functions_of(
    old: dict[str, Any], new: dict[str, Any]
) -> Iterator[tuple[FunctionType, FunctionType]]:
    """The functions and constructors of a module, each with the one of the other."""
    for key in old.keys() & new.keys():
        mine, other = (
            vars(value).get("__init__") if isinstance(value, type) else value
            for value in (old[key], new[key])
        )
        if isinstance(mine, FunctionType) and isinstance(other, FunctionType):
            yield mine, other


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, (*value.keys(), *value.values())))
    if isinstance(value, tuple | list | set | frozenset):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def _in_child(task: Callable[[], int]) -> None:
    """Ends this process, which is a fork, with the exit code of a task."""
    status = _ERROR
    try:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        if "MUTATION_DEBUG" not in os.environ:
            os.dup2(quiet, 2)
        status = task()
    finally:
        os._exit(status)


def _load_catalogues(workers: int) -> None:
    """What every comparison needs, by a text that no test has, and what the model reads."""
    from tests.support.boundaries import Row, all_of, read_ahead

    read_ahead(workers)
    text = "Zzyx, biopsy: {} adenocarcinoma, 7.3 mm."
    for severity in ("", "minor"):
        all_of(Row("", text.format("left"), text.format("right"), severity, "", "", ""))


def generated(options: Sequence[str]) -> tuple[list[list[str]], int, int]:
    """A row for each change that survived, how many there are, and how many were tried."""
    import pytest

    parser = argparse.ArgumentParser(
        "make mutation",
        description="Changes to the clinical values and the comparers of concordance, made up by "
        "rule: how many does a test notice? A sample of 200 takes ten minutes on two cores, all of "
        f"them some hours; Ctrl-C ends it early. The exit code is 1 below {LEAST_SCORE:.0%}.",
    )
    parser.add_argument("--sample", type=int, metavar="N", help="so many, drawn at random")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the sample")
    parser.add_argument("--only", default="", metavar="WORD", help="files with this in their path")
    parser.add_argument("--workers", type=int, default=2, metavar="K", help="processes (2)")
    chosen = parser.parse_args(options)
    every = [
        mutant
        for path in mutated_files()
        if chosen.only in str(path.relative_to(ROOT))
        for mutant in mutants_of(path)
    ]
    drawn = every
    if chosen.sample is not None and chosen.sample < len(every):
        drawn = random.Random(chosen.seed).sample(every, chosen.sample)
    sys.stderr.write(f"{len(drawn)} of {len(every)} changes, seed {chosen.seed}\n")
    session = _Session(drawn, chosen.workers)
    quiet = ["-s", "-q", "-p", "no:cacheprovider", "-m", "not heavy and not alone and not release"]
    pytest.main([*quiet, *TESTS], plugins=[session])
    if not session.outcomes:
        raise SettingError("no change was tried: do the tests pass?")
    lost = [each for each in session.outcomes if not each.caught]
    lost.sort(key=lambda each: (each.mutant.file, each.mutant.place))
    rows = [
        [f"{each.mutant.file}:{each.mutant.lines[0]}", *_shown(each.mutant), str(each.tests)]
        for each in lost
    ]
    return rows, len(lost), len(session.outcomes)


def _shown(mutant: Mutant) -> Iterable[str]:
    return (f"`{text}`".replace("|", "\\|") for text in (mutant.before, mutant.after))
