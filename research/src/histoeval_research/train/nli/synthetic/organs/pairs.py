"""Pairs in the words of reports, from cards of organs that language models wrote.

What one statement says of another follows from the cards: two diagnoses of one organ exclude each
other as the diagnosis of one lesion, and not where one is reported beside, elsewhere or
before; a diagnosis entails the kinds it is one of and leaves its own kinds open; a look that
belongs to other cells excludes it. Everything follows from the seed.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

from histoeval.nli.entailer import LABELS, Label
from histoeval_research.train.nli.synthetic.organs.anatomy import (
    draw_hint,
    draw_letters,
    draw_name,
    draw_numbered,
    draw_origin,
    draw_part,
    draw_spread,
    draw_sure,
    draw_unknown_primary,
)
from histoeval_research.train.nli.synthetic.organs.cards import Draw, Drawn, Words, organ_frames
from histoeval_research.train.nli.synthetic.organs.lesions import (
    draw_behaviour,
    draw_diagnosis,
    draw_doubt,
    draw_scene,
    draw_side,
    draw_site,
    draw_two_parts,
    draw_vague,
)
from histoeval_research.train.nli.synthetic.organs.values import (
    draw_findings,
    draw_grade,
    draw_markers,
    draw_named,
    draw_size,
    draw_stage,
)
from histoeval_research.train.nli.synthetic.wordings import table

_DRAWS: tuple[tuple[Draw, float], ...] = (
    (draw_side, 4),
    (draw_two_parts, 1.5),
    (draw_diagnosis, 4),
    (draw_behaviour, 1.5),
    (draw_scene, 4),
    (draw_vague, 2.5),
    (draw_named, 4),
    (draw_grade, 4),
    (draw_stage, 1.5),
    (draw_markers, 2),
    (draw_findings, 2.5),
    (draw_doubt, 2.5),
    (draw_site, 1.2),
    (draw_origin, 2.5),
    (draw_spread, 1.2),
    (draw_numbered, 1.5),
    (draw_sure, 1.2),
    (draw_size, 4),
    (draw_part, 3),
    (draw_name, 2.5),
    (draw_unknown_primary, 1.2),
    (draw_letters, 1.5),
    (draw_hint, 1.2),
)
_COMPANY = 0.4
_AMERICAN = 0.4
_LOW_ENDS = 0.3
_REPEATS = 30


def organ_pairs(
    count: int, seed: int, organs: Callable[[str], bool] = bool
) -> Iterator[tuple[str, str, Label, str]]:
    """So many different pairs, the three labels in turn, of the organs that a test lets through."""
    chance = random.Random(f"cards/{seed}")
    cards = [card for card in table("organs")["organ"] if organs(card["names"][0])]
    seen: set[tuple[str, str]] = set()
    draws, weights = zip(*_DRAWS, strict=True)
    while len(seen) < count:
        label = LABELS[len(seen) % len(LABELS)]
        drawn = _drawn(chance.choices(draws, weights)[0], cards, chance, label)
        if drawn is None:
            continue
        premise = styled(with_company(drawn[0], chance), chance)
        pair = premise, styled(drawn[1], chance)
        if pair not in seen:
            seen.add(pair)
            yield (*pair, drawn[2], drawn[3])


def _drawn(
    draw: Draw, cards: list[dict[str, Any]], chance: random.Random, label: Label
) -> Drawn | None:
    """A pair; a draw that often gives none is repeated, so that it is not underrepresented."""
    for _ in range(_REPEATS):
        if drawn := draw(_words(cards, chance), label):
            return drawn
    return None


def _words(cards: list[dict[str, Any]], chance: random.Random) -> Words:
    organ, elsewhere = chance.sample(cards, 2)
    entity, other = chance.sample(organ["entity"], 2)
    side = chance.choice(["left", "right"]) if organ.get("side") else ""
    return Words(organ, entity, other, elsewhere, side, chance)


def with_company(premise: str, chance: random.Random) -> str:
    """A premise, at times with a sentence before or after it that says nothing on it."""
    if chance.random() > _COMPANY:
        return premise
    parts = [premise]
    for _ in range(chance.choice([1, 1, 2])):
        parts.insert(
            chance.randint(0, len(parts)), chance.choice(organ_frames()["style"]["filler"])
        )
    return ". ".join(part[:1].upper() + part[1:] for part in parts)


def styled(text: str, chance: random.Random) -> str:
    """A sentence or a phrase, at times as Americans spell it."""
    text = text.replace("  ", " ").strip().replace("a an ", "an ").replace("a a ", "a ")
    if chance.random() < _AMERICAN:
        for ours, theirs in table("frames")["style"]["american"]:
            text = text.replace(ours, theirs).replace(ours.capitalize(), theirs.capitalize())
    if chance.random() < _LOW_ENDS:
        return text
    return text[:1].upper() + text[1:].rstrip(".") + "."
