"""Wordings of statements, from data files, and which of them are kept back from training.

A wording may leave a choice, as in ``<seen|found>``, and have places for words, as in ``{f}``.
Wordings and concepts are parted by their hashes: what a development set says, and of what, was
never trained on.
"""

import random
import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import Any, Literal

from histoeval.resources import load_toml

Part = Literal["train", "dev", "all"]

HELD_OUT = 0.2
"""Share of wordings, and of concepts, that only a development set uses."""

_CHOICE = re.compile(r"<([^<>]*)>")
_SPACES = re.compile(r"  +")


def table(name: str) -> dict[str, Any]:
    """One of the data files beside the code."""
    return load_toml(f"histoeval_research/train/nli/synthetic/data/{name}.toml")


def sentences(name: str) -> list[str]:
    """One of the lists of `sentences.toml`."""
    listed: list[str] = table("sentences")[name]
    return listed


def is_held_out(text: str) -> bool:
    """Whether a wording or a concept is only for development; it follows from its letters."""
    return int(sha256(text.encode()).hexdigest()[:8], 16) < HELD_OUT * 16**8


@cache
def _parted(texts: tuple[str, ...], part: Part) -> tuple[str, ...]:
    if part == "all" or len(texts) < 2:
        return texts
    kept_back = [text for text in texts if is_held_out(text)] or [min(texts, key=_digest)]
    if len(kept_back) == len(texts):
        kept_back.remove(max(texts, key=_digest))
    return tuple(text for text in texts if (text in kept_back) == (part == "dev"))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def of_part(texts: Sequence[str], part: Part) -> tuple[str, ...]:
    """The texts of a part; of two or more, each part has at least one."""
    return _parted(tuple(texts), part)


def worded(texts: Sequence[str], part: Part, chance: random.Random, **words: str) -> str:
    """One of several wordings, with its choices made and its places filled."""
    wording = chance.choice(of_part(texts, part))
    chosen = _CHOICE.sub(lambda found: chance.choice(found.group(1).split("|")), wording)
    return _SPACES.sub(" ", chosen.format(**words)).strip()
