"""Rule: a figure that does not go with the word or the sum beside it, also in one sentence."""

import re
from collections.abc import Iterator

from histoeval.pathgls.logic.contradiction import clash
from histoeval.pathgls.logic.sentences import ReportMention
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction
from histoeval.terms.values.marker_results import Result

_CALLED = re.compile(
    r"(?P<word>positive|negative)[\s,:]{0,3}\(?\s?(?:IHC |score |in )?"
    r"(?P<figure>(?P<score>[0-3])(?:\s?\+(?!\s?\d)|(?=\)))|(?P<share>\d{1,3})\s?%)",
    re.IGNORECASE,
)
"""A result in a word, and the figure behind it."""
_SUM = re.compile(r"(?P<terms>(?P<one>[1-5])\s?\+\s?(?P<other>[1-5]))\s?=\s?(?P<sum>\d{1,2})\b")
_HER2 = "HER2"
_STRONG, _WEAK = 3, 1
"""From and up to this score HER2 is positive and negative, whatever the gene."""
_SEVERAL = 10
"""From this share of cells on no marker is negative."""


def figures(specimen: Specimen) -> Iterator[Contradiction]:
    """Negative (3+), positive (0 %), 3+4=8."""
    for marker in specimen.markers:
        yield from _called(marker)
    for passage in specimen.passages:
        for found in _SUM.finditer(passage.text) if "leason" in passage.text else ():
            if int(found["one"]) + int(found["other"]) != int(found["sum"]):
                one, other = passage.at(*found.span("terms")), passage.at(*found.span("sum"))
                yield clash("figures", one, other, f"{found['terms']} is not {found['sum']}")


def _called(marker: ReportMention[tuple[str, Result]]) -> Iterator[Contradiction]:
    """A marker that is called by another word than its figure gives it."""
    passage, name = marker.passage, marker.value[0]
    begin = marker.span.start - passage.start
    clause = re.split(r"[;.](?:\s|$)|,\s", passage.text[begin:])[0]
    found = _CALLED.search(clause)
    if found is None or passage.has("some_cells", "of_gene"):
        return
    if _is_at_odds(name, found):
        word, figure = (
            passage.at(begin + found.start(part), begin + found.end(part))
            for part in ("word", "figure")
        )
        yield clash("figures", word, figure, f"{name} is {word.span.text} by {figure.span.text}")


def _is_at_odds(marker: str, found: re.Match[str]) -> bool:
    positive = found["word"].lower() == "positive"
    if found["share"]:
        share = int(found["share"])
        return share == 0 if positive else share >= _SEVERAL
    if marker != _HER2:
        return False
    score = int(found["score"])
    return score <= _WEAK if positive else score >= _STRONG
