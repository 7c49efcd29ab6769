"""Files that are shipped inside the package: word lists, prompts, templates and model folders."""

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

RESEARCH = "histoeval_research/"


def resource_path(place: str) -> Path:
    """Return the path of a shipped file; paths in the research package begin with its name."""
    if place.startswith(RESEARCH):
        return Path(str(files(RESEARCH[:-1]))) / place.removeprefix(RESEARCH)
    return Path(str(files("histoeval"))) / place


def resource_text(place: str) -> str:
    return resource_path(place).read_text("utf-8")


def resource_bytes(place: str) -> bytes:
    """Read the bytes of a shipped file, as they enter a hash."""
    return resource_path(place).read_bytes()


@cache
def load_toml(place: str) -> dict[str, Any]:
    """Parse a shipped TOML file, once; callers must not change it."""
    return tomllib.loads(resource_text(place))
