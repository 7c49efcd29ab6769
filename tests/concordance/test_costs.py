"""What every kind of error costs: the parts that it lowers, and how severe it is."""

from itertools import product

import pytest

from histoeval.concordance.site import compare_sides
from histoeval.facts.facts import Facts, facts_of
from histoeval.report import EntityType, Relation
from tests.support.report_builder import parts_of, report
from tests.support.tables import from_table

_LINKED = (EntityType.DIAGNOSIS, EntityType.SITE)


@from_table
def test_an_error_lowers_these_parts_this_far(
    case: str, reference: str, candidate: str, lowered: dict[str, float], errors: str
) -> None:
    parts = parts_of(reference, candidate)
    left = {name: part.value for name, part in parts.items() if part.value not in (None, 1.0)}
    assert left == pytest.approx(lowered, abs=5e-5), case
    mistakes = [error for part in parts.values() for error in part.mistakes]
    said = sorted(f"{error.severity.name} {error.kind.name}" for error in mistakes)
    assert (", ".join(said).replace("_", " ").lower() or "no error") == errors


@pytest.mark.parametrize("part", ["markers", "grade", "stage", "measurements", "laterality"])
def test_what_neither_report_speaks_of_is_not_compared(part: str) -> None:
    assert parts_of("{diagnosis:Gastritis}.", "{diagnosis:Gastritis}.")[part].value is None


def _sited(marked: str) -> Facts:
    """What a marked text says, with every diagnosis at all of its sites."""
    read = report(marked)
    places = {kind: [i for i, e in enumerate(read.entities) if e.type == kind] for kind in _LINKED}
    links = tuple(Relation(head=head, tail=tail) for head, tail in product(*places.values()))
    return facts_of(read.model_copy(update={"relations": links}))


@from_table
def test_sides_of_the_leading_diagnosis(reference: str, candidate: str, value: float) -> None:
    assert compare_sides(_sited(reference), _sited(candidate)).value == value
