"""The house stays small: a budget for each room, no closets, and nothing that nobody uses.

`python -m tests.test_size` prints what there is. Raising a budget is a decision of its own.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from vulture import Vulture

from tests.support.paths import ROOT
from tests.test_layers import SOURCES, graph, modules

BUDGETS: dict[str, tuple[int, int, int]] = {
    "adapters": (891, 53, 4),
    "agreement": (1140, 57, 22),
    "align": (647, 46, 11),
    "challenge": (1994, 102, 22),
    "cli": (2900, 100, 4),
    "concordance": (5798, 372, 26),
    "evaluate": (2102, 123, 17),
    "facts": (2983, 183, 13),
    "io": (6081, 376, 54),
    "judges": (1535, 100, 28),
    "llm": (1967, 123, 31),
    "metrics": (3061, 256, 44),
    "nli": (1299, 85, 9),
    "nouns": (1860, 124, 34),
    "pathgls": (9062, 618, 104),
    "reader": (2777, 203, 36),
    "research: annotation": (1287, 80, 19),
    "research: cli": (1452, 46, 6),
    "research: evaluate": (1417, 84, 21),
    "research: experiments": (3644, 259, 58),
    "research: nouns": (192, 11, 0),
    "research: ontology": (192, 13, 1),
    "research: train": (9898, 632, 107),
    "research: view": (1429, 94, 1),
    "run": (10084, 635, 133),
    "runtime": (1559, 117, 21),
    "slides": (2644, 172, 31),
    "statistics": (1466, 95, 10),
    "terms": (7108, 510, 50),
    "view": (5694, 334, 25),
    "vlm": (398, 35, 9),
    "web": (3657, 231, 35),
}
"""Lines, functions and classes of each room."""

MOST_CLOSETS = 8
"""Modules below 60 lines that a single module imports."""
MOST_ONCE_CALLED = 539
"""Private functions of up to five lines that are called once, in their module."""

CALLED_BY_NAME = (
    "_* *_page BertScore Chrf Green HistoEvalAccessor JudgeErrors JudgeStatements "
    "PackagedBertScore RadGraphXL Reg2025 handle_* persistent_* map_wn get_name get_read_tasks "
    "estimate_inmemory_data_size supports_distributed_reads"
).split()
"""By tables of the package, by libraries, or by Python."""


class Size(NamedTuple):
    lines: int = 0
    functions: int = 0
    classes: int = 0

    def plus(self, path: Path) -> Size:
        text = path.read_text("utf-8")
        kinds = Counter(type(node) for node in ast.walk(ast.parse(text)))
        functions = kinds[ast.FunctionDef] + kinds[ast.AsyncFunctionDef]
        return Size(
            self.lines + text.count("\n"),
            self.functions + functions,
            self.classes + kinds[ast.ClassDef],
        )


@cache
def sizes() -> dict[str, Size]:
    """The size of each room; modules beside the rooms are `nouns`."""
    found: dict[str, Size] = {}
    for source in SOURCES:
        for path in source.rglob("*.py"):
            package, *parts = path.relative_to(source).parts
            room = parts[0] if len(parts) > 1 else "nouns"
            room = f"research: {room}" if package == "histoeval_research" else room
            found[room] = found.get(room, Size()).plus(path)
    return found


@pytest.mark.parametrize("room", sorted(sizes()))
def test_no_room_grows_over_its_budget(room: str) -> None:
    assert all(size <= most for size, most in zip(sizes()[room], BUDGETS[room], strict=True)), (
        f"{room} has {sizes()[room]}, and {BUDGETS[room]} is allowed: merge, inline, delete"
    )


def closets() -> list[str]:
    importers = Counter(imported for imports in graph().values() for imported in imports)
    short = {name for name, path in modules().items() if path.read_text("utf-8").count("\n") < 60}
    return sorted(name for name in short if importers[name] == 1)


def once_called() -> Iterator[str]:
    for name, path in modules().items():
        tree = ast.parse(path.read_text("utf-8"))
        used = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("_"):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = sum(part.end_lineno - part.lineno + 1 for part in body if part.end_lineno)
                if lines <= 5 and used[node.name] == 1 and not node.decorator_list:
                    yield f"{name}.{node.name}"


def test_no_module_is_a_closet_of_another() -> None:
    assert len(closets()) <= MOST_CLOSETS, "\n".join(closets())


def test_short_private_functions_are_called_more_than_once() -> None:
    assert len(list(once_called())) <= MOST_ONCE_CALLED, "\n".join(once_called())


def test_nothing_is_there_that_nobody_uses() -> None:
    users = ("tests", "research/tests", "benchmarks", "examples")
    vulture = Vulture(ignore_names=CALLED_BY_NAME, ignore_decorators=["@*.command*"])
    vulture.scavenge([*map(str, SOURCES), *(str(ROOT / name) for name in users)])
    tables = [path for source in SOURCES for path in source.rglob("*.html")]
    tables += [SOURCES[0] / "histoeval/cli/main.py", *SOURCES[1].rglob("edits.toml")]
    named = {word for path in tables for word in re.findall(r"\w+", path.read_text("utf-8"))}
    unused = [
        f"{code.filename}:{code.first_lineno} {code.name}"
        for code in vulture.get_unused_code(min_confidence=60)
        if code.typ in ("function", "class", "method", "property")
        and any(map(code.filename.is_relative_to, SOURCES))
        and code.name not in named
    ]
    assert not unused, "\n".join(unused)


def test_every_table_of_cases_has_its_test() -> None:
    for path in (ROOT / "tests").rglob("test_*.tsv"):
        tables = re.findall(r"^=== (.+)$", path.read_text("utf-8"), re.MULTILINE)
        code = path.with_suffix(".py").read_text("utf-8")
        tests = re.findall(r"^@from_table\n(?:@.*\n)*def (\w+)", code, re.MULTILINE)
        assert sorted(tables) == sorted(tests), path


if __name__ == "__main__":
    for room, size in sorted(sizes().items()):
        print(f'    "{room}": {tuple(size)},')  # noqa: T201
    print(len(closets()), len(list(once_called())))  # noqa: T201
