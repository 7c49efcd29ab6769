"""Image evidence for a report and its claims: in words, and as GeoJSON for QuPath."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from histoeval.pathgls.results import Grounding, GroundingVerdict, OrganSeen, Spot, Support
from histoeval.run.trust.rows import UNIT, PatchScores

_WORDS: Mapping[GroundingVerdict | None, str] = {
    "supported": "supported",
    "contradicted": "contradicted",
    "not_known": "not known",
    None: "no verdict",  # of an encoder that was never validated
}

# the class of a mark and of a verdict on a page, by its words; all others are unknown
KINDS = {"supported": "supported", "contradicted": "refuted"}
# by verdict; told apart without red-green vision
COLOURS: Mapping[str, tuple[int, int, int]] = {
    "supported": (0, 114, 178),
    "contradicted": (213, 94, 0),
    "not known": (110, 110, 110),
    "no verdict": (110, 110, 110),
}
AGAINST = "tile against a claim"

_AGAINST_COLOUR = (230, 159, 0)


class ClaimEvidence(NamedTuple):
    support: Support
    patches: int  # those that were looked at by the encoder whose opinion this is

    @property
    def verdict(self) -> str:
        return _WORDS["not_known" if self.support.unknown is not None else self.support.verdict]

    @property
    def kind(self) -> str:
        return KINDS.get(self.verdict, "unknown")

    @property
    def why(self) -> str:
        """The reason; for an encoder without a verdict, that it was never validated."""
        return self.support.unknown or self.support.why or "the encoder was never validated"

    @property
    def agreeing(self) -> str:
        count = self.support.agreeing
        return "" if count is None else f"{count:,} of {self.patches:,}"

    @property
    def decoy(self) -> str:
        return self.support.decoy or ""

    @property
    def against(self) -> Spot | None:
        return None if self.support.against == self.support.spot else self.support.against

    def details(self) -> Iterator[str]:
        """Agreement, the nearest decoy, the value and the two places."""
        if self.agreeing:
            yield f"patches that agree: {self.agreeing}"
        if self.decoy:
            yield f"nearest decoy: {self.decoy}"
        if self.support.value is not None:
            yield f"calibrated value: {self.support.value:.2f}"
        for name, spot in (("for", self.support.spot), ("against", self.against)):
            if spot is not None:
                yield f"best tile {name} it: x {spot.x:,}, y {spot.y:,}"


def grounding_of(evidence: Mapping[str, Any]) -> Grounding | None:
    grounding = evidence.get("grounding")
    return None if grounding is None else Grounding.model_validate(grounding)


def claims_seen(grounding: Grounding | None) -> list[ClaimEvidence]:
    """Return asserted claims in the order of the text, with patches of the deciding encoder."""
    if grounding is None:
        return []
    seen = []
    for index, support in enumerate(grounding.supports):
        members = grounding.members
        deciding = (member for member in members if member.supports[index].value == support.value)
        seen.append(ClaimEvidence(support, next(deciding, grounding).patches))
    return seen


def verdict_words(grounding: Grounding) -> str:
    return _WORDS[grounding.verdict]


def organ_words(organ: OrganSeen | None) -> str:
    """Name the organ that the image looks like; empty if it was not examined."""
    return "" if organ is None else f"{organ.likeliest} ({organ.share:.0%} of patches)"


def organ_lines(grounding: Grounding) -> Iterator[str]:
    if (organ := grounding.organ) is not None:
        fitting = ", ".join(organ.claimed) or "none that the encoder can tell"
        yield f"organ seen: {organ_words(organ)}; organs that fit the report: {fitting}"
    for member in grounding.members:
        seen = f"; organ seen: {organ_words(member.organ)}" if member.organ else ""
        why = f", {member.why}" if member.why else ""
        encoder = member.signature.split("|")[1].partition("@")[0]
        yield f"{encoder}: {verdict_words(member)}{why}{seen}"


def objects(
    case: str, grounding: Grounding | None, scores: PatchScores | None
) -> list[dict[str, Any]]:
    claims = claims_seen(grounding)
    names = [f"claim {n}, {claim.support.claim.phrase}" for n, claim in enumerate(claims, start=1)]
    places = [
        feature
        for number, (name, claim) in enumerate(zip(names, claims, strict=True))
        for feature in _places(f"{case}/{number}", name, claim)
    ]
    return [*places, *(() if scores is None else _tiles(case, scores, names))]


def geojson(features: Sequence[Mapping[str, Any]]) -> str:
    content = {"type": "FeatureCollection", "features": features}
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _places(key: str, name: str, claim: ClaimEvidence) -> Iterator[dict[str, Any]]:
    verdict, value = claim.verdict, claim.support.value
    measured = {} if value is None else {"support (0 to 1)": round(value, 4)}
    for kind, spot, class_, colour in (
        ("best tile for it", claim.support.spot, f"claim {verdict}", COLOURS[verdict]),
        ("best tile against it", claim.against, AGAINST, _AGAINST_COLOUR),
    ):
        if spot is not None:
            yield _feature(
                f"{key}/{kind}",
                (spot.x, spot.y, spot.width, spot.height),
                objectType="annotation",
                name=f"{name}: {kind}",
                classification={"name": class_, "color": list(colour)},
                measurements=measured if spot is claim.support.spot else {},
                metadata={
                    "report": claim.support.claim.span.text,
                    "verdict": verdict,
                    "reason": claim.why,
                },
                isLocked=True,
            )


def _tiles(case: str, scores: PatchScores, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    looked_for = [
        (names[number], row)
        for number, row in zip(scores.claims.tolist(), scores.cosines.tolist(), strict=False)
        if 0 <= number < len(names)
    ]
    for index, spot in enumerate(scores.spots.tolist()):
        yield _feature(
            f"{case}/tile/{index}",
            spot,
            objectType="tile",
            measurements={name: row[index] / UNIT for name, row in looked_for},
        )


def _feature(key: str, spot: Sequence[int], **properties: Any) -> dict[str, Any]:
    left, top, width, height = spot
    right, bottom = left + width, top + height
    ring = [[left, top], [right, top], [right, bottom], [left, bottom], [left, top]]
    return {
        "type": "Feature",
        "id": str(uuid5(NAMESPACE_URL, f"histoeval:{key}")),
        "geometry": {"type": "Polygon", "coordinates": [ring]},
        "properties": properties,
    }
