"""Rule: two sizes of one tumour."""

from collections.abc import Iterator

from histoeval.pathgls.logic.contradiction import two_values
from histoeval.pathgls.logic.lexicon import pattern
from histoeval.pathgls.logic.sentences import ReportMention
from histoeval.pathgls.logic.specimen import Specimen, behaviour_of
from histoeval.pathgls.results import Contradiction
from histoeval.terms.catalogue import Behaviour
from histoeval.terms.values.measurements import Measurement

_NEAR = 12
"""Characters between a size and the name of the tumour after it."""
_APART = 1.5
"""The ratio from which two sizes are not the same."""


def size(specimen: Specimen) -> Iterator[Contradiction]:
    """Two largest dimensions of the one tumour of a specimen that are far apart."""
    if not specimen.is_of_one_tumour or specimen.has_several_tumours:
        return
    sizes = [
        each
        for each in specimen.measurements
        if each.value.kind == "length"
        and each.value.bound is None
        and [m.passage for m in specimen.measurements].count(each.passage) == 1
        and (each.passage.has("tumour_size") or _is_of_tumour(each, specimen))
        and not pattern("part_of_tumour").search(each.clause)
    ]
    yield from two_values("size", sizes, _differ)


def _is_of_tumour(measured: ReportMention[Measurement], specimen: Specimen) -> bool:
    """In prose: a size that stands behind the name of the tumour, and is no distance."""
    named = any(
        each.passage == measured.passage
        and (
            each.span.end <= measured.span.start
            or 0 <= each.span.start - measured.span.end <= _NEAR
        )
        and behaviour_of(each) in (Behaviour.MALIGNANT, Behaviour.BENIGN)
        for each in specimen.made
    )
    of_tumour = named or measured.passage.has("tumour_is")
    return of_tumour and specimen.is_prose and not measured.passage.has("distance")


def _differ(one: Measurement, other: Measurement) -> bool:
    small, large = sorted((one.values[0], other.values[0]))
    return small > 0 and large / small >= _APART
