"""Rule: two stages of one tumour."""

from collections.abc import Iterator

from histoeval.pathgls.logic.contradiction import two_values
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction
from histoeval.terms.values.stages import Stage


def stage(specimen: Specimen) -> Iterator[Contradiction]:
    """Two stages of the tumour by the same rules: pT2 and pT3."""
    if specimen.has_several_tumours:
        return
    yield from two_values("stage", specimen.stages, _differ)


def _differ(one: Stage, other: Stage) -> bool:
    if one.prefix != other.prefix or not (one.prefix or "").endswith("p"):
        return False
    return bool(
        one.t and other.t and one.t[0] != other.t[0] and one.t[0].isdigit() and other.t[0].isdigit()
    )
