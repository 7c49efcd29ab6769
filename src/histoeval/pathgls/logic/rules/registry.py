"""All rules, and the contradictions that they find: both places, the rule, and why.

A rule is a function from a specimen to contradictions: two statements that cannot both be true. It
stays silent where the words leave room, since a false alarm is worse than a miss. To add one, write
it in a module of this folder, name it in RULES, and give it cases in tests/pathgls/logic/rules.
`docs/logic.md` has a table of them with how often they fire on true reports.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType

from histoeval.pathgls.logic.lexicon import version
from histoeval.pathgls.logic.places import are_marked_apart
from histoeval.pathgls.logic.rules.appearance import appearance
from histoeval.pathgls.logic.rules.diagnosis import diagnosis
from histoeval.pathgls.logic.rules.figures import figures
from histoeval.pathgls.logic.rules.grade import grade, grade_in_words
from histoeval.pathgls.logic.rules.invasion import in_situ
from histoeval.pathgls.logic.rules.laterality import side
from histoeval.pathgls.logic.rules.lineage import behaviour, lineage
from histoeval.pathgls.logic.rules.lymph_nodes import nodes
from histoeval.pathgls.logic.rules.margin import margin, margin_by_name, margin_in_words
from histoeval.pathgls.logic.rules.morphology import morphology
from histoeval.pathgls.logic.rules.organ import foreign_tissue, home, no_home, site
from histoeval.pathgls.logic.rules.presence import denial, marker, presence
from histoeval.pathgls.logic.rules.procedure import procedure
from histoeval.pathgls.logic.rules.size import size
from histoeval.pathgls.logic.rules.stage import stage, stage_as_described
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction

Rule = Callable[[Specimen], Iterator[Contradiction]]

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "presence": presence,
        "denial": denial,
        "margin": margin,
        "margin_by_name": margin_by_name,
        "margin_in_words": margin_in_words,
        "marker": marker,
        "grade": grade,
        "grade_in_words": grade_in_words,
        "side": side,
        "stage": stage,
        "stage_as_described": stage_as_described,
        "size": size,
        "figures": figures,
        "behaviour": behaviour,
        "morphology": morphology,
        "in_situ": in_situ,
        "lineage": lineage,
        "home": home,
        "site": site,
        "foreign_tissue": foreign_tissue,
        "no_home": no_home,
        "procedure": procedure,
        "diagnosis": diagnosis,
        "appearance": appearance,
    }
)
"""The rules for one specimen, by name, in the order in which they claim a pair of places.

`nodes` is not among them: it is for a report as a whole."""

_ON_PLACES = frozenset({"side", "site", "home", "no_home", "foreign_tissue", "procedure"})
_LOGIC_OF_RULES = 5
"""To be raised when what the rules do changes, and not only their words."""

MAX_PER_RULE = 3
"""One rule gives at most this many contradictions of a specimen."""


def rules_identity() -> str:
    """What the answers of the rules depend on, for the signature."""
    return f"{_LOGIC_OF_RULES}.{version()}"


def broken_rules(specimens: Sequence[Specimen]) -> list[Contradiction]:
    """What the rules find in a report, in the order of the text, each pair of places once."""
    found = [
        contradiction
        for name, rule in RULES.items()
        for specimen in specimens
        for contradiction in islice(_of_one_place(name, specimen, rule), MAX_PER_RULE)
    ]
    return sorted(
        _once([*found, *islice(nodes(specimens), MAX_PER_RULE)]),
        key=lambda each: (each.first.start, each.second.start, each.source),
    )


def _of_one_place(name: str, specimen: Specimen, rule: Rule) -> Iterator[Contradiction]:
    """What a rule finds, without pairs of sentences on two places; of places that is the point."""
    for found in rule(specimen):
        one, other = (specimen.passage_at(span.start) for span in (found.first, found.second))
        apart = one is not None and other is not None and are_marked_apart(one.text, other.text)
        if name in _ON_PLACES or not apart:
            yield found


def _once(found: Iterable[Contradiction]) -> list[Contradiction]:
    """Each pair of places with the first rule that names it."""
    kept: dict[tuple[int, int], Contradiction] = {}
    for each in found:
        kept.setdefault((each.first.start, each.second.start), each)
    return list(kept.values())
