"""What two texts say of sides: the same, the opposite, both, or another thing's."""

from __future__ import annotations

from histoeval.nli.features.lexicon import has_cue
from histoeval.nli.features.pair_lexicon import has_word
from histoeval.nli.features.parse import Statements
from histoeval.terms.sites import contains
from histoeval.terms.values.laterality import Side

_OPPOSITE = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT, Side.BILATERAL: Side.BILATERAL}
Sides = frozenset[tuple[Side, str | None]]


def of_sides(one: Statements, other: Statements) -> dict[str, float]:
    """The sides of the hypothesis beside those of the premise."""
    told, asked = _told(one), _asked(other, _told(one))
    same = opposite = new = unlike = two = False
    for side, organ in asked:
        rivals = {s for s, o in told if o is None or organ is None or contains(o, organ)}
        both = {Side.LEFT, Side.RIGHT} <= rivals
        two |= both
        same |= not both and (side in rivals or Side.BILATERAL in rivals)
        opposite |= bool(rivals) and side not in rivals and Side.BILATERAL not in rivals
        new |= not told
        unlike |= bool(told) and not rivals
    return {
        "side_same": same,
        "side_new": new,
        "side_unlike": unlike,
        "side_two": two,
        "side_both": _is_both(told) and Side.BILATERAL in {side for side, _ in asked},
        "side_unsided": bool(asked) and has_word("sides", "unsided", one.text),
        **_opposed(one, other, told, opposite=opposite),
    }


def _opposed(
    one: Statements, other: Statements, told: Sides, *, opposite: bool
) -> dict[str, float]:
    """The other side: of the lesion that is known, or of a part of which nothing was said."""
    shared = {id_ for id_, _ in one.diagnoses} & {id_ for id_, _ in other.diagnoses}
    of_lesion = bool(shared) or has_cue("lesion", other.text)
    only, free = has_cue("confined", one.text), has_cue("denied", other.text)
    heading = has_word("forms", "heading", other.text)
    known = has_word("forms", "definite", other.text) and not heading
    return {
        "side_opposite": opposite and of_lesion,
        "side_elsewhere": opposite and not of_lesion,
        "side_known": opposite and known and of_lesion,
        "side_heading": opposite and heading,
        "side_sole": opposite
        and not free
        and (has_word("forms", "sole", one.text) or has_word("forms", "sole", other.text)),
        "side_another": opposite and has_word("forms", "another", other.text),
        "only_side_free": opposite and only and free,
        "only_side_held": opposite and only and not free,
        "both_sides_free": {side for side, _ in told} == {Side.BILATERAL}
        and bool(other.sides)
        and free,
    }


def _is_both(told: Sides) -> bool:
    sides = {side for side, _ in told}
    return Side.BILATERAL in sides or {Side.LEFT, Side.RIGHT} <= sides


def _told(text: Statements) -> Sides:
    """Sides that are named, else those that go without saying: a caecum is on the right."""
    if has_word("sides", "other", text.text) and len(text.sides) == 1:
        (side, organ) = next(iter(text.sides))
        return text.sides | {(_OPPOSITE[side], organ)}
    return text.sides or _implied(text)


def _asked(other: Statements, told: Sides) -> Sides:
    """Sides that are asked; the other side of the one that is told, and the same."""
    sides = {side for side, _ in told}
    if not other.sides and len(sides) == 1:
        side = sides.pop()
        if has_word("sides", "other", other.text):
            return frozenset({(_OPPOSITE[side], None)})
        if has_word("sides", "same", other.text):
            return frozenset({(side, None)})
    if not other.sides and told and has_word("sides", "both", other.text):
        return frozenset({(Side.BILATERAL, None)})
    return other.sides or (_implied(other) if told else frozenset())


def _implied(text: Statements) -> Sides:
    return frozenset(
        (side, None) for side in (Side.LEFT, Side.RIGHT) if has_word("sides", side.value, text.text)
    )
