"""What an image says of a report and of each of its claims, in words for page and terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from histoeval.pathgls.results import Grounding, GroundingVerdict, OrganSeen, Spot, Support

NO_VERDICT = "no verdict"
"""Of an encoder that was never validated."""

_WORDS: Mapping[GroundingVerdict | None, str] = {
    "supported": "supported",
    "contradicted": "contradicted",
    "not_known": "not known",
    None: NO_VERDICT,
}


_COSINE = re.compile(r" \(-?[01]\.\d+\)")


class ClaimEvidence(NamedTuple):
    """A claim as people check it: what the image says, why, where, and against which decoy."""

    support: Support
    patches: int
    """Those that were looked at by the encoder whose opinion this is."""

    @property
    def verdict(self) -> str:
        """In plain words."""
        out_of_scope = self.support.unknown is not None
        return _WORDS["not_known" if out_of_scope else self.support.verdict]

    @property
    def why(self) -> str:
        """The reason; for an encoder without a verdict, that it was never validated."""
        if self.support.unknown is not None:
            return self.support.unknown
        return self.support.why or "the encoder was never validated"

    @property
    def agreeing(self) -> str:
        """How many patches agree; empty where nobody counted."""
        count = self.support.agreeing
        return "" if count is None else f"{count:,} of {self.patches:,}"

    @property
    def decoy(self) -> str:
        """The claim of another organ or disease that the image supports most; empty: none."""
        return self.support.decoy or ""

    @property
    def against(self) -> Spot | None:
        """The place with least support, where it is another than the best."""
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


def without_cosines(text: str) -> str:
    """A reason without the numbers that earlier versions wrote behind phrases."""
    return _COSINE.sub("", text)


def grounding_of(evidence: Mapping[str, Any]) -> Grounding | None:
    """The grounding in the evidence of a row, if there is any."""
    found = evidence.get("grounding")
    return None if found is None else Grounding.model_validate(found)


def claims_seen(grounding: Grounding) -> list[ClaimEvidence]:
    """Every claim that the report asserts, in the order of its text."""
    return [
        ClaimEvidence(support, _patches(grounding, place))
        for place, support in enumerate(grounding.supports)
    ]


def verdict_words(grounding: Grounding) -> str:
    """What the image says of the report as a whole."""
    return _WORDS[grounding.verdict]


def organ_words(organ: OrganSeen | None) -> str:
    """The organ that the image looks like; empty where nobody looked for it."""
    return "" if organ is None else f"{organ.likeliest} ({organ.share:.0%} of patches)"


def organ_lines(grounding: Grounding) -> Iterator[str]:
    """The organ seen, those that the report may mean, and what each encoder of a panel found."""
    if (organ := grounding.organ) is not None:
        fitting = ", ".join(organ.claimed) or "none that the encoder can tell"
        yield f"organ seen: {organ_words(organ)}; organs that fit the report: {fitting}"
    for member in grounding.members:
        seen = f"; organ seen: {organ_words(member.organ)}" if member.organ else ""
        why = f", {member.why}" if member.why else ""
        yield f"{_encoder(member)}: {verdict_words(member)}{why}{seen}"


def _patches(grounding: Grounding, place: int) -> int:
    """How many patches the encoder saw whose opinion on a claim counts."""
    value = grounding.supports[place].value
    deciding = (each for each in grounding.members if each.supports[place].value == value)
    return next(deciding, grounding).patches


def _encoder(grounding: Grounding) -> str:
    """The name of an encoder, as signatures hold it."""
    return grounding.signature.split("|")[1].partition("@")[0]
