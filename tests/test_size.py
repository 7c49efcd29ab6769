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
    "adapters": (814, 41, 4),
    "agreement": (956, 45, 22),
    "align": (549, 35, 11),
    "challenge": (1705, 76, 20),
    "cli": (2640, 84, 2),
    "concordance": (5414, 318, 26),
    "evaluate": (1830, 108, 15),
    "facts": (2673, 147, 13),
    "io": (5387, 318, 50),
    "judges": (1373, 97, 27),
    "llm": (1833, 123, 31),
    "metrics": (2829, 243, 44),
    "nli": (1157, 73, 9),
    "nouns": (1749, 117, 33),
    "pathgls": (7746, 513, 84),
    "reader": (2340, 140, 34),
    "research: annotation": (1108, 59, 19),
    "research: cli": (1204, 39, 5),
    "research: evaluate": (1164, 56, 21),
    "research: experiments": (2644, 192, 31),
    "research: nouns": (181, 9, 0),
    "research: ontology": (174, 13, 1),
    "research: train": (7632, 456, 91),
    "research: view": (1007, 54, 0),
    "run": (9100, 544, 126),
    "runtime": (1384, 103, 17),
    "slides": (2323, 142, 31),
    "statistics": (1272, 83, 10),
    "terms": (6629, 446, 50),
    "view": (4815, 272, 22),
    "vlm": (334, 24, 8),
    "web": (3228, 213, 33),
}
"""Lines, functions and classes of each room."""

MOST_CLOSETS = 3
"""Modules below 60 lines that a single module imports."""
MOST_ONCE_CALLED = 153
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
    tables += [
        SOURCES[0] / name for name in ("histoeval/cli/main.py", "histoeval/slides/kinds.toml")
    ]
    tables += SOURCES[1].rglob("edits.toml")
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
