"""What two reports say of each specimen, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from histoeval.concordance.specimens.content import Content, content_of
from histoeval.concordance.specimens.matching import MatchedSpecimens, SpecimenSide
from histoeval.facts.facts import Facts, facts_of
from histoeval.facts.specimens.text import Stretch, only
from histoeval.report import Report


@dataclass(frozen=True, slots=True)
class Sides:
    """What both reports say of each specimen: all that may be of it, and what surely is."""

    matched: MatchedSpecimens
    reference: Sequence[Content]
    candidate: Sequence[Content]
    reference_sure: Sequence[Content]
    candidate_sure: Sequence[Content]

    @property
    def clear(self) -> list[int]:
        """The specimens of which both reports plainly say something."""
        return [
            i
            for i, (here, there) in enumerate(
                zip(self.reference_sure, self.candidate_sure, strict=True)
            )
            if here.said and there.said
        ]


def sides_of(reference: Facts, candidate: Facts, matched: MatchedSpecimens) -> Sides:
    """What both reports say of the specimens that were matched."""
    here = [pair.reference for pair in matched.pairs]
    there = [pair.candidate for pair in matched.pairs]
    return Sides(
        matched,
        [_content(reference, each, each.stretches) for each in here],
        [_content(candidate, each, each.stretches) for each in there],
        [_content(reference, each, each.sure) for each in here],
        [_content(candidate, each, each.sure) for each in there],
    )


def _content(facts: Facts, side: SpecimenSide, stretches: tuple[Stretch, ...]) -> Content:
    return _content_under(side.heading, facts.report, stretches)


@lru_cache(maxsize=1 << 10)
def _content_under(heading: str, report: Report, stretches: tuple[Stretch, ...]) -> Content:
    return content_of(said_in(report, stretches), heading)


@lru_cache(maxsize=1 << 10)
def said_in(report: Report, stretches: tuple[Stretch, ...]) -> Facts:
    """What a report says in some stretches."""
    return facts_of(only(report, stretches))
