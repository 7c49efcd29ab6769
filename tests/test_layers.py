"""Imports run one way: a room imports only from rooms that stand before it in LAYERS.

LAYERS is the only place where the order is written; docs/architecture.md shows it from here
(`python -m tests.test_layers` prints it).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.paths import ROOT

LAYERS: tuple[tuple[str, str, str], ...] = (
    (
        "nouns",
        "version errors callers notebook resources labels report metric table console progress",
        "import only nouns",
    ),
    ("ground", "io runtime statistics terms", "files, models, numbers, words"),
    ("senses", "reader align slides llm", "text to entities, phrases to vectors, pixels, chat"),
    ("meaning", "nli vlm facts", "entailment; the model under test; what a report says"),
    ("instruments", "concordance judges metrics pathgls", "compare two reports, or trust one"),
    ("proof", "evaluate agreement train", "is it any good? make it"),
    ("work", "run challenge experiments", "many rows, resume, totals; teams ranked"),
    ("sight", "view", "terminal, HTML, figures"),
    ("doors", "api adapters web cli", "Python, other tools, the browser, the shell"),
)
"""Floor, its rooms from left to right, and what they are for. Within a floor a room may import
those to its left."""

MOST_MODULES = 20
SOURCE = ROOT / "src" / "histoeval"
ORDER = [room for _, rooms, _ in LAYERS for room in rooms.split()]


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {module_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Every import of ours, also those inside functions and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules() else node.module


@cache
def graph() -> dict[str, frozenset[str]]:
    """Each module with those of ours that it imports, without the front door and `__main__`."""
    found = {}
    for name, path in modules().items():
        if name.count("."):
            ours = set(imports_of(ast.parse(path.read_text("utf-8"))))
            found[name] = frozenset(ours & set(modules()) - {name, "histoeval"})
    del found["histoeval.__main__"]
    return found


def room_of(module: str) -> str:
    return module.split(".")[1]


def test_every_room_has_a_place_in_the_order() -> None:
    assert {room_of(module) for module in graph()} == set(ORDER)


def test_no_import_runs_upward() -> None:
    upward = [
        f"{module} imports {other}"
        for module, others in graph().items()
        for other in sorted(others)
        if ORDER.index(room_of(other)) > ORDER.index(room_of(module))
    ]
    assert not upward, "\n".join(upward)


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("folder", sorted({path.parent for path in modules().values()}), ids=str)
def test_no_folder_has_too_many_modules(folder: Path) -> None:
    names = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(names) <= MOST_MODULES, f"{len(names)} modules in {folder.name}"


def test_no_public_class_name_stands_twice() -> None:
    homes: dict[str, list[str]] = {}
    for module, path in modules().items():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(module)
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert not twice, twice


def drawing() -> str:
    """The order as docs/architecture.md shows it."""
    rows = [f"{floor:<12} {rooms:<64} {what}" for floor, rooms, what in LAYERS]
    return "\n".join(row.rstrip() for row in rows)


def test_the_docs_show_this_order() -> None:
    assert drawing() in (ROOT / "docs" / "architecture.md").read_text("utf-8")


if __name__ == "__main__":
    print(drawing())  # noqa: T201
