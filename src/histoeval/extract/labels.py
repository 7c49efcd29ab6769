"""What the labels of somebody's model mean in our types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from histoeval.errors import ModelError
from histoeval.labels import OUTSIDE, known_names, plain, told_names
from histoeval.report import EntityType

_NO_RELATION = re.compile(r"no|not.*|no[nt]?_?rel.*|un.*|none|negative|false|o|0|label0")


@dataclass(frozen=True, slots=True)
class Tag:
    """A label of a token classifier: the type, or None for outside, and whether one begins."""

    type: EntityType | None
    begins: bool


def read_tags(labels: Sequence[str], names: Mapping[str, str | None] | None = None) -> list[Tag]:
    """The meaning of each label; `names` says it for labels that cannot be guessed.

    A label can be said to mean nothing: None, or "O".
    """
    told = told_names(names)
    tags = [_read_tag(label, told) for label in labels]
    if unknown := [label for label, tag in zip(labels, tags, strict=True) if tag is None]:
        raise ModelError(
            f"the model has labels that are not known here: {', '.join(unknown)}. Say what each "
            f"means, {', '.join(EntityType)} or O for nothing, in a JSON file such as "
            f'{{"{unknown[0]}": "diagnosis"}} and give it with --labels'
        )
    return [tag for tag in tags if tag is not None]


def relation_label(labels: Sequence[str], names: Mapping[str, str | None] | None = None) -> int:
    """Which of two labels says that there is a relation; `names` may call the other one "none"."""
    if len(labels) != 2:
        raise ModelError(f"a relation model has two labels, this one has {len(labels)}: {labels}")
    told = {name for name, meaning in told_names(names).items() if meaning in OUTSIDE}
    negative = [
        position
        for position, label in enumerate(labels)
        if plain(label) in told or _NO_RELATION.fullmatch(plain(label))
    ]
    if len(negative) != 1:
        raise ModelError(
            f"which of the labels {labels[0]!r} and {labels[1]!r} says that there is no relation? "
            f'Say so in a JSON file such as {{"{labels[0]}": "none"}} and give it with --labels'
        )
    return 1 - negative[0]


def _read_tag(label: str, told: Mapping[str, str]) -> Tag | None:
    prefix, _, rest = label.partition("-")
    has_prefix = prefix in ("B", "I") and bool(rest)
    name = plain(rest if has_prefix else label)
    known = known_names().get(name)
    meaning = told.get(plain(label), told.get(name, "o" if label == "O" else known))
    if meaning in OUTSIDE:
        return Tag(None, begins=False)
    if meaning not in set(EntityType):
        return None
    return Tag(EntityType(meaning), begins=has_prefix and prefix == "B")
