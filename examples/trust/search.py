"""Search a recipe of paint.py that the shipped encoder takes for an organ, and for a diagnosis.

Needed again when the encoder changes, and the demo's verdicts with it::

    python examples/trust/search.py liver --claim "hepatocellular carcinoma"

It begins with the recipe of that organ where there is one, keeps the best eight recipes that it has
seen, mixes and shifts them, and prints the best. The recipes that are kept were found like this,
with "hepatocellular carcinoma" and "colon adenocarcinoma" as claims, by an earlier form of this
script with more to choose from (glands, which neither of them came to use).
"""

from __future__ import annotations

import argparse
import io
import sys

import numpy as np
from numpy.typing import NDArray
from paint import RECIPES, Recipe, paint
from PIL import Image

from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval.pathgls.grounding.decisions import Decisions, organ_scores
from histoeval.pathgls.grounding.embedded_image import cut
from histoeval.pathgls.grounding.verdicts import malignancy, malignancy_of_patches
from histoeval.pathgls.results import Spot

RANGES = {
    "eosin": (0.1, 0.9),
    "haze": (0.0, 0.4),
    "mottle": (0.1, 0.9),
    "fibres": (0.0, 0.9),
    "fibre_length": (4.0, 25.0),
    "cell": (9.0, 45.0),
    "membrane": (-0.2, 0.5),
    "nucleus": (2.5, 9.0),
    "dark": (0.3, 1.2),
    "odd": (0.05, 0.5),
    "clefts": (0.0, 0.45),
    "cleft_grain": (8.0, 90.0),
    "loose": (0.0, 0.8),
    "lymphocytes": (0.0, 300.0),
    "strength": (0.8, 2.2),
    "blur": (0.4, 1.6),
}
"""Between which numbers each part of a recipe is searched."""

LOW, HIGH = np.array(list(RANGES.values())).T
KEPT = 8
CLAIM_WEIGHT = 0.7
ROOM = 0.07
"""How far within the encoder's scope a picture should lie."""

Numbers = NDArray[np.float64]


def quality(
    recipe: Recipe,
    organ: str,
    encoder: BuiltinEncoder,
    decisions: Decisions,
    claim: str | None = None,
) -> float:
    """How far the organ stands above others, less what brings the picture out of scope.

    With a malignant diagnosis as a claim, its best cosine counts as well, and, where the encoder
    tells benign from malignant in the organ, that the picture looks malignant.
    """
    written = io.BytesIO()
    paint(recipe).save(written, "JPEG", quality=76)
    with Image.open(written) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    whole = Spot(x=0, y=0, width=pixels.shape[1], height=pixels.shape[0])
    vectors = encoder.images([patch.pixels for patch in cut(pixels, whole, encoder.size)])
    scopes, limits = encoder.image_scope(vectors), encoder.manifest.scope
    far = max(scope.distance for scope in scopes) - limits.image.threshold + ROOM
    stain = max(scope.stain for scope in scopes) - limits.stain.threshold + ROOM
    organs = organ_scores(vectors, encoder, decisions.organs, decisions.handicaps)
    margin = organs.margin([organ]).less
    shown = CLAIM_WEIGHT * float((vectors @ encoder.texts([claim]).T).max()) if claim else 0.0
    if claim and (limits_of_organ := decisions.behaviour_limits(len(vectors)).get(organ)):
        looks = malignancy(malignancy_of_patches(vectors, encoder, organ))
        shown -= 2 * max(0.0, limits_of_organ.malignant.supported + ROOM - looks)
    return margin + shown - 2 * max(0.0, far) - 2 * max(0.0, stain)


def recipe_of(seed: int, numbers: Numbers) -> Recipe:
    """The recipe of numbers between 0 and 1."""
    scaled = LOW + (HIGH - LOW) * numbers
    return Recipe(seed, **{k: round(float(n), 3) for k, n in zip(RANGES, scaled, strict=True)})


def begin(organ: str, random: np.random.Generator) -> list[Numbers]:
    """What is painted of that organ already, and recipes at random."""
    first = [random.random(len(RANGES)) for _ in range(2 * KEPT)]
    if organ not in RECIPES:
        return first
    kept = np.array([getattr(RECIPES[organ], name) for name in RANGES])
    return [((kept - LOW) / (HIGH - LOW)).clip(0, 1), *first]


def search(organ: str, seed: int, rounds: int, claim: str | None = None) -> tuple[float, Recipe]:
    """The best recipe of so many that were tried."""
    encoder, random = BuiltinEncoder(), np.random.default_rng(seed)
    decisions = encoder.decisions
    if decisions is None or organ not in decisions.organs:
        raise SystemExit(f"the encoder does not decide on {organ}; see organs in its manifest")

    def tried(numbers: Numbers) -> tuple[float, Numbers]:
        return quality(recipe_of(seed, numbers), organ, encoder, decisions, claim), numbers

    best = sorted(map(tried, begin(organ, random)), key=lambda each: -each[0])[:KEPT]
    for _ in range(rounds):
        one, other = (best[int(n)][1] for n in random.integers(len(best), size=2))
        mixed = np.where(random.random(len(RANGES)) < 0.7, one, other)
        shift = 0.12 * random.standard_normal(len(RANGES)) * (random.random(len(RANGES)) < 0.4)
        best.append(tried((mixed + shift).clip(0, 1)))
        best = sorted(best, key=lambda each: -each[0])[:KEPT]
    return best[0][0], recipe_of(seed, best[0][1])


def main() -> None:
    """Search, and print what was found."""
    parser = argparse.ArgumentParser(description="Search a recipe that the encoder recognises.")
    parser.add_argument("organ")
    parser.add_argument("--claim", help="a diagnosis that the picture should support as well")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=60)
    given = parser.parse_args()
    reached, recipe = search(given.organ, given.seed, given.rounds, given.claim)
    sys.stdout.write(f"{reached:.2f} {recipe}\n")


if __name__ == "__main__":
    main()
