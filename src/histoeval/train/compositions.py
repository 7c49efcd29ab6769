"""Phrases made of a base and a value of an axis, such as a side, a grade or a result.

An ontology names few of the things that a report says of a thing: `CD20 negative`, `left kidney`,
`no perineural invasion`. Here they are put together from `data/compositions.toml`, in several
wordings each; other values of the axis with the same base are what they must be told apart from.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from histoeval.io.ontologies import Named
from histoeval.train.catalogue import behaviours, diagnoses, markers, organs, table

COMPOSED = "composed"
"""The source of these concepts: those of one parent are opposites of each other."""

_INFLAMMATION = re.compile(r"itis\b|inflammation|pneumonia")
_SAY_LITTLE = frozenset("of the in is a here with for and on at to be no not tumor".split())
_MOST_WORDS = 4
"""Longer names of a base make phrases that nobody writes."""


def composition_table() -> dict[str, Any]:
    """What `compositions.toml` holds."""
    return tomllib.loads((files(__package__) / "data" / "compositions.toml").read_text("utf-8"))


def bases(listed: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, list[Named]]:
    """What phrases are made of, by kind; `listed` are those that no catalogue holds."""
    behaviour = behaviours()
    found = list(diagnoses())
    molecular = {row["name"] for row in table("markers")["marker"] if row["kind"] == "molecular"}
    kinds = {
        "organ": list(organs()),
        "diagnosis": found,
        "malignant": [d for d in found if behaviour[d.id] == "malignant"],
        "benign": [d for d in found if behaviour[d.id] == "benign"],
        "inflammation": [d for d in found if _INFLAMMATION.search(d.name)],
        "marker": [marker for marker in markers() if marker.id not in molecular],
        "gene": [marker for marker in markers() if marker.id in molecular],
    }
    return kinds | {
        kind: [Named(kind, name, name, tuple(others)) for name, *others in rows]
        for kind, rows in listed.items()
    }


def composed(
    content: Mapping[str, Any], of: Mapping[str, Sequence[Named]], *, most: int, seed: int = 0
) -> Iterator[Named]:
    """Concepts with up to so many wordings each."""
    for axis in content["axis"]:
        said = _words(" ".join(text for texts in axis["values"].values() for text in texts))
        for base in dict.fromkeys(base for kind in axis["of"] for base in of[kind]):
            names = [name for name in base.names if len(name.split()) <= _MOST_WORDS]
            fit = [name for name in names if not said & _words(name)]
            if fit and base.name in fit:
                group = f"{axis['name']}/{base.source}/{base.id}"
                for value, wordings in axis["values"].items():
                    yield _phrase(group, value, wordings, fit, most, seed)
    for same in content["same"]:
        for name, *others in same["names"]:
            yield Named(COMPOSED, f"{same['axis']}/{name}", name, tuple(others), (same["axis"],))


def _phrase(
    group: str, value: str, wordings: Sequence[str], names: Sequence[str], most: int, seed: int
) -> Named:
    """The first wording with the first name, and others drawn by chance."""
    chance = random.Random(f"{seed}/{group}/{value}")
    first = wordings[0].format(names[0])
    drawn = [chance.choice(wordings).format(chance.choice(names[:6])) for _ in range(2 * most)]
    others = [name for name in dict.fromkeys(drawn) if name != first][: most - 1]
    return Named(COMPOSED, f"{group}/{value}", first, tuple(others), (group,))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{2,}", text.lower())) - _SAY_LITTLE
