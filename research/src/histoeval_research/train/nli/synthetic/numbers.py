"""Pairs on numbers: nodes, sizes, distances, percentages and counts, written in several ways."""

import random
from typing import Any

from histoeval.nli.entailer import Label
from histoeval_research.train.nli.synthetic.topics import TopicPair
from histoeval_research.train.nli.synthetic.wordings import Part, sentences, table, worded

_WORDS = sentences("numbers")


def _number(number: int, chance: random.Random) -> str:
    return _WORDS[number] if number < len(_WORDS) and chance.random() < 0.4 else str(number)


def draw_nodes(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """Lymph nodes with tumour out of those examined."""
    frames = table("frames")["nodes"]
    examined = chance.randint(1, 30)
    positive = chance.choice([0, chance.randint(1, examined)])
    counts = {"k": _number(positive, chance), "n": _number(examined, chance)}
    premise = worded(frames["positive" if positive else "negative"], part, chance, **counts)
    key, number = _asked_of_nodes(chance, positive, examined, label)
    if key is None:
        return None
    given = {"k": _number(number, chance), "n": _number(examined, chance)}
    if key == "examined":
        given["n"] = _number(number, chance)
    hypothesis = worded(frames[key], part, chance, **given)
    if premise == hypothesis:
        return None
    return TopicPair(premise, hypothesis, label, "nodes", frozenset({"nodes"}), "malignant")


def _asked_of_nodes(
    chance: random.Random, positive: int, examined: int, label: Label
) -> tuple[str | None, int]:
    """A statement on these nodes that has this label, and the number in it."""
    if label == "neutral":
        return ("besides" if positive else "unsaid"), 0
    right = label == "entailment"
    other = chance.choice([n for n in range(1, 31) if n not in (positive, examined)])
    if chance.random() < 0.25:
        return "examined", examined if right else other
    if positive == 0:
        if right:
            return "none", 0
        wrong = min(other, examined)
        return chance.choice([("some", 0), ("count", wrong), ("positive", wrong), ("all", 0)])
    options = ["some", "count", "positive"] if right else ["none", "none", "count", "positive"]
    key = chance.choice(options)
    wrong = chance.choice([n for n in range(1, examined + 2) if n != positive])
    if not right and key == "positive" and wrong > examined:
        return None, 0
    return key, positive if right else wrong


def draw_quantity(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """A number with its unit, and the same, another, or more or less than some number."""
    rows = table("frames")["quantity"]
    row = chance.choice(rows)
    value = _value(row, chance)
    bound = _bounded(row, value, chance) if label == "contradiction" else None
    how, number = bound or ("exact", value)
    premise = worded(row[how], part, chance, n=_written(number, row["unit"], chance))
    key: str | None = "exact"
    if label == "neutral":
        other = chance.choice([r for r in rows if r["name"] != row["name"]])
        question, row = _value(other, chance), other
    elif bound:
        key, question = "exact", value
    else:
        key, question = _asked_of_quantity(row, value, chance, label)
    if key is None:
        return None
    hypothesis = worded(row[key], part, chance, n=_written(question, row["unit"], chance))
    if premise == hypothesis:
        return None
    tone = "malignant" if row["name"] in ("size", "Breslow", "cores") else "any"
    about = frozenset({r["name"] for r in rows} | {"pT", "mitoses", "receptor status"})
    return TopicPair(premise, hypothesis, label, "number", about, tone)


def _bounded(row: dict[str, Any], value: int, chance: random.Random) -> tuple[str, int] | None:
    """Now and then a premise that says more or less than a number, which excludes the value."""
    if chance.random() < 0.7:
        return None
    if chance.random() < 0.5 and value > 3 * max(1, row["low"]):
        return "less", chance.randint(max(1, row["low"]), max(1, value // 2))
    return ("more", 2 * value + 2) if 2 * value + 2 < row["high"] else None


def _asked_of_quantity(
    row: dict[str, Any], value: int, chance: random.Random, label: Label
) -> tuple[str | None, int]:
    right = label == "entailment"
    key = chance.choice(
        [k for k in ("exact", "exact", "more", "less", "much", "little") if k in row]
    )
    if key == "exact":
        return key, value if right else _far(row, value, chance)
    if key in ("more", "less"):
        low, high = (
            max(row["low"], round(value * 0.7)),
            min(2 * row["high"], round(value * 1.4) + 2),
        )
        below = (key == "more") == right
        question = (
            chance.randint(row["low"] // 2, max(low - 1, 0)) if below and low > row["low"] else high
        )
        return (key, question) if (question < value) == below and question != value else (None, 0)
    high_enough, low_enough = value >= row["much_from"], value <= row["little_to"]
    fits = high_enough if key == "much" else low_enough
    opposed = low_enough if key == "much" else high_enough
    return (key, value) if (fits if right else opposed) else (None, 0)


def _value(row: dict[str, Any], chance: random.Random) -> int:
    ends = [row[k] for k in ("little_to",) if k in row]
    if ends and chance.random() < 0.2:
        return chance.randint(min(row["low"], ends[0]), ends[0])
    return chance.randint(row["low"], row["high"])


def _far(row: dict[str, Any], value: int, chance: random.Random) -> int:
    """Another number that nobody would take for a rounding of this one."""
    for _ in range(50):
        other = chance.randint(row["low"], row["high"])
        if abs(other - value) > max(0.15 * value, 2 if row["high"] > 30 else 0):
            return other
    return row["high"] if value != row["high"] else int(row["low"])


def _written(value: int, unit: str, chance: random.Random) -> str:
    if unit == "length":
        return chance.choice([f"{value} mm", f"{value / 10:g} cm", f"{value / 10:.1f} cm"])
    if unit == "depth":
        return chance.choice([f"{value / 10:g} mm", f"{value / 10:.1f} mm", f"{value / 100:g} cm"])
    if unit == "percent":
        return chance.choice([f"{value}%", f"{value} %", f"{value} per cent"])
    return _number(value, chance)
