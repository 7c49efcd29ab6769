"""Contradictions that need no model: each with both places, the rule that found it, and why.

The rules look for what a report says of one specimen in two ways that cannot both be true. Each
keeps silent where the words leave room: a rule that fires on a true report is worse than one that
misses a false one. `docs/logic.md` has a table of them with how often they fire on true reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from histoeval.trust.logic import impression
from histoeval.trust.logic.lexicon import version
from histoeval.trust.logic.rules import invasion, laterality, lineage, organ_places, presence
from histoeval.trust.logic.rules.appearance import appearance
from histoeval.trust.logic.rules.diagnosis import diagnosis
from histoeval.trust.logic.rules.grade import grade_in_words
from histoeval.trust.logic.rules.lymph_nodes import nodes
from histoeval.trust.logic.rules.margin import margin_in_words
from histoeval.trust.logic.rules.organ import another_procedure, foreign_tissue, no_home
from histoeval.trust.logic.specimen import Specimen
from histoeval.trust.results import Contradiction

Rule = Callable[[Specimen], Iterator[Contradiction]]

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "presence": presence.presence,
        "denial": presence.denial,
        "margin": presence.margin,
        "margin_in_words": margin_in_words,
        "marker": presence.marker,
        "grade": laterality.grade,
        "grade_in_words": grade_in_words,
        "side": laterality.side,
        "stage": laterality.stage,
        "size": laterality.size,
        "behaviour": lineage.behaviour,
        "morphology": impression.morphology,
        "in_situ": invasion.in_situ,
        "lineage": lineage.lineage,
        "home": lineage.home,
        "site": organ_places.site,
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

MAX_PER_RULE = 3
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
        if len(kept) == MAX_PER_RULE:
            break
        kept.append(each)
    return kept


def _once(found: Iterable[Contradiction]) -> list[Contradiction]:
    """Each pair of places with the first rule that names it."""
    kept: dict[tuple[int, int], Contradiction] = {}
    for each in found:
        kept.setdefault((each.first.start, each.second.start), each)
    return list(kept.values())
