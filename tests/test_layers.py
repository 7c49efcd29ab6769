"""Imports run one way: a room imports only from rooms that stand before it in LAYERS.

Research imports from both packages, the wheel only from itself. LAYERS is the only place where the
order is written; docs/architecture.md shows it (`python -m tests.test_layers` prints it).
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
        "version errors settings argument_names notebook resources labels report metric table "
        "console progress",
        "import only nouns",
    ),
    ("ground", "io runtime statistics terms", "files, models, numbers, words"),
    ("senses", "reader align slides llm", "text to entities, phrases to vectors, pixels, chat"),
    ("meaning", "nli vlm facts", "entailment; the model under test; what a report says"),
    ("instruments", "concordance judges metrics pathgls", "compare two reports, or trust one"),
    ("proof", "evaluate agreement", "is it any good?"),
    ("work", "run challenge", "many rows, resume, totals; teams ranked"),
    ("sight", "view", "terminal, HTML, figures"),
    ("doors", "api adapters web cli", "Python, other tools, the browser, the shell"),
)
"""Floor, its rooms from left to right, and what they are for. Within a floor a room may import
those to its left."""

ORDERS = {
    "histoeval": [room for _, rooms, _ in LAYERS for room in rooms.split()],
    "histoeval_research": "annotation ontology corpus evaluate train experiments view cli".split(),
}
"""The rooms of each package, from left to right; research imports anything of the other one."""
SOURCES = (ROOT / "src", ROOT / "research" / "src")


def module_of(source: Path, path: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {
        module_of(source, path): path for source in SOURCES for path in sorted(source.rglob("*.py"))
    }


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
            found[name] = frozenset(ours & set(modules()) - {name, *ORDERS})
    del found["histoeval.__main__"]
    return found


def place_of(module: str) -> tuple[str, int]:
    package, room = module.split(".")[:2]
    return package, ORDERS[package].index(room)


def test_every_room_has_a_place_in_the_order() -> None:
    rooms = {tuple(module.split(".")[:2]) for module in graph()}
    assert rooms == {(package, room) for package, order in ORDERS.items() for room in order}


def test_no_import_runs_upward() -> None:
    upward = [
        f"{module} imports {imported}"
        for module, imports in graph().items()
        for imported in sorted(imports)
        if place_of(imported) > place_of(module)
    ]
    assert not upward, "\n".join(upward)


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def drawing() -> str:
    """The order as docs/architecture.md shows it."""
    rows = [f"{floor:<12} {rooms:<64} {what}" for floor, rooms, what in LAYERS]
    return "\n".join(row.rstrip() for row in rows)


def test_the_docs_show_this_order() -> None:
    assert drawing() in (ROOT / "docs" / "architecture.md").read_text("utf-8")


if __name__ == "__main__":
    print(drawing())  # noqa: T201
