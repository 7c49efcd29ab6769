"""Cards of organs and what is diagnosed in them, and their wordings."""

import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from histoeval.nli.entailer import Label
from histoeval_research.train.nli.synthetic.wordings import sentences, table

_ADDED = re.compile(r",| with(?:out)?\b")
HEDGED = frozenset({"focal", "extensive", "areas", "strong"})
"""First words of wordings that say more than that something is there."""

Drawn = tuple[str, str, Label, str]
"""Premise, hypothesis, label and what the pair tries."""


class Words(NamedTuple):
    """What two statements on one organ are filled with."""

    organ: dict[str, Any]
    entity: dict[str, Any]
    other: dict[str, Any]
    """Another diagnosis of the same organ."""
    elsewhere: dict[str, Any]
    """Another organ."""
    side: str
    chance: random.Random

    def fill(self, text: str, **more: str) -> str:
        """A wording with its names."""
        pick, organ = self.chance.choice, self.organ
        plain = more.pop("OO", "") or organ["names"][0]
        name, second = pick(self.entity["names"]), pick(self.other["names"])
        lesions = organ_frames()["lesion"]
        malignant = self.entity["behaviour"] == "malignant"
        words = {
            "N": name,
            "AN": with_article(name),
            "B": second,
            "AB": with_article(second),
            "K": pick(self.entity["kinds"]),
            "O": f"{self.side} {plain}" if self.side else plain,
            "OO": plain,
            "O2": pick(self.elsewhere["names"]),
            "S": self.side,
            "S2": {"left": "right", "right": "left"}.get(self.side, ""),
            "T": pick(organ["taken"]),
            "P": pick(organ["parts"]),
            "L": pick(lesions["malignant" if malignant else "other"]),
            "V": pick(self.entity["scenes"]),
        }
        return text.format(**(words | more))


Draw = Callable[[Words, Label], Drawn | None]
"""A pair with this label, or nothing where this time none can be made."""


def with_article(name: str) -> str:
    """A name as one of its kind: an angiomyolipoma, but cirrhosis."""
    head = _ADDED.split(name, maxsplit=1)[0]
    if head.endswith(tuple(sentences("no_article"))):
        return name
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def organ_frames() -> dict[str, Any]:
    """How diagnoses are reported and asked after."""
    return table("organ_frames")


def statement_of(words: Words) -> str:
    """How a diagnosis is worded; with its side, where the organ has one."""
    frames = organ_frames()
    wordings: list[str] = [*frames["said"], *([] if words.side else frames["unsided"])]
    return words.chance.choice(wordings)


def pair(words: Words, premise: str, hypothesis: str, label: Label, category: str) -> Drawn:
    """Two wordings filled, on one organ."""
    name = words.chance.choice(words.organ["names"])
    return words.fill(premise, OO=name), words.fill(hypothesis, OO=name), label, category


def several(words: Words, states: list[tuple[str, str]], rows: Callable[[str, str], str]) -> str:
    """Several things with their states, in one line."""
    join = words.chance.choice([", ", "; ", ". "])
    return join.join(rows(name, state) for name, state in states)
