"""Pairs from cards on what is graded, staged, stained, found, named and measured."""

import random
from typing import Any

from histoeval.nli.entailer import Label
from histoeval_research.train.nli.synthetic.organs.cards import (
    HEDGED,
    Drawn,
    Words,
    organ_frames,
    several,
    statement_of,
)
from histoeval_research.train.nli.synthetic.wordings import sentences

_FAR = (0.25, 0.35, 0.4, 2.5, 3.0, 4.0)
"""Times a size, where another is meant."""


def draw_grade(words: Words, label: Label) -> Drawn | None:
    """Grades of one scale in several vocabularies."""
    frames, pick = organ_frames(), words.chance.choice
    if "grade" not in words.entity:
        return None
    levels = frames["scales"][words.entity["grade"]]["levels"]
    lesion = frames["scales"][words.entity["grade"]]["lesion"]
    at = words.chance.randrange(len(levels))
    other = pick([level for level in range(len(levels)) if level != at])
    premise = words.fill(pick(frames["grade"]["said"]), G=pick(levels[at]), L=lesion)
    if label == "neutral":
        by_chance = words.chance.random()
        if by_chance < 0.35:
            return premise, pick(frames["grade"]["away"]), label, "grade"
        if by_chance < 0.7:
            text = words.fill(pick(frames["grade"]["neutral"]), G=pick(levels[other]))
            return premise, text, label, "grade"
        text = words.fill(pick(frames["grade"]["asked"]), G=pick(levels[other]), L=lesion)
        return words.fill(statement_of(words)), text, label, "grade"
    level = levels[at if label == "entailment" else other]
    hypothesis = words.fill(pick(frames["grade"]["asked"]), G=pick(level), L=lesion)
    return premise, hypothesis, label, "grade"


def draw_stage(words: Words, label: Label) -> Drawn | None:
    """How far it goes, in words and in the letters of stages."""
    pick = words.chance.choice
    tables = [row for row in organ_frames()["stage"] if words.organ["names"][0] in row["organs"]]
    if not tables or words.entity["behaviour"] != "malignant":
        return None
    levels = tables[0]["levels"]
    at = words.chance.randrange(len(levels))
    other = pick([level for level in range(len(levels)) if level != at])
    premise = f"{words.fill(statement_of(words))}{pick(['. ', '; ', ', '])}{pick(levels[at])}"
    if label == "neutral":
        hypothesis = pick(
            [
                *organ_frames()["grade"]["away"][3:6],
                "lymph nodes are involved",
                "the tumour is G2",
            ]
        )
        if words.chance.random() < 0.4:
            premise, hypothesis = words.fill(statement_of(words)), pick(levels[at])
        return premise, hypothesis, label, "stage"
    return premise, pick(levels[at if label == "entailment" else other]), label, "stage"


def draw_markers(words: Words, label: Label) -> Drawn | None:
    """Results of several stains, of which one is asked."""
    pick, chance = words.chance.choice, words.chance
    chosen: dict[str, dict[str, Any]] = {}
    for _ in range(chance.choice([1, 2, 3, 4, 5])):
        row = (
            pick(organ_frames()["marker"]) if chance.random() < 0.4 else organ_frames()["marker"][3]
        )
        chosen.setdefault(pick(row["names"]), row)
    states = [(name, pick(["positive", "negative"])) for name in chosen]
    probed, state = pick(states)
    row = chosen[probed]
    opposite = "negative" if state == "positive" else "positive"
    if label == "neutral":
        if chance.random() < 0.4:
            states = [(name, "doubt" if name == probed else kept) for name, kept in states]
            text = pick(row[pick(["positive", "negative"])]).format(M=probed)
        else:
            free = [name for one in organ_frames()["marker"][3:] for name in one["names"]]
            name = pick([name for name in free if name not in chosen])
            text = pick(organ_frames()["marker"][3][pick(["positive", "negative"])]).format(M=name)
    else:
        text = pick(row[state if label == "entailment" else opposite]).format(M=probed)
        if label == "entailment" and text.split()[0] in HEDGED:
            return None
    premise = several(words, states, lambda name, kept: pick(chosen[name][kept]).format(M=name))
    if chance.random() < 0.4:
        premise = f"{words.fill(statement_of(words))}. {premise}"
    return premise, text, label, "marker"


def draw_findings(words: Words, label: Label) -> Drawn | None:
    """Findings affirmed and denied in one line, and a question on one of them."""
    frames, pick, chance = organ_frames()["finding"], words.chance.choice, words.chance
    names = chance.sample(frames["names"], chance.choice([2, 3, 3, 4]))
    *mentioned, unmentioned = names
    states = [(name, pick(["yes", "no"])) for name in mentioned]
    probed, state = pick(states)
    if label == "neutral":
        by_chance = chance.random()
        if by_chance < 0.35:
            states = [(name, "doubt" if name == probed else kept) for name, kept in states]
        elif by_chance < 0.5:
            premise = several(words, states, lambda name, kept: pick(frames[kept]).format(F=name))
            return premise, pick(frames["doubt"]).format(F=unmentioned), label, "finding"
        else:
            probed = unmentioned
        text = pick(frames[pick(["yes", "no"])]).format(F=probed)
    else:
        opposite = "no" if state == "yes" else "yes"
        text = pick(frames[state if label == "entailment" else opposite]).format(F=probed)
        if label == "entailment" and text.split()[0] in HEDGED:
            return None
    premise = several(words, states, lambda name, kept: pick(frames[kept]).format(F=name))
    return premise, text, label, "finding"


def draw_named(words: Words, label: Label) -> Drawn | None:
    """Margins, nodes and parts by their names: a statement on one implies nothing of another."""
    pick, chance = words.chance.choice, words.chance
    row = pick(organ_frames()["named"])
    names = chance.sample(row["names"], chance.choice([2, 2, 3, 3, 4]))
    *mentioned, unmentioned = names
    states = [(name, pick(["yes", "no"])) for name in mentioned]
    premise = several(words, states, lambda name, state: pick(row[state]).format(X=name))
    probed, state = pick(states)
    opposite = "no" if state == "yes" else "yes"
    if label == "neutral":
        if chance.random() < 0.15:
            text = pick([*row["none"], *row["some"], pick(row[state]).format(X=probed)])
            return pick(row["open"]), text, label, row["topic"]
        return premise, pick(row[pick(["yes", "no"])]).format(X=unmentioned), label, row["topic"]
    if chance.random() < 0.3:
        return _all_or_none(words, row, probed, state, label)
    text = pick(row[state if label == "entailment" else opposite]).format(X=probed)
    return premise, text, label, row["topic"]


def _all_or_none(
    words: Words, row: dict[str, Any], name: str, state: str, label: Label
) -> Drawn | None:
    """One of all: none is involved and one is, or not."""
    pick = words.chance.choice
    one = pick(row[state]).format(X=name)
    if label == "contradiction":
        pair = (pick(row["none" if state == "yes" else "all"]), one)
        return (*(pair if words.chance.random() < 0.6 else pair[::-1]), label, row["topic"])
    if state == "yes" and words.chance.random() < 0.6:
        return one, pick(row["some"]), label, row["topic"]
    return pick(row["none" if state == "no" else "all"]), one, label, row["topic"]


def draw_size(words: Words, label: Label) -> Drawn | None:
    """A size, weight or share in one wording, and in another, or of something else."""
    pick, chance = words.chance.choice, words.chance
    rows: list[dict[str, Any]] = organ_frames()["size"]
    row = pick(rows)
    value = _value(row, chance)
    premise = pick(row["told"]).format(V=_written(value, row, chance))
    if label == "neutral":
        others = [other for other in rows if other["of"] != row["of"]]
        other = pick(others)
        hypothesis = pick(other["told"]).format(V=_written(_value(other, chance), other, chance))
        return premise, hypothesis, label, "size"
    meant = value if label == "entailment" else _value_far(value, row, chance)
    if meant is None:
        return None
    if chance.random() < 0.55:
        over = meant > value if label == "contradiction" else chance.random() < 0.5
        hypothesis = pick(row["told"]).format(V=_bounded(meant, row, chance, over=over))
    else:
        hypothesis = pick(row["told"]).format(V=_written(meant, row, chance))
    return premise, hypothesis, label, "size"


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
        words = sentences("at_least")
        return f"{chance.choice(words)} {_written(value * 0.75 // 1, row, chance).split(' x ')[0]}"
    words = sentences("at_most")
    return f"{chance.choice(words)} {_written(value * 1.3 // 1 + 1, row, chance).split(' x ')[0]}"
