"""Features of laterality: the same side, the opposite, both, or that of another thing."""

from histoeval.nli.features.parse import Statements
from histoeval.terms.sites import contains
from histoeval.terms.values.laterality import Side

_OPPOSITE = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT, Side.BILATERAL: Side.BILATERAL}
Sides = frozenset[tuple[Side, str | None]]


def of_sides(one: Statements, other: Statements) -> dict[str, float]:
    """The sides of the hypothesis beside those of the premise."""
    known = _known(one)
    claimed = _claimed(other, known)
    same = opposite = new = unlike = two = False
    for side, organ in claimed:
        rivals = {s for s, o in known if o is None or organ is None or contains(o, organ)}
        both = {Side.LEFT, Side.RIGHT} <= rivals
        two |= both
        same |= not both and (side in rivals or Side.BILATERAL in rivals)
        opposite |= bool(rivals) and side not in rivals and Side.BILATERAL not in rivals
        new |= not known
        unlike |= bool(known) and not rivals
    return {
        "side_same": same,
        "side_new": new,
        "side_unlike": unlike,
        "side_two": two,
        "side_both": _is_both(known) and Side.BILATERAL in {side for side, _ in claimed},
        "side_unsided": bool(claimed) and one.has_word("sides", "unsided"),
        **_opposed(one, other, known, opposite=opposite),
    }


def _opposed(
    one: Statements, other: Statements, known: Sides, *, opposite: bool
) -> dict[str, float]:
    """The other side: of the known lesion, or of a part that the premise does not have."""
    shared = {id_ for id_, _ in one.diagnoses} & {id_ for id_, _ in other.diagnoses}
    of_lesion = bool(shared) or other.has("lesion")
    only, free = one.has("confined"), other.has("denied")
    heading = other.has_word("forms", "heading")
    definite = other.has_word("forms", "definite") and not heading
    return {
        "side_opposite": opposite and of_lesion,
        "side_elsewhere": opposite and not of_lesion,
        "side_known": opposite and definite and of_lesion,
        "side_heading": opposite and heading,
        "side_sole": opposite
        and not free
        and (one.has_word("forms", "sole") or other.has_word("forms", "sole")),
        "side_another": opposite and other.has_word("forms", "another"),
        "only_side_free": opposite and only and free,
        "only_side_held": opposite and only and not free,
        "both_sides_free": {side for side, _ in known} == {Side.BILATERAL}
        and bool(other.sides)
        and free,
    }


def _is_both(known: Sides) -> bool:
    sides = {side for side, _ in known}
    return Side.BILATERAL in sides or {Side.LEFT, Side.RIGHT} <= sides


def _known(text: Statements) -> Sides:
    """Sides that are named, else those that are implied: a caecum is on the right."""
    if text.has_word("sides", "other") and len(text.sides) == 1:
        (side, organ) = next(iter(text.sides))
        return text.sides | {(_OPPOSITE[side], organ)}
    return text.sides or _implied(text)


def _claimed(other: Statements, known: Sides) -> Sides:
    """The sides of a hypothesis, which may call them the same side or the other side."""
    sides = {side for side, _ in known}
    if not other.sides and len(sides) == 1:
        side = sides.pop()
        if other.has_word("sides", "other"):
            return frozenset({(_OPPOSITE[side], None)})
        if other.has_word("sides", "same"):
            return frozenset({(side, None)})
    if not other.sides and known and other.has_word("sides", "both"):
        return frozenset({(Side.BILATERAL, None)})
    return other.sides or (_implied(other) if known else frozenset())


def _implied(text: Statements) -> Sides:
    return frozenset(
        (side, None) for side in (Side.LEFT, Side.RIGHT) if text.has_word("sides", side.value)
    )
