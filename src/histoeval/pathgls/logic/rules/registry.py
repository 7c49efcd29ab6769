"""All rules, and the contradictions that they find: both places, the rule, and why.

A rule is a function from a specimen to contradictions: two statements that cannot both be true. It
stays silent where the words leave room, since a false alarm is worse than a miss. To add one, write
it in a module of this folder, name it in RULES, and give it cases in tests/pathgls/logic/rules.
`docs/logic.md` has a table of them with how often they fire on true reports.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from histoeval.pathgls.logic.lexicon import version
from histoeval.pathgls.logic.places import are_marked_apart
from histoeval.pathgls.logic.rules.lesion import (
    appearance,
    behaviour,
    diagnosis,
    lineage,
    morphology,
)
from histoeval.pathgls.logic.rules.presence import denial, marker, presence
from histoeval.pathgls.logic.rules.site import foreign_tissue, home, no_home, procedure, side, site
from histoeval.pathgls.logic.rules.spread import (
    in_situ,
    margin,
    margin_by_name,
    margin_in_words,
    nodes,
)
from histoeval.pathgls.logic.rules.values import (
    figures,
    grade,
    grade_in_words,
    size,
    stage,
    stage_as_described,
)
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction

Rule = Callable[[Specimen], Iterator[Contradiction]]

# For one specimen, in the order in which they claim a pair of places. `nodes` is not among them: it
# is for a report as a whole.
RULES: tuple[Rule, ...] = (
    presence,
    denial,
    margin,
    margin_by_name,
    margin_in_words,
    marker,
    grade,
    grade_in_words,
    side,
    stage,
    stage_as_described,
    size,
    figures,
    behaviour,
    morphology,
    in_situ,
    lineage,
    home,
    site,
    foreign_tissue,
    no_home,
    procedure,
    diagnosis,
    appearance,
)
_ON_PLACES = (side, site, home, no_home, foreign_tissue, procedure)
_LOGIC_OF_RULES = 5  # to be raised when what the rules do changes, and not only their words

MAX_PER_RULE = 3  # one rule gives at most this many contradictions of a specimen


def rules_identity() -> str:
    return f"{_LOGIC_OF_RULES}.{version()}"


def broken_rules(specimens: Sequence[Specimen]) -> list[Contradiction]:
    """Contradictions that the rules find in a report, in text order, each pair of places once."""
    contradictions = [
        contradiction
        for rule in RULES
        for specimen in specimens
        for contradiction in islice(_of_one_place(specimen, rule), MAX_PER_RULE)
    ]
    first: dict[tuple[int, int], Contradiction] = {}
    for contradiction in (*contradictions, *islice(nodes(specimens), MAX_PER_RULE)):
        starts = contradiction.first.start, contradiction.second.start
        first.setdefault(starts, contradiction)
    return sorted(
        first.values(), key=lambda clash: (clash.first.start, clash.second.start, clash.source)
    )


def _of_one_place(specimen: Specimen, rule: Rule) -> Iterator[Contradiction]:
    """Contradictions by a rule, without pairs of sentences on two places unless it is on places."""
    for contradiction in rule(specimen):
        starts = contradiction.first.start, contradiction.second.start
        texts = [passage.text for start in starts if (passage := specimen.passage_at(start))]
        if rule in _ON_PLACES or len(texts) < 2 or not are_marked_apart(*texts):
            yield contradiction
