"""Contradictions that rules give: two places of a report that cannot both be right."""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, product
from typing import Protocol

from histoeval.pathgls.logic.sentences import ReportMention, Value
from histoeval.pathgls.results import Contradiction, ReportSpan


class Placed(Protocol):
    @property
    def span(self) -> ReportSpan: ...


def clash(rule: str, one: Placed, other: Placed, why: str) -> Contradiction:
    """Two places that cannot both be right, in the order of the text."""
    first, second = sorted((one.span, other.span), key=lambda span: (span.start, span.end))
    return Contradiction(
        first=first, second=second, probability=1.0, source=f"rule:{rule}", why=why
    )


def two_values(
    rule: str, mentions: Iterable[ReportMention[Value]], differ: Callable[[Value, Value], bool]
) -> Iterator[Contradiction]:
    """Two values, in two sentences, of what a tumour has only one of, by a rule of that name."""
    for first, second in combinations(mentions, 2):
        if first.passage != second.passage and differ(first.value, second.value):
            reason = f"{first.span.text} and {second.span.text} are two {rule}s of one tumour"
            yield clash(rule, first, second, reason)


def both_ways(
    mentions: Iterable[ReportMention[Value]], same: Callable[[Value, Value], bool]
) -> Iterator[tuple[ReportMention[Value], ReportMention[Value]]]:
    """Pair what is affirmed with each denial of the same in another sentence."""
    everything = list(mentions)
    affirmed = [mention for mention in everything if not mention.denied]
    denied = [mention for mention in everything if mention.denied]
    for yes, no in product(affirmed, denied):
        if yes.passage != no.passage and same(yes.value, no.value):
            yield yes, no
