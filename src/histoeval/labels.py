"""Names of entity types, as people and models write them, in our types."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from histoeval.errors import InputError
from histoeval.resources import load_toml

OUTSIDE = ("o", "outside", "none", "")  # names of a label that means nothing here


def plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def given_names(names: Mapping[str, str | None] | None) -> dict[str, str]:
    return {plain(name): (meaning or "").lower() for name, meaning in (names or {}).items()}


@cache
def known_names() -> dict[str, str]:
    table = load_toml("labels.toml")
    return {name: meaning for meaning, names in table.items() for name in names}


def read_labels(path: Path) -> dict[str, str | None]:
    try:
        names = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read the labels in {path}: {error}") from error
    if not isinstance(names, dict) or not all(isinstance(v, str | None) for v in names.values()):
        raise InputError(f'{path} must hold an object such as {{"Tumour": "diagnosis"}}')
    return names
