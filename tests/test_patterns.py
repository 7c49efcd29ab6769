"""No regular expression of the package takes more than linear time.

Patterns are found and timed in processes of their own, because `re` is patched and one that hangs
cannot be stopped in any other way: `python -m tests.test_patterns collect` prints the patterns, and
`... time` reads them and prints those that take more than linear time.
"""

import ast
import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, Timer
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from histoeval.errors import MissingDependency
from tests.support.paths import ROOT

METHODS = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
FROM_THE_START = frozenset({"match", "fullmatch"})

UNITS = (*' \t\n0a()[]<-.,:/"_\u00e9', "a ", "1 ", "x, ", "1.", "a-", "\n ", "A. ")
LONG_UNITS = (" ", "0", "(", "a")
SIZES, FULL_SIZE = (100, 400, 4_000), 100_000
SUSPICIOUS_S, PLAIN_S = 0.003, 0.03
"""For SIZES characters: a linear pattern takes less than the first; more than the second is so slow
that its growth is measured up to that size, not from it."""
MOST_GROWTH = 8.0
"""For four times as many characters: a linear pattern grows by 4, a quadratic one by 16."""
MOST_FULL_S = 2.0
"""For FULL_SIZE characters."""
MOST_ATTACKS = 16
"""Repeats of one pattern that are tried, the first ones: long alternations repeat themselves."""

REPORTS = (
    "Breast, left, core biopsy: Invasive ductal carcinoma, Nottingham grade 2 (tubules 3, nuclei "
    "2, mitoses 2; 3+2+2=7), 2.3 x 1.1 cm, solid in 60 %. Tumour in 3 of 14 lymph nodes; pT2 N1a. "
    "ER positive (90%), HER2 negative (1+), Ki-67 20-30 %. No lymphovascular invasion is seen.",
    "Prostate: adenocarcinoma, Gleason 3+4=7 (grade group 2), two of twelve cores, one third of "
    "the tissue. About 5 % of the tumour is solid and 70 % forms glands. Margins are free. The "
    "tumour is well differentiated. There is no carcinoma. 4 mitoses per 10 HPF, twenty-two mm.",
)
"""Reading these makes most of what is made on first use."""

MATCHED_ONCE = frozenset({"histoeval.terms.assertion"})
"""Modules whose patterns without a visible method are used by `match` and `fullmatch` alone."""


class Found(NamedTuple):
    pattern: str
    flags: int
    place: str
    from_start: bool
    """Whether it is only ever tried at the beginning of a text."""


class Slow(NamedTuple):
    place: str
    pattern: str
    text: str
    seconds: float
    growth: float


Calls = dict[tuple[str, int], set[tuple[str, int, str]]]
"""Module, line and function of `re`, by pattern and flags."""


def collect() -> list[Found]:
    """Every pattern of the package; a `LookupError` where one is made that this does not reach."""
    calls: Calls = defaultdict(set)
    for name in ("compile", *METHODS):
        setattr(re, name, _recorded(name, calls))
    package = importlib.import_module("histoeval")
    names = [found.name for found in pkgutil.walk_packages(package.__path__, "histoeval.")]
    modules = [m for name in names if not name.endswith("__main__") and (m := _imported(name))]
    _build(modules)
    trees = {m.__name__: ast.parse(Path(str(m.__file__)).read_bytes()) for m in modules}
    return sorted({*_recorded_patterns(calls, trees), *_literals(calls, trees)})


def _recorded(name: str, calls: Calls) -> Callable[..., Any]:
    real = getattr(re, name)

    def recorded(pattern: Any, *args: Any, **options: Any) -> Any:
        caller = sys._getframe(1)
        module = caller.f_globals.get("__name__", "")
        text = getattr(pattern, "pattern", pattern)
        if module.startswith("histoeval.") and isinstance(text, str):
            flags = args[0] if name == "compile" and args else options.get("flags", 0)
            calls[text, int(flags)].add((module, caller.f_lineno, name))
        return real(pattern, *args, **options)

    return recorded


def _imported(name: str) -> ModuleType | None:
    """A module, or None where its optional library is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if (error.name or "histoeval").startswith("histoeval"):
            raise
        return None
    except MissingDependency:
        return None


def _build(modules: list[ModuleType]) -> None:
    """Make what is made on first use: cached tables, word lists, what reading a report needs."""
    import histoeval as h
    from histoeval.facts.diagnoses import implied
    from histoeval.io.documents.hl7 import Separators, unescaped
    from histoeval.terms.lexicon import Lexicon

    for module in modules:
        if module.__name__.split(".")[1] in ("evaluate", "view"):
            continue
        for made in list(vars(module).values()):
            if isinstance(made, Lexicon):
                _compile_lists(made)
            elif hasattr(made, "cache_info") and not inspect.signature(made).parameters:
                made()
    h.score(references=REPORTS, candidates=REPORTS[::-1], metrics=["concordance"])
    for report in REPORTS:
        h.contradictions(report)
        list(implied(report))
    unescaped("\\E\\", Separators(*"|^~\\&"), "utf-8")
    with TemporaryDirectory() as folder:
        broken = Path(folder, "pairs.csv")
        broken.write_text('reference,candidate\n"a" c,b\na,b\n')
        h.score(broken, metrics="bleu")


def _compile_lists(lexicon: Any) -> None:
    def walk(value: Any) -> None:
        if isinstance(value, Mapping):
            for each in value.values():
                walk(each)
        elif isinstance(value, list) and not all(isinstance(v, str) for v in value):
            for each in value:
                walk(each)
        elif isinstance(value, str | list):
            lexicon.any_of(value)

    walk(lexicon.entry())


def _recorded_patterns(calls: Calls, trees: Mapping[str, ast.Module]) -> Iterator[Found]:
    methods = _methods_by_line(trees)
    for (pattern, flags), places in calls.items():
        used: set[str] = set()
        for module, line, function in places:
            unknown = {"match"} if module in MATCHED_ONCE else {"search"}
            used |= {function} if function != "compile" else methods.get((module, line), unknown)
        module, line, _ = min(places)
        yield Found(pattern, flags, f"{module}:{line}", used <= FROM_THE_START)


def _methods_by_line(trees: Mapping[str, ast.Module]) -> dict[tuple[str, int], set[str]]:
    """How the pattern is used that a line of a module gives a name, where that can be seen."""
    methods: dict[tuple[str, str], set[str]] = defaultdict(set)
    for module, tree in trees.items():
        imported = {
            alias.asname or alias.name: (str(node.module), alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                name = ast.unparse(node.value)
                methods[imported.get(name, (module, name))].add(node.attr)
    return {
        (module, line): methods[module, target.id]
        for module, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and (module, target.id) in methods
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _literals(calls: Calls, trees: Mapping[str, ast.Module]) -> Iterator[Found]:
    reached = {(module, line) for places in calls.values() for module, line, _ in places}
    for module, tree in trees.items():
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            function, owner = call.func.attr, call.func.value
            if not isinstance(owner, ast.Name) or owner.id != "re":
                continue
            lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
            if function not in ("compile", *METHODS) or any((module, n) in reached for n in lines):
                continue
            written, place = call.args[0], f"{module}:{call.lineno}"
            if isinstance(written, ast.Constant) and isinstance(written.value, str):
                yield Found(written.value, 0, place, function in FROM_THE_START)
            elif not isinstance(written, ast.Constant) and not _is_escaped(written):
                raise LookupError(f"{place} makes a pattern that _build does not reach")


def _is_escaped(written: ast.expr) -> bool:
    """Whether a pattern is fixed words and literal text, which is always linear."""
    parts = written.values if isinstance(written, ast.JoinedStr) else [written]
    return all(
        isinstance(part, ast.Constant) or "re.escape(" in ast.unparse(part) for part in parts
    )


def attacks(pattern: str, flags: int) -> list[tuple[str, str]]:
    """For each unbounded repeat of a pattern: what leads up to it, and what it repeats."""
    found: dict[tuple[str, str], None] = {}
    _walk(re._parser.parse(pattern, flags), "", found)  # type: ignore[attr-defined]
    return list(found)[:MOST_ATTACKS]


def _walk(nodes: Any, before: str, found: dict[tuple[str, str], None]) -> str:
    """A text that the nodes match, after `before`; the attacks on their repeats go to `found`."""
    text = before
    for op, value in nodes:
        match str(op):
            case "LITERAL":
                text += chr(value)
            case "NOT_LITERAL":
                text += "b" if value == ord("a") else "a"
            case "ANY":
                text += "a"
            case "IN":
                text += _member(value)
            case "BRANCH":
                text, *_ = [_walk(branch, text, found) for branch in value[1]]
            case "SUBPATTERN":
                text = _walk(value[3], text, found)
            case "ATOMIC_GROUP":
                text = _walk(value, text, found)
            case "ASSERT":
                if value[0] > 0:
                    _walk(value[1], text, found)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, body = value
                after = _walk(body, text, found)
                unit = after[len(text) :]
                if unit and most is re._constants.MAXREPEAT:  # type: ignore[attr-defined]
                    found[text, unit] = None
                    found[text, " "] = None
                    found["", f"{text} "] = None
                text += unit * max(least, 1)
    return text


def _member(items: Any) -> str:
    negated = str(items[0][0]) == "NEGATE"
    chars = (" ", "a", "1", "-", *map(chr, range(1, 0x2200)))
    return next((c for c in chars if any(_is_in(c, i) for i in items) != negated), "a")


def _is_in(char: str, item: Any) -> bool:
    match str(item[0]):
        case "LITERAL":
            return bool(ord(char) == item[1])
        case "RANGE":
            return bool(item[1][0] <= ord(char) <= item[1][1])
        case "CATEGORY":
            kind = str(item[1]).removeprefix("CATEGORY_").removeprefix("NOT_")
            holds = {"DIGIT": char.isdigit(), "SPACE": char.isspace()}
            return holds.get(kind, char.isalnum() or char == "_") != ("NOT_" in str(item[1]))
    return False


def slow_on(found: Found) -> Slow | None:
    """The first text on which a pattern takes more than linear time.

    A pattern that repeats nothing without limit cannot.
    """
    compiled = re.compile(found.pattern, found.flags)
    if not (own := attacks(found.pattern, found.flags)):
        return None
    for before, unit in [("", unit) for unit in UNITS] + own:

        def took(size: int, before: str = before, unit: str = unit) -> float:
            return seconds_for(compiled, found, before + unit * (size // len(unit)) + "!")

        size, first = next(
            ((size, first) for size in SIZES if (first := took(size)) > SUSPICIOUS_S), (0, 0.0)
        )
        if size and (growth := _growth(took, size, first)) > MOST_GROWTH:
            return Slow(found.place, found.pattern, f"{before!r} + {unit!r} * n", first, growth)
    for unit in LONG_UNITS:
        if (first := seconds_for(compiled, found, unit * FULL_SIZE)) > MOST_FULL_S:
            return Slow(found.place, found.pattern, f"{unit!r} * {FULL_SIZE}", first, 0.0)
    return None


def _growth(took: Callable[[int], float], size: int, first: float) -> float:
    """How much longer four times as many characters take; the less of two tries."""
    small = size // 4 if first > PLAIN_S else size
    return min(took(4 * small) / max(min(took(small), took(small)), 1e-6) for _ in range(2))


def seconds_for(compiled: re.Pattern[str], found: Found, text: str) -> float:
    start = time.process_time()
    if found.from_start:
        compiled.match(text)
        compiled.fullmatch(text)
    else:
        for _ in compiled.finditer(text):
            pass
    return time.process_time() - start


def main(task: str) -> None:
    """Print the patterns, or for each that is read what is slow about it, a line each."""
    if task == "collect":
        sys.stdout.writelines(f"{json.dumps(found)}\n" for found in collect())
        return
    for line in sys.stdin:
        sys.stdout.write(f"{json.dumps(slow_on(Found(*json.loads(line))))}\n")
        sys.stdout.flush()


LIMIT_S = 120
"""For one pattern, which takes some milliseconds; long, because other tests run beside this."""

KNOWN: dict[str, str] = {
    "(?:regular|straight|parallel)(?:,?": "quadratic only where its own words are repeated; part "
    "of the signature of logic",
}
"""Patterns that may be slow, by how they begin or what they contain, and why."""

pytestmark = pytest.mark.slow


def worker(task: str, lines: str = "") -> subprocess.Popen[str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.test_patterns", task],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    Thread(target=_send, args=(process, lines), daemon=True).start()
    return process


def _send(process: subprocess.Popen[str], lines: str) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(lines)
        process.stdin.close()
    except BrokenPipeError:
        pass


def slow_ones(lines: list[str]) -> list[str]:
    """What is slow about the patterns of these lines; a worker that hangs is replaced."""
    slow = []
    while lines:
        with worker("time", "".join(lines)) as process:
            assert process.stdout is not None
            for at, line in enumerate(lines):
                timer = Timer(LIMIT_S, process.kill)
                timer.start()
                answer = process.stdout.readline()
                timer.cancel()
                if not answer:
                    slow.append(f"no answer in {LIMIT_S} s: {line}")
                    lines = lines[at + 1 :]
                    break
                if answer != "null\n":
                    slow.append(answer)
            else:
                return slow
    return slow


def test_no_pattern_takes_more_than_linear_time() -> None:
    with worker("collect") as process:
        assert process.stdout is not None
        lines = process.stdout.readlines()
    assert process.returncode == 0
    assert len(lines) > 1_000
    repeating = [line for line in lines if attacks(*json.loads(line)[:2])]
    assert len(repeating) > 250
    with ThreadPoolExecutor(2) as pool:
        halves = pool.map(slow_ones, (repeating[::2], repeating[1::2]))
        slow = [found for half in halves for found in half]
    new = [found for found in slow if not any(_quoted(known) in found for known in KNOWN)]
    assert not new, "".join(new)


def _quoted(text: str) -> str:
    return json.dumps(text)[1:-1]


@pytest.mark.parametrize(
    "pattern",
    [
        r"\d+[a-z]",
        r"\s*%",
        r"score\s*:?\s*\d",
        r"[.;:]+(?=\s|$)",
        r"\([^)]*\)",
        r"#+\s+(?:[^\n]{1,120}?)[ \t]*(?=[ \t]*\n)",
    ],
)
def test_slow_patterns_are_noticed(pattern: str) -> None:
    assert slow_on(Found(pattern, 0, "here", False)) is not None


@pytest.mark.parametrize("pattern", [r"(?<!\d)\d++[a-z]", r"score\s*(?::\s*)?\d", r"\s{0,20}%"])
def test_their_linear_forms_are_not(pattern: str) -> None:
    assert slow_on(Found(pattern, 0, "here", False)) is None


if __name__ == "__main__":
    main(sys.argv[1])
