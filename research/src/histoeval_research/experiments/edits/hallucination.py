"""Diagnoses, organs and findings replaced by others, with one voice.

What is replaced is replaced everywhere, so that the report stays at one with itself and only the
image, or the true report, can tell.
"""

import re
from bisect import bisect_left
from random import Random
from typing import Any

from histoeval.report import EntityType
from histoeval.terms.catalogue import Behaviour, Concept, closeness, diagnosis_tree
from histoeval.terms.catalogue import concepts as all_concepts
from histoeval.terms.naming import main_concept
from histoeval.terms.sites import find_sites, site_closeness
from histoeval_research.experiments.edits.source_report import (
    Change,
    NotApplicable,
    Original,
    in_case_of,
    tables,
)

Made = tuple[Change, ...] | NotApplicable

_STRANGE = 0.3
"""Diagnoses that are less close than this are of different families."""
_HARMLESS = frozenset({Behaviour.BENIGN, Behaviour.NON_NEOPLASTIC, Behaviour.NORMAL})
_MOST_REPLACED = 3
_KIN = 0.33
"""Siblings below a wide word, as carcinoma, are less close than this, and are no subtypes."""
_NEAREST = 3
"""The number of nearest siblings of a diagnosis that one is drawn from."""
_ACTION = re.compile(
    r"\b(?:is|are|was|were)\b|(?:ing|ed|ves|des|nds|ades)$|^\w+tes$", re.IGNORECASE
)
"""Findings that are expressed by a verb, in place of which no thing can stand."""


def subtype(original: Original, chance: Random) -> Made:
    """A sibling of the diagnosis, alike in behaviour and at home in the same organ."""
    if original.main is None:
        return NotApplicable("it makes no known diagnosis")
    main = original.main.concept
    lineage = diagnosis_tree().lineage(main.id)
    siblings = diagnosis_tree().children(lineage[1]) if len(lineage) > 1 else ()
    able = [c for name in siblings if _is_rival(main, c := all_concepts()[name])]
    able = [c for c in able if closeness(main, c) >= _KIN]
    if not able:
        return NotApplicable("its diagnosis has no near sibling of the same organ and behaviour")
    nearest = sorted(able, key=lambda c: (-closeness(main, c), c.id))[:_NEAREST]
    return _everywhere(original, chance.choice(nearest).name)


def _is_rival(main: Concept, other: Concept) -> bool:
    tree = diagnosis_tree()
    related = tree.is_a(main.id, other.id) or tree.is_a(other.id, main.id)
    shared = not main.organs or not other.organs or bool(main.organs & other.organs)
    return not related and not other.generic and other.behaviour is main.behaviour and shared


def _everywhere(original: Original, name: str) -> tuple[Change, ...]:
    """A name in place of everything that names the main diagnosis."""
    return tuple(original.replaced(d.entity, name) for d in original.mentions)


def another_diagnosis(original: Original, chance: Random) -> Made:
    """A diagnosis of another family and of the same behaviour."""
    if original.main is None:
        return NotApplicable("it makes no known diagnosis")
    able = [row["name"] for row in tables()["stand_in"] if _is_stranger(original, row)]
    if not able:
        return NotApplicable("none of our diagnoses is of its behaviour and far enough from it")
    return _everywhere(original, chance.choice(able))


def _is_stranger(original: Original, row: dict[str, Any]) -> bool:
    other = main_concept(row["name"])
    if other is None or original.main is None:
        return False
    alike = _gravity(other) == _gravity(original.main.concept)
    return alike and all(closeness(other, d.concept) < _STRANGE for d in original.diagnoses)


def _gravity(concept: Concept) -> str:
    """Behaviour as far as it matters here: harmless, or not."""
    return "harmless" if concept.behaviour in _HARMLESS else "harmful"


def another_organ(original: Original, chance: Random) -> Made:
    """Sites of another organ, and a diagnosis of that organ."""
    named = [
        (e, match)
        for e in original.of_type(EntityType.SITE)
        for match in find_sites(e.text)
        if match.id not in tables()["everywhere"]["sites"]
    ]
    homes = {match.id for _, match in named}
    if original.main is not None:
        homes |= original.main.concept.organs
    if not named and original.main is None:
        return NotApplicable("it names no known site and makes no known diagnosis")
    able = [row for row in tables()["stand_in"] if _is_abroad(row["organ"], homes)]
    able = [r for r in able if original.main is None or _is_stranger(original, r)]
    if not able:
        return NotApplicable("none of our organs and diagnoses is far enough from its own")
    row = chance.choice(able)
    moved = [
        Change(start=e.start + m.start, before=e.text[m.start : m.end],
               after=in_case_of(e.text[m.start : m.end], row["organ"]))
        for e, m in named
    ]  # fmt: skip
    return apart([*_everywhere(original, row["name"]), *moved])


def _is_abroad(organ: str, homes: set[str]) -> bool:
    found = find_sites(organ)
    return bool(found) and all(site_closeness(found[0].id, home) == 0.0 for home in homes)


def apart(changes: list[Change]) -> tuple[Change, ...]:
    """Those of the changes that do not overlap one before them."""
    kept: list[Change] = []
    taken: list[tuple[int, int]] = []
    for change in changes:
        span = (change.start, change.start + len(change.before))
        at = bisect_left(taken, span)
        free = at == len(taken) or span[1] <= taken[at][0]
        if free and (at == 0 or taken[at - 1][1] <= span[0]):
            taken.insert(at, span)
            kept.append(change)
    return tuple(kept)


def benign_name(diagnosis: str) -> str:
    """The benign lesion that could stand where this malignant diagnosis does."""
    name = diagnosis.casefold()
    rows = tables()["benign"]
    return str(next(r["name"] for r in rows if not r["of"] or any(w in name for w in r["of"])))


def benign_for_malignant(original: Original, chance: Random) -> Made:  # noqa: ARG001
    """A benign lesion in place of the malignant diagnosis."""
    if original.main is None or original.main.concept.behaviour is not Behaviour.MALIGNANT:
        return NotApplicable("it makes no malignant diagnosis")
    return _everywhere(original, benign_name(original.main.entity.text))


def invented_finding(original: Original, chance: Random) -> Made:
    """A finding of which the report says nothing."""
    able = [r for r in tables()["invented"] if not original.spoken_of.intersection(r["is"])]
    if not able:
        return NotApplicable("it speaks of all the findings that we could invent")
    return (original.described(chance.choice(able)["sentence"]),)


def foreign_morphology(original: Original, chance: Random) -> Made:
    """Up to three of the findings replaced by those of other diseases."""
    there = [s.entity for s in original.seen if not s.denied]
    there = [e for e in there if not _ACTION.search(e.text)]
    able = [r for r in tables()["invented"] if not original.spoken_of.intersection(r["is"])]
    count = min(len(there), len(able), _MOST_REPLACED)
    if count == 0:
        return NotApplicable("it describes no known finding")
    chosen = sorted(chance.sample(there, count), key=lambda e: e.start)
    rows = chance.sample(able, count)
    return apart([original.replaced(e, r["phrase"]) for e, r in zip(chosen, rows, strict=True)])
