"""Contradictions that need no model: each with both places, the rule that found it, and why.

The rules look for what a report says of one specimen in two ways that cannot both be true. Each
keeps silent where the words leave room: a rule that fires on a true report is worse than one that
misses a false one. `docs/logic.md` has a table of them with how often they fire on true reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from histoeval.trust import extents, leanings, lesions, measures, opposites, places
from histoeval.trust.appearances import appearance
from histoeval.trust.grades_at_odds import grade_in_words
from histoeval.trust.habitats import another_procedure, foreign_tissue, no_home
from histoeval.trust.kinds import diagnosis
from histoeval.trust.logic_data import version
from histoeval.trust.margins_in_words import margin_in_words
from histoeval.trust.nodes import nodes
from histoeval.trust.nouns import Contradiction
from histoeval.trust.specimens import Specimen

Rule = Callable[[Specimen], Iterator[Contradiction]]

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "presence": opposites.presence,
        "denial": opposites.denial,
        "margin": opposites.margin,
        "margin_in_words": margin_in_words,
        "marker": opposites.marker,
        "grade": measures.grade,
        "grade_in_words": grade_in_words,
        "side": measures.side,
        "stage": measures.stage,
        "size": measures.size,
        "behaviour": lesions.behaviour,
        "morphology": leanings.morphology,
        "in_situ": extents.in_situ,
        "lineage": lesions.lineage,
        "home": lesions.home,
        "site": places.site,
        "foreign_tissue": foreign_tissue,
        "no_home": no_home,
        "procedure": another_procedure,
        "diagnosis": diagnosis,
        "appearance": appearance,
    }
)
"""The rules that hold for one specimen, by name; `nodes` holds for a report as a whole."""

_LOGIC_OF_RULES = 3
"""Goes up when what the rules do changes, and not only their words."""

MOST_OF_A_RULE = 3
"""One rule gives no more contradictions of a report than this."""


def rules_identity() -> str:
    """What the answers of the rules depend on, for the signature."""
    return f"{_LOGIC_OF_RULES}.{version()}"


def broken_rules(specimens: Sequence[Specimen]) -> list[Contradiction]:
    """What the rules find in a report, in the order of the text, each pair of places once."""
    found = [
        contradiction
        for rule in RULES.values()
        for specimen in specimens
        for contradiction in _first(rule(specimen))
    ]
    return sorted(
        _once([*found, *_first(nodes(specimens))]),
        key=lambda each: (each.first.start, each.second.start, each.source),
    )


def _first(found: Iterable[Contradiction]) -> list[Contradiction]:
    kept: list[Contradiction] = []
    for each in found:
        if len(kept) == MOST_OF_A_RULE:
            break
        kept.append(each)
    return kept


def _once(found: Iterable[Contradiction]) -> list[Contradiction]:
    """Each pair of places with the first rule that names it."""
    kept: dict[tuple[int, int], Contradiction] = {}
    for each in found:
        kept.setdefault((each.first.start, each.second.start), each)
    return list(kept.values())
