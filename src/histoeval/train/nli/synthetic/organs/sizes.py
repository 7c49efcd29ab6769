"""Pairs on what is measured: units, bounds, and of what it is said."""

from __future__ import annotations

import random
from typing import Any

from histoeval.nli.entailer import Label
from histoeval.train.nli.synthetic.organs.cards import Drawn, Words, organ_frames

_FAR = (0.25, 0.35, 0.4, 2.5, 3.0, 4.0)
"""Times a size, where another is meant."""


def draw_size(words: Words, label: Label) -> Drawn | None:
    """A size, weight or share in one wording, and in another, or of something else."""
    pick, chance = words.chance.choice, words.chance
    rows: list[dict[str, Any]] = organ_frames()["size"]
    row = pick(rows)
    value = _value(row, chance)
    told = pick(row["told"]).format(V=_written(value, row, chance))
    if label == "neutral":
        others = [other for other in rows if other["of"] != row["of"]]
        other = pick(others)
        asked = pick(other["told"]).format(V=_written(_value(other, chance), other, chance))
        return told, asked, label, "size"
    meant = value if label == "entailment" else _value_far(value, row, chance)
    if meant is None:
        return None
    if chance.random() < 0.55:
        over = meant > value if label == "contradiction" else chance.random() < 0.5
        asked = pick(row["told"]).format(V=_bounded(meant, row, chance, over=over))
    else:
        asked = pick(row["told"]).format(V=_written(meant, row, chance))
    return told, asked, label, "size"


def _value(row: dict[str, Any], chance: random.Random) -> float:
    low, high = row["range"]
    return float(round(low + (high - low) * chance.random() ** 1.5))


def _value_far(value: float, row: dict[str, Any], chance: random.Random) -> float | None:
    far = round(value * chance.choice(_FAR))
    low, high = row["range"]
    apart = abs(far - value) > 0.5 * min(far, value) and 1.3 * far + 1 < high
    return float(far) if low <= far <= high and apart else None


def _written(value: float, row: dict[str, Any], chance: random.Random) -> str:
    """A value in its unit, or in another one."""
    if row["unit"] == "mm" and value >= 10 and chance.random() < 0.6:
        size = f"{value / 10:.1f} cm"
        if row["of"] == "tumour" and chance.random() < 0.25:
            return f"{value / 10:.1f} x {value / 14:.1f} x {value / 19:.1f} cm"
        return size
    return f"{value:.0f} {row['unit']}".replace(" %", "%").strip()


def _bounded(value: float, row: dict[str, Any], chance: random.Random, *, over: bool) -> str:
    """A bound below or above the value."""
    if over or value * 1.3 + 1 > row["range"][1]:
        words = ("more than", "over", "at least", "above", "greater than")
        return f"{chance.choice(words)} {_written(value * 0.75 // 1, row, chance).split(' x ')[0]}"
    words = ("less than", "under", "at most", "below", "no more than")
    return f"{chance.choice(words)} {_written(value * 1.3 // 1 + 1, row, chance).split(' x ')[0]}"
