"""Pairs from public files: names of an ontology, sentences of true reports, and what they become.

Names of one concept entail each other, a concept entails its parents, and its siblings exclude it.
Two sentences of one true report never contradict each other; which of the other two labels they
have is not known, so they are learned from as pairs that are no contradiction. Of statements of
which one thing was changed, what they say of the rest is known: a diagnosis or a site under another
of its names is entailed, another one contradicts, and so do the other side, another number, and
what was denied and now is not. A statement of another report is not entailed, whatever else it may
be.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.errors import InputError
from histoeval.nli.entailer import Label, LabelledPair, NliPair
from histoeval.reader.sentences import sentences
from histoeval.terms.catalogue import Concept, closeness, concepts, diagnosis_tree
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.sites import find_sites, site_closeness, site_tree, sites
from histoeval.terms.values.laterality import Side, written_sides
from histoeval_research.train.nli.data import lines_of

_FRAMES = (
    "{}",
    "Diagnosis: {}.",
    "Biopsy: {}.",
    "The features are those of {}.",
    "Sections show {}.",
    "{}, excision specimen.",
    "Final diagnosis: {}; see comment.",
    "The lesion is {}.",
    "Histology is consistent with {}.",
)
_NOT_MORPHOLOGY = re.compile(
    r"\b(?:stage|recurrent|refractory|adult|childhood|pediatric|metastatic|ajcc|unresectable|"
    r"locally|advanced|gene|protein|syndrome|susceptibility|history|mutation|resectable|"
    r"secondary|therapy|treatment|finding|measurement|score)\b",
    re.IGNORECASE,
)
_MOST_WORDS = 9
_SHARES: tuple[tuple[str, float], ...] = (
    ("synonym", 0.5),
    ("parent", 0.2),
    ("child", 0.15),
    ("sibling", 0.15),
)
_MOST_MISSES = 10_000
"""Draws in a row that give no pair: then none does."""
_SENTENCE = re.compile(r"[A-Za-z]{3,}")
_LEAST_CHARS, _MOST_CHARS = 25, 260
_MOST_PREMISE = 3


class ConceptNames(NamedTuple):
    """A concept of an ontology, by all of its names."""

    id: str
    names: tuple[str, ...]
    parents: tuple[str, ...]


def ontology_pairs(path: Path, count: int, seed: int) -> Iterator[LabelledPair]:
    """Pairs of names from JSON lines of `id`, `name`, `synonyms` and `parents`, also with .gz."""
    concepts = {each.id: each for each in _concepts(path)}
    children: dict[str, list[ConceptNames]] = {}
    for each in concepts.values():
        for parent in each.parents:
            if parent in concepts:
                children.setdefault(parent, []).append(each)
    chance = random.Random(f"{seed}/ontology")
    everyone = list(concepts.values())
    kinds, shares = zip(*_SHARES, strict=True)
    made = misses = 0
    while made < count:
        if not everyone or misses == _MOST_MISSES:
            raise InputError(f"{path} gives no pairs: no concept has synonyms or parents in it")
        concept = chance.choice(everyone)
        kind = chance.choices(kinds, shares)[0]
        if (pair := _pair(concept, kind, concepts, children, chance)) is None:
            misses += 1
            continue
        made, misses = made + 1, 0
        yield pair


def _concepts(path: Path) -> Iterator[ConceptNames]:
    for row in _rows(path, "id", "name", "synonyms", "parents"):
        names = [row["name"], *row["synonyms"]]
        plain = [
            name
            for name in dict.fromkeys(names)
            if not _NOT_MORPHOLOGY.search(name) and len(name.split()) <= _MOST_WORDS
        ]
        if plain and row["name"] in plain:
            yield ConceptNames(row["id"], tuple(plain), tuple(row["parents"]))


def _pair(
    concept: ConceptNames,
    kind: str,
    concepts: dict[str, ConceptNames],
    children: dict[str, list[ConceptNames]],
    chance: random.Random,
) -> LabelledPair | None:
    """A pair of names of which it is known what one says of the other, if there is one."""
    parents = [concepts[parent] for parent in concept.parents if parent in concepts]
    label: Label
    if kind == "synonym":
        if len(concept.names) < 2:
            return None
        name, synonym = chance.sample(concept.names, 2)
        return _framed(name, synonym, "entailment", kind, chance)
    if not parents:
        return None
    parent = chance.choice(parents)
    if kind == "parent":
        one, other, label = concept, parent, "entailment"
    elif kind == "child":
        one, other, label = parent, concept, "neutral"
    else:
        siblings = [
            each
            for each in children[parent.id]
            if each.id not in children and not _share_a_name(each, concept)
        ]
        if not siblings or concept.id in children:
            return None
        one, other, label = concept, chance.choice(siblings), "contradiction"
    return _framed(chance.choice(one.names), chance.choice(other.names), label, kind, chance)


def _share_a_name(one: ConceptNames, other: ConceptNames) -> bool:
    return not {name.casefold() for name in one.names}.isdisjoint(map(str.casefold, other.names))


def _framed(
    one: str, other: str, label: Label, kind: str, chance: random.Random
) -> LabelledPair | None:
    if one.casefold() == other.casefold():
        return None
    texts = [chance.choice(_FRAMES).format(_cased(name, chance)) for name in (one, other)]
    return LabelledPair(premise=texts[0], hypothesis=texts[1], label=label, category=kind)


def _cased(name: str, chance: random.Random) -> str:
    """A name as it may stand in a report; an abbreviation keeps its capitals."""
    if name.isupper() or chance.random() < 0.15:
        return name
    return name.lower() if chance.random() < 0.9 else name.upper()


def companion_pairs(paths: Sequence[Path], count: int, seed: int) -> Iterator[NliPair]:
    """Sentences of one true report: some of them as the premise, another as the hypothesis."""
    chance = random.Random(f"{seed}/companions")
    reports = [report for path in paths for report in reports_of(path)] if count else []
    for _ in range(count if reports else 0):
        report = chance.choice(reports)
        most = min(len(report) - 1, _MOST_PREMISE)
        *premise, hypothesis = chance.sample(report, chance.randint(1, most) + 1)
        yield NliPair(" ".join(premise), hypothesis)


@cache
def reports_of(path: Path) -> tuple[Sequence[str], ...]:
    """The statements of each report of a file that has two at least."""
    reports = tuple(found for row in _rows(path) if (found := _statements(row)))
    if not reports:
        raise InputError(f"no report of {path} has two sentences as `text`")
    return reports


def _statements(row: dict[str, Any]) -> list[str]:
    """The sentences of a report that say something, if there are two."""
    text = row.get("text") or row.get("answer") or ""
    found = dict.fromkeys(" ".join(each.of(text).split()) for each in sentences(text))
    said = [
        each
        for each in found
        if _LEAST_CHARS <= len(each) <= _MOST_CHARS and len(_SENTENCE.findall(each)) > 2
    ]
    return said if len(said) > 1 else []


def _rows(path: Path, *needed: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines_of(path), 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: not JSON") from error
        if not isinstance(row, dict) or not row.keys() >= set(needed):
            raise InputError(f"{path}, line {number}: not an object with {', '.join(needed)}")
        yield row


_MOST_STATEMENTS = 4
_MOST_CHANGED_WORDS = 110
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
        premise = report[start : start + chance.randint(1, _MOST_STATEMENTS)]
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
        premise = " ".join(report[start : start + chance.randint(1, _MOST_STATEMENTS)])
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
    return sum(len(text.split()) for text in texts) <= _MOST_CHANGED_WORDS


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
