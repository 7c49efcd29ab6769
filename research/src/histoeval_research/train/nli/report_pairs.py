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
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from histoeval_research.train.nli.pairs import lines_of, wordings

_NOT_MORPHOLOGY = re.compile(
    r"\b(?:stage|recurrent|refractory|adult|childhood|pediatric|metastatic|ajcc|unresectable|"
    r"locally|advanced|gene|protein|syndrome|susceptibility|history|mutation|resectable|"
    r"secondary|therapy|treatment|finding|measurement|score)\b",
    re.IGNORECASE,
)
_MOST_WORDS = 9
_SHARES = {"synonym": 0.5, "parent": 0.2, "child": 0.15, "sibling": 0.15}
_MOST_MISSES = 10_000  # draws in a row that give no pair: then none does


class ConceptNames(NamedTuple):
    """A concept of an ontology, by all of its names."""

    id: str
    names: tuple[str, ...]
    parents: tuple[str, ...]


def ontology_pairs(path: Path, count: int, seed: int) -> Iterator[LabelledPair]:
    """Pairs of names from JSON lines of `id`, `name`, `synonyms` and `parents`, also with .gz."""
    known = {concept.id: concept for concept in _concepts(path)}
    children: dict[str, list[ConceptNames]] = {}
    for concept in known.values():
        for parent in concept.parents:
            if parent in known:
                children.setdefault(parent, []).append(concept)
    chance = random.Random(f"{seed}/ontology")
    every = list(known.values())
    made = misses = 0
    while made < count:
        if not every or misses == _MOST_MISSES:
            raise InputError(f"{path} gives no pairs: no concept has synonyms or parents in it")
        concept = chance.choice(every)
        kind = chance.choices([*_SHARES], [*_SHARES.values()])[0]
        if (pair := _named_pair(concept, kind, known, children, chance)) is None:
            misses += 1
        else:
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


def _named_pair(
    concept: ConceptNames,
    kind: str,
    known: Mapping[str, ConceptNames],
    children: Mapping[str, Sequence[ConceptNames]],
    chance: random.Random,
) -> LabelledPair | None:
    label: Label
    if kind == "synonym":
        if len(concept.names) < 2:
            return None
        names = chance.sample(concept.names, 2)
        label = "entailment"
    else:
        parents = [known[parent] for parent in concept.parents if parent in known]
        if not parents:
            return None
        parent = chance.choice(parents)
        if kind == "parent":
            one, other, label = concept, parent, "entailment"
        elif kind == "child":
            one, other, label = parent, concept, "neutral"
        else:
            own = set(map(str.casefold, concept.names))
            siblings = [
                sibling
                for sibling in children[parent.id]
                if sibling.id not in children and own.isdisjoint(map(str.casefold, sibling.names))
            ]
            if not siblings or concept.id in children:
                return None
            one, other, label = concept, chance.choice(siblings), "contradiction"
        names = [chance.choice(one.names), chance.choice(other.names)]
    if names[0].casefold() == names[1].casefold():
        return None
    frames = wordings("diagnosis")["frames"]
    premise, hypothesis = (chance.choice(frames).format(_cased(name, chance)) for name in names)
    return LabelledPair(premise=premise, hypothesis=hypothesis, label=label, category=kind)


def _cased(name: str, chance: random.Random) -> str:
    """A name as it may stand in a report; an abbreviation keeps its capitals."""
    if name.isupper() or chance.random() < 0.15:
        return name
    return name.lower() if chance.random() < 0.9 else name.upper()


_SENTENCE = re.compile(r"[A-Za-z]{3,}")
_LEAST_CHARS, _MOST_CHARS = 25, 260
_MOST_PREMISE = 3


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
    reports = []
    for row in _rows(path):
        text = row.get("text") or row.get("answer") or ""
        statements = dict.fromkeys(
            " ".join(sentence.of(text).split()) for sentence in sentences(text)
        )
        telling = [
            sentence
            for sentence in statements
            if _LEAST_CHARS <= len(sentence) <= _MOST_CHARS and len(_SENTENCE.findall(sentence)) > 2
        ]
        if len(telling) > 1:
            reports.append(telling)
    if not reports:
        raise InputError(f"no report of {path} has two sentences as `text`")
    return tuple(reports)


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
_DISTANT = 0.5  # the closeness up to which two diagnoses, or two sites, exclude each other
_RENAMED = 0.45  # share of diagnoses and sites that are only called something else
_TRIES = 12
# Share of pairs of which the hypothesis holds another statement of the premise beside.
_STRANGE_COMPANY = 0.3

_ENTAILED: Label = "entailment"
_NUMBER = re.compile(r"(?<![\w./-])\d{1,3}(?:\.\d)?(?![\w./]|-\d)")

# The statements of each report, by where the reports are from: each source counts the same.
Sources = Sequence[Sequence[Sequence[str]]]


def changed_pairs(sources: Sources, count: int, seed: int) -> Iterator[LabelledPair]:
    """So many pairs: statements of a report, and one of them with something changed, or nothing."""
    chance = random.Random(f"{seed}/changed")
    made = 0
    while made < count:
        report = chance.choice(chance.choice(sources))
        start = chance.randrange(len(report))
        premise = report[start : start + chance.randint(1, _MOST_STATEMENTS)]
        statement = chance.choice(premise)
        kind = chance.choice(_CHANGES)
        text, label = statement, _ENTAILED
        if kind != "nothing":
            find, others_of = _FINDERS[kind]
            matches = find(statement)
            change = others_of(chance.choice(matches), statement, chance) if matches else None
            if change is None or not change.others:
                continue
            text, label = _with(statement, change, chance.choice(change.others)), change.label
        hypothesis = [text]
        if len(premise) > 1 and chance.random() < _STRANGE_COMPANY:
            beside = chance.choice(
                [candidate for candidate in premise if candidate != statement] or premise[:1]
            )
            hypothesis.insert(chance.randrange(2), beside)
        texts = " ".join(premise), " ".join(hypothesis)
        if _is_short(*texts):
            made += 1
            yield LabelledPair(
                premise=texts[0], hypothesis=texts[1], label=label, category=f"changed: {kind}"
            )


class Change(NamedTuple):
    """A place of a statement, what may stand there instead, and what that says of the rest."""

    start: int
    end: int
    others: Sequence[str]
    label: Label = "contradiction"


def _with(statement: str, change: Change, other: str) -> str:
    was = statement[change.start : change.end]
    if was.isupper() and len(was) > 1:
        other = other.upper()
    elif was[:1].isupper() and other[:1].islower():
        other = other[:1].upper() + other[1:]
    return statement[: change.start] + other + statement[change.end :]


def stranger_pairs(sources: Sources, count: int, seed: int) -> Iterator[NliPair]:
    """Statements of one report, and one of another; every other one shares words with them."""
    chance = random.Random(f"{seed}/strangers")

    def words(text: str) -> set[str]:
        return {word for word in text.lower().split() if len(word) > 4}

    made = 0
    while made < count:
        report = chance.choice(chance.choice(sources))
        start = chance.randrange(len(report))
        premise = " ".join(report[start : start + chance.randint(1, _MOST_STATEMENTS)])
        others = [chance.choice(chance.choice(chance.choice(sources))) for _ in range(_TRIES)]
        if made % 2:
            known = words(premise)
            others.sort(key=lambda other: -len(words(other) & known))
        if others[0] not in premise and _is_short(premise, others[0]):
            made += 1
            yield NliPair(premise, others[0])


def _is_short(*texts: str) -> bool:
    return sum(len(text.split()) for text in texts) <= _MOST_CHANGED_WORDS


# --- changes -------------------------------------------------------------------------------------


def _diagnosis(match: Any, statement: str, chance: random.Random) -> Change | None:
    concept = concepts().get(match.id)
    if concept is None or concept.generic:
        return None
    if chance.random() < _RENAMED:
        return _renamed(statement, match, concept.names)
    tree = diagnosis_tree()
    for _ in range(_TRIES):
        other = chance.choice(_peers(concept) if chance.random() < 0.5 else _all_concepts())
        is_kin = tree.is_a(other.id, concept.id) or tree.is_a(concept.id, other.id)
        if not (is_kin or other.generic) and closeness(concept, other) <= _DISTANT:
            return Change(match.start, match.end, other.names)
    return None


@cache
def _all_concepts() -> list[Concept]:
    return list(concepts().values())


@cache
def _peers(concept: Concept) -> list[Concept]:
    return [c for c in _all_concepts() if c.organs & concept.organs] or _all_concepts()


def _site(match: Any, statement: str, chance: random.Random) -> Change | None:
    site = sites()[match.id]
    if chance.random() < _RENAMED:
        return _renamed(statement, match, site.names)
    tree = site_tree()
    beside = tree.children(site.parent) if site.parent else ()
    for _ in range(_TRIES):
        other = chance.choice(beside if beside and chance.random() < 0.5 else list(sites()))
        is_kin = tree.is_a(other, site.id) or tree.is_a(site.id, other)
        if not is_kin and (other in beside or site_closeness(site.id, other) <= _DISTANT):
            return Change(match.start, match.end, sites()[other].names)
    return None


def _renamed(statement: str, match: Any, names: Sequence[str]) -> Change:
    was = statement[match.start : match.end].casefold()
    others = [name for name in names if name.casefold() != was]
    return Change(match.start, match.end, others, _ENTAILED)


def _side(match: Any, *_: object) -> Change:
    return Change(match.start, match.end, ["left" if match.side == Side.RIGHT else "right"])


def _number(match: re.Match[str], *_: object) -> Change:
    value = float(match[0])
    numbers = {value + 1, value * 2, value * 10, value + 3, value / 2, max(0, value - 1), 0}
    shown = [f"{n:.1f}" if "." in match[0] else str(int(n)) for n in sorted(numbers)]
    return Change(*match.span(), [number for number in shown if float(number) != value])


@cache
def _opposites() -> dict[str, list[str]]:
    opposites: dict[str, list[str]] = {}
    poles = wordings("poles")["pairs"]
    for one, other in (*poles, *(pair[::-1] for pair in poles)):
        opposites.setdefault(one, []).append(other)
    return opposites


@cache
def _poles() -> re.Pattern[str]:
    words = "|".join(sorted(_opposites(), key=lambda word: (-len(word), word)))
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-]| not\b)", re.IGNORECASE)


def _pole(match: re.Match[str], *_: object) -> Change:
    return Change(*match.span(), _opposites()[match[0].lower()])


# Each kind of change, as often as it is tried.
_CHANGES = ["nothing", *["diagnosis"] * 3, "site", "site", "side", "number", "pole", "pole"]

# What can be changed in a statement, and to what.
_FINDERS: dict[str, tuple[Callable[[str], Sequence[Any]], Callable[..., Change | None]]] = {
    "diagnosis": (find_diagnoses, _diagnosis),
    "site": (lambda text: [match for match in find_sites(text) if match.id in sites()], _site),
    "side": (written_sides, _side),
    "number": (lambda text: list(_NUMBER.finditer(text)), _number),
    "pole": (lambda text: list(_poles().finditer(text)), _pole),
}
