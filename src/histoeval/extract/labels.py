"""What the labels of somebody's model mean in our types."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from histoeval.errors import ModelError
from histoeval.report import EntityType

NO_RELATION_NAMES = frozenset({"norel", "norelation", "nonerelation", "none", "no", "o", "label0"})


@dataclass(frozen=True, slots=True)
class Tag:
    """A label of a token classifier: the type, or None for outside, and whether one begins."""

    type: EntityType | None
    begins: bool


def read_tags(labels: Sequence[str], names: Mapping[str, str] | None = None) -> list[Tag]:
    """The meaning of each label; `names` says it for labels that cannot be guessed."""
    return [_read_tag(label, {_plain(k): v for k, v in (names or {}).items()}) for label in labels]


def relation_label(labels: Sequence[str]) -> int:
    """Which of two labels says that there is a relation."""
    if len(labels) != 2:
        raise ModelError(f"a relation model has two labels, this one has {len(labels)}: {labels}")
    negative = [i for i, label in enumerate(labels) if _plain(label) in NO_RELATION_NAMES]
    return 1 - negative[0] if len(negative) == 1 else 1


def _read_tag(label: str, names: Mapping[str, str]) -> Tag:
    if label == "O":
        return Tag(None, begins=False)
    prefix, _, rest = label.partition("-")
    has_prefix = prefix in ("B", "I") and bool(rest)
    name = _plain(rest if has_prefix else label)
    meaning = names.get(_plain(label)) or names.get(name) or _known_names().get(name)
    if meaning not in set(EntityType):
        raise ModelError(
            f"the model's label {label!r} is none that is known here; say which of "
            f"{', '.join(EntityType)} it means, as in labels={{{label!r}: 'diagnosis'}}"
        )
    return Tag(EntityType(meaning), begins=has_prefix and prefix == "B")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@cache
def _known_names() -> dict[str, str]:
    table = tomllib.loads((files("histoeval.extract") / "labels.toml").read_text("utf-8"))
    return {name: meaning for meaning, names in table.items() for name in names}
