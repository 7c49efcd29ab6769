"""Specimens of two reports that both tell of them in sentences."""

from dataclasses import replace
from functools import lru_cache

from histoeval.concordance.specimens.matching import (
    MatchedSpecimens,
    SpecimenPair,
    sides_in_prose,
)
from histoeval.facts.specimens.told import told_parts


@lru_cache(maxsize=512)
def match_told(reference: str, candidate: str) -> MatchedSpecimens | None:
    """What two reports in prose say of the places that the reference names; None for one place.

    Both are looked through in the same way, so that a sentence taken for another specimen than it
    is of is taken so in both. A place counts where both plainly speak of it.
    """
    places = told_parts(reference)
    if not places:
        return None
    sides = [sides_in_prose(places, reference, text)[0] for text in (reference, candidate)]
    pairs = tuple(
        SpecimenPair(replace(here, heading=place.heading), there)
        for place, here, there in zip(places, *sides, strict=True)
        if here.sure and there.sure
    )
    return MatchedSpecimens(pairs, divided=True) if len(pairs) > 1 else None
