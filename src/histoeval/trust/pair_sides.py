"""What two texts say of sides: the same, the opposite, or another thing's."""

from __future__ import annotations

from histoeval.terms.laterality import Side
from histoeval.terms.sites import contains
from histoeval.trust.pair_statements import Statements, has_cue


def of_sides(one: Statements, other: Statements) -> dict[str, float]:
    """The sides of the hypothesis beside those of the premise."""
    same = opposite = new = unlike = two = False
    for side, organ in other.sides:
        rivals = {s for s, o in one.sides if o is None or organ is None or contains(o, organ)}
        both = {Side.LEFT, Side.RIGHT} <= rivals
        two |= both
        same |= not both and (side in rivals or Side.BILATERAL in rivals)
        opposite |= bool(rivals) and side not in rivals and Side.BILATERAL not in rivals
        new |= not one.sides
        unlike |= bool(one.sides) and not rivals
    shared = {id_ for id_, _ in one.diagnoses} & {id_ for id_, _ in other.diagnoses}
    of_lesion = bool(shared) or has_cue("lesion", other.text)
    only, free = has_cue("confined", one.text), has_cue("denied", other.text)
    bilateral = Side.BILATERAL in {side for side, _ in one.sides}
    return {
        "side_same": same,
        "side_opposite": opposite and of_lesion,
        "side_elsewhere": opposite and not of_lesion,
        "side_new": new,
        "side_unlike": unlike,
        "side_two": two,
        "only_side_free": opposite and only and free,
        "only_side_held": opposite and only and not free,
        "both_sides_free": bilateral and bool(other.sides) and free,
    }
