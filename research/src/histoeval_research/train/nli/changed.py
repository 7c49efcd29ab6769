"""Statements of true reports of which one thing was changed: what they say of the rest is known.

A diagnosis or a site under another of its names is entailed, another one contradicts, and so do the
other side, another number, and what was denied and now is not. A statement of another report is not
entailed, whatever else it may be.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from histoeval.nli.entailer import Label, LabelledPair, NliPair
from histoeval.terms.catalogue import Concept, closeness, concepts, diagnosis_tree
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.sites import find_sites, site_closeness, site_tree, sites
from histoeval.terms.values.laterality import Side, written_sides

_MOST_PREMISE = 4
_MOST_WORDS = 110
_DISTANT = 0.5
"""The closeness up to which two diagnoses, or two sites, exclude each other."""
_RENAMED = 0.45
"""Share of diagnoses and sites that are only called something else."""
_TRIES = 12
_STRANGE_COMPANY = 0.3
"""Share of pairs of which the hypothesis holds another statement of the premise beside."""

_NUMBER = re.compile(r"(?<![\w./-])\d{1,3}(?:\.\d)?(?![\w./]|-\d)")
_POLES = (
    ("positive", "negative"),
    ("present", "absent"),
    ("involved", "uninvolved"),
    ("identified", "not identified"),
    ("seen", "not seen"),
    ("is", "is not"),
    ("are", "are not"),
    ("no evidence of", "evidence of"),
    ("no", "focal"),
    ("benign", "malignant"),
    ("well differentiated", "poorly differentiated"),
    ("well-differentiated", "poorly differentiated"),
    ("moderately differentiated", "undifferentiated"),
    ("free of", "involved by"),
    ("low grade", "high grade"),
    ("low-grade", "high-grade"),
    ("upper", "lower"),
    ("anterior", "posterior"),
    ("medial", "lateral"),
    ("mild", "severe"),
    ("focal", "diffuse"),
    ("acute", "chronic"),
)

_OPPOSITES = {
    one: [b for a, b in (*_POLES, *(pair[::-1] for pair in _POLES)) if a == one]
    for one in {word for pair in _POLES for word in pair}
}
_POLE = re.compile(
    rf"(?<![\w-])(?:{'|'.join(sorted(_OPPOSITES, key=lambda word: (-len(word), word)))})"
    r"(?![\w-]| not\b)",
    re.IGNORECASE,
)

Sources = Sequence[Sequence[Sequence[str]]]
"""The statements of each report, by where the reports are from: each source counts the same."""

_Change = Callable[[str, random.Random], tuple[str, Label] | None]


def changed_pairs(sources: Sources, count: int, seed: int) -> Iterator[LabelledPair]:
    """So many pairs: statements of a report, and one of them with something changed, or nothing."""
    chance = random.Random(f"{seed}/changed")
    made = 0
    while made < count:
        report = chance.choice(chance.choice(sources))
        start = chance.randrange(len(report))
        premise = report[start : start + chance.randint(1, _MOST_PREMISE)]
        statement = chance.choice(premise)
        kind, change = chance.choice(_CHANGES)
        if (found := change(statement, chance)) is None:
            continue
        text, label = found
        hypothesis = [text]
        if len(premise) > 1 and chance.random() < _STRANGE_COMPANY:
            other = chance.choice([each for each in premise if each != statement] or premise[:1])
            hypothesis.insert(chance.randrange(2), other)
        pair = LabelledPair(
            premise=" ".join(premise),
            hypothesis=" ".join(hypothesis),
            label=label,
            category=f"changed: {kind}",
        )
        if _is_short(pair.premise, pair.hypothesis):
            made += 1
            yield pair


def stranger_pairs(sources: Sources, count: int, seed: int) -> Iterator[NliPair]:
    """Statements of one report, and one of another; every other one shares words with them."""
    chance = random.Random(f"{seed}/strangers")
    made = 0
    while made < count:
        report = chance.choice(chance.choice(sources))
        start = chance.randrange(len(report))
        premise = " ".join(report[start : start + chance.randint(1, _MOST_PREMISE)])
        others = [chance.choice(chance.choice(chance.choice(sources))) for _ in range(_TRIES)]
        if made % 2:
            known = _words(premise)
            others.sort(key=lambda other: -len(_words(other) & known))
        if others[0] not in premise and _is_short(premise, others[0]):
            made += 1
            yield NliPair(premise, others[0])


def _words(text: str) -> set[str]:
    return {word for word in text.lower().split() if len(word) > 4}


def _is_short(*texts: str) -> bool:
    return sum(len(text.split()) for text in texts) <= _MOST_WORDS


# --- changes -------------------------------------------------------------------------------------


def _unchanged(statement: str, chance: random.Random) -> tuple[str, Label] | None:  # noqa: ARG001
    return statement, "entailment"


def _diagnosis(statement: str, chance: random.Random) -> tuple[str, Label] | None:
    found = find_diagnoses(statement)
    if not found:
        return None
    match = chance.choice(found)
    concept, named = concepts().get(match.id), statement[match.start : match.end]
    if concept is None or concept.generic:
        return None
    if chance.random() < _RENAMED:
        names = [name for name in concept.names if name.casefold() != named.casefold()]
        return _with(statement, match.start, match.end, names, "entailment", chance)
    for _ in range(_TRIES):
        other = chance.choice(_peers(concept) if chance.random() < 0.5 else _all_concepts())
        tree = diagnosis_tree()
        kin = tree.is_a(other.id, concept.id) or tree.is_a(concept.id, other.id)
        if not (kin or other.generic) and closeness(concept, other) <= _DISTANT:
            return _with(statement, match.start, match.end, other.names, "contradiction", chance)
    return None


@cache
def _all_concepts() -> list[Concept]:
    return list(concepts().values())


@cache
def _peers(concept: Concept) -> list[Concept]:
    """Diagnoses that arise in the same organs."""
    found = [each for each in _all_concepts() if each.organs & concept.organs]
    return found or _all_concepts()


def _site(statement: str, chance: random.Random) -> tuple[str, Label] | None:
    found = [match for match in find_sites(statement) if match.id in sites()]
    if not found:
        return None
    match = chance.choice(found)
    site, named = sites()[match.id], statement[match.start : match.end]
    if chance.random() < _RENAMED:
        names = [name for name in site.names if name.casefold() != named.casefold()]
        return _with(statement, match.start, match.end, names, "entailment", chance)
    beside = site_tree().children(site.parent) if site.parent else ()
    for _ in range(_TRIES):
        other = chance.choice(beside if beside and chance.random() < 0.5 else list(sites()))
        tree = site_tree()
        kin = tree.is_a(other, site.id) or tree.is_a(site.id, other)
        if not kin and (other in beside or site_closeness(site.id, other) <= _DISTANT):
            others = sites()[other].names
            return _with(statement, match.start, match.end, others, "contradiction", chance)
    return None


def _side(statement: str, chance: random.Random) -> tuple[str, Label] | None:
    found = written_sides(statement)
    if not found:
        return None
    side = chance.choice(found)
    other = "left" if side.side == Side.RIGHT else "right"
    return _with(statement, side.start, side.end, [other], "contradiction", chance)


def _number(statement: str, chance: random.Random) -> tuple[str, Label] | None:
    found = list(_NUMBER.finditer(statement))
    if not found:
        return None
    match = chance.choice(found)
    value = float(match[0])
    numbers = {value + 1, value * 2, value * 10, value + 3, value / 2, max(0, value - 1), 0}
    shown = [f"{n:.1f}" if "." in match[0] else str(int(n)) for n in sorted(numbers)]
    others = [each for each in shown if float(each) != value]
    return _with(statement, match.start(), match.end(), others, "contradiction", chance)


def _pole(statement: str, chance: random.Random) -> tuple[str, Label] | None:
    found = list(_POLE.finditer(statement))
    if not found:
        return None
    match = chance.choice(found)
    others = _OPPOSITES[match[0].lower()]
    return _with(statement, match.start(), match.end(), others, "contradiction", chance)


def _with(
    statement: str,
    start: int,
    end: int,
    names: Sequence[str],
    label: Label,
    chance: random.Random,
) -> tuple[str, Label] | None:
    """A statement with other words in one place, in the same case."""
    if not names:
        return None
    name, was = chance.choice(names), statement[start:end]
    if was.isupper() and len(was) > 1:
        name = name.upper()
    elif was[:1].isupper() and name[:1].islower():
        name = name[:1].upper() + name[1:]
    return statement[:start] + name + statement[end:], label


_CHANGES: tuple[tuple[str, _Change], ...] = (
    ("nothing", _unchanged),
    ("diagnosis", _diagnosis),
    ("diagnosis", _diagnosis),
    ("diagnosis", _diagnosis),
    ("site", _site),
    ("site", _site),
    ("side", _side),
    ("number", _number),
    ("pole", _pole),
    ("pole", _pole),
)
"""Each kind of change, as often as it is tried."""
