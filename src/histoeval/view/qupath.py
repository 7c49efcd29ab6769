"""The evidence on a slide as GeoJSON that QuPath reads: File > Import objects from file.

Patches are tiles with a measurement for each claim, for QuPath's measurement maps. For each claim
the best tile for it, and the one against it, are annotations. Coordinates are pixels of the finest
level, from the upper left corner.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from histoeval.pathgls.results import Grounding, Spot
from histoeval.run.trust.patch_scores import UNIT, PatchScores
from histoeval.view.image_evidence import ClaimEvidence, claims_seen

COLOURS: Mapping[str, tuple[int, int, int]] = {
    "supported": (0, 114, 178),
    "contradicted": (213, 94, 0),
    "not known": (110, 110, 110),
    "no verdict": (110, 110, 110),
}
"""By verdict; told apart without red-green vision."""

AGAINST = "tile against a claim"
_AGAINST_COLOUR = (230, 159, 0)


def objects(
    case: str, grounding: Grounding | None, scores: PatchScores | None
) -> list[dict[str, Any]]:
    """The objects of one case: annotations of its claims, then the tiles."""
    claims = () if grounding is None else claims_seen(grounding)
    phrases = [claim.support.claim.phrase for claim in claims]
    return [
        *(each for number, claim in enumerate(claims) for each in _places(case, number, claim)),
        *(() if scores is None else _tiles(case, scores, phrases)),
    ]


def geojson(found: Sequence[Mapping[str, Any]]) -> str:
    """Objects as a FeatureCollection, the same text for the same evidence."""
    content = {"type": "FeatureCollection", "features": found}
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _places(case: str, number: int, claim: ClaimEvidence) -> Iterator[dict[str, Any]]:
    """The best tile for a claim, and the one against it."""
    phrase, verdict = claim.support.claim.phrase, claim.verdict
    facts = {"report": claim.support.claim.span.text, "verdict": verdict, "reason": claim.why}
    value = claim.support.value
    measured = {} if value is None else {"support (0 to 1)": round(value, 4)}
    for kind, spot, class_, colour in (
        ("best tile for it", claim.support.spot, f"claim {verdict}", COLOURS[verdict]),
        ("best tile against it", claim.against, AGAINST, _AGAINST_COLOUR),
    ):
        if spot is not None:
            yield _feature(
                f"{case}/{number}/{kind}",
                spot,
                objectType="annotation",
                name=f"{_numbered(number, phrase)}: {kind}",
                classification={"name": class_, "color": list(colour)},
                measurements=measured if spot is claim.support.spot else {},
                metadata=facts,
                isLocked=True,
            )


def _tiles(case: str, scores: PatchScores, phrases: list[str]) -> Iterator[dict[str, Any]]:
    """Every patch, with its cosine for each claim that was looked for."""
    looked_for = [
        (_numbered(number, phrases[number]), row)
        for number, row in zip(scores.claims.tolist(), scores.cosines.tolist(), strict=False)
        if 0 <= number < len(phrases)
    ]
    for place, (x, y, width, height) in enumerate(scores.spots.tolist()):
        yield _feature(
            f"{case}/tile/{place}",
            Spot(x=x, y=y, width=width, height=height),
            objectType="tile",
            measurements={name: row[place] / UNIT for name, row in looked_for},
        )


def _numbered(number: int, phrase: str) -> str:
    return f"claim {number + 1}, {phrase}"


def _feature(key: str, spot: Spot, **properties: Any) -> dict[str, Any]:
    left, top, right, bottom = spot.x, spot.y, spot.x + spot.width, spot.y + spot.height
    ring = [[left, top], [right, top], [right, bottom], [left, bottom], [left, top]]
    return {
        "type": "Feature",
        "id": str(uuid5(NAMESPACE_URL, f"histoeval:{key}")),
        "geometry": {"type": "Polygon", "coordinates": [ring]},
        "properties": properties,
    }
