"""YAML that people write: read with the line of every key, and refused where a key stands twice.

YAML itself says that keys differ; its usual readers take the last one and say nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from histoeval.errors import InputError
from histoeval.io.folder_kinds import wrong_folder

Place = tuple[str, ...]
"""The keys that lead to a value; items of a list by their numbers."""

_MERGE = "tag:yaml.org,2002:merge"


class YamlFile(NamedTuple):
    """What a file says, and in which line, from 1 on, it says it."""

    content: Any
    lines: Mapping[Place, int]

    def line_of(self, place: Sequence[object]) -> int | None:
        """The line of a key, or of the nearest thing around it that stands in the file."""
        keys = tuple(map(str, place))
        found = (self.lines.get(keys[:depth]) for depth in range(len(keys), 0, -1))
        return next((line for line in found if line is not None), None)


def read_yaml(path: Path, what: str = "") -> YamlFile:
    """The one document of a YAML file in UTF-8; `what` precedes its name in messages."""
    name = f"{what} {path}".strip()
    try:
        text = path.read_text("utf-8-sig")
    except IsADirectoryError as error:
        raise wrong_folder(path, "cannot be read: it is a folder") from error
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8, from byte {error.start + 1} on") from error
    try:
        return _parsed(text, name)
    except yaml.YAMLError as error:
        raise InputError(f"{name} is not YAML: {fault_of(error)}") from error
    except RecursionError as error:
        raise InputError(f"{name} is not YAML that can be used: it is nested too deeply") from error
    except ValueError as error:  # of dates that are none
        raise InputError(f"{name} is not YAML that can be used: {error}") from error


def fault_of(error: Any) -> str:
    """What the parser stumbled on, and in which line."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    return f"line {mark.line + 1}: {problem}" if mark and problem else str(error)


def _parsed(text: str, name: str) -> YamlFile:
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return YamlFile(None, {})
        lines: dict[Place, int] = {}
        for place, node in _keys(root, (), set()):
            line = node.start_mark.line + 1
            if place in lines:
                raise InputError(
                    f"{name}, line {line}: {'.'.join(place)} stands twice, first in line "
                    f"{lines[place]}; keep one of them"
                )
            lines[place] = line
        return YamlFile(loader.construct_document(root), lines)
    finally:
        loader.dispose()


def _keys(node: Any, place: Place, seen: set[int]) -> Iterator[tuple[Place, Any]]:
    """Every key and item below a node, each node once however often it is named."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                below = (*place, str(key.value))
                yield below, key
                yield from _keys(value, below, seen)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            below = (*place, str(number))
            yield below, item
            yield from _keys(item, below, seen)
