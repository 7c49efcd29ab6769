"""Pairs from public files: names of an ontology, and sentences of one true report.

Names of one concept entail each other, a concept entails its parents, and its siblings exclude it.
Two sentences of one true report never contradict each other; which of the other two labels they
have is not known, so they are learned from as pairs that are no contradiction.
"""

import json
import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.errors import InputError
from histoeval.nli.entailer import Label, LabelledPair, NliPair
from histoeval.reader.sentences import sentences
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
