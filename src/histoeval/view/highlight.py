"""Stretches of a text that are marked and numbered: in colours, or in brackets without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.style import Style
from rich.text import Text

from histoeval.concordance.evidence import Severity
from histoeval.report import Report
from histoeval.view.terminal.entities import bracketed

MATCH = Style(bgcolor="#56b4e9", color="#000000")
SEVERITIES = {
    Severity.MINOR: Style(bgcolor="#f0e442", color="#000000", underline=True),
    Severity.MODERATE: Style(bgcolor="#e69f00", color="#000000", underline=True),
    Severity.MAJOR: Style(bgcolor="#d55e00", color="#000000", underline=True, bold=True),
    Severity.CRITICAL: Style(bgcolor="#882255", color="#ffffff", underline2=True, bold=True),
}
"""The worse, the darker, so that the order is seen by every eye; matches are the only blue."""


class HighlightSpan(NamedTuple):
    """A stretch of a text with the numbers of what is listed about it, and its style."""

    start: int
    end: int
    label: str
    style: Style


def coloured(text: str, spans: Sequence[HighlightSpan]) -> Text:
    """The text with every span in its style and numbers behind it; the inner one is seen."""
    shown = Text()
    for piece, over, _, ending in _pieces(text, spans):
        inner = min(over, key=lambda span: span.end - span.start, default=None)
        shown.append(_visible(piece), Style() if inner is None else inner.style)
        for span in ending:
            shown.append(f"({span.label})", span.style)
    return shown


def in_brackets(text: str, spans: Sequence[HighlightSpan]) -> Text:
    """The text with every span as ``[text](numbers)``."""
    shown = Text()
    for piece, _, starting, ending in _pieces(text, spans):
        shown.append("[" * len(starting) + _visible(piece))
        shown.append("".join(f"]({span.label})" for span in ending))
    return shown


def _pieces(
    text: str, spans: Sequence[HighlightSpan]
) -> Iterator[tuple[str, list[HighlightSpan], list[HighlightSpan], list[HighlightSpan]]]:
    """The text cut at every border: the spans over each piece, and those that begin or end."""
    spans = sorted(spans, key=lambda span: span.start - span.end)
    borders = {at for span in spans for at in (span.start, span.end)}
    for start, end in pairwise(sorted({0, len(text), *borders})):
        over = [span for span in spans if span.start <= start and end <= span.end]
        starting = [span for span in over if span.start == start]
        ending = [span for span in reversed(over) if span.end == end]
        yield text[start:end], over, starting, ending


def one_line(text: str) -> str:
    """The text on one line, with nothing in it that could command a terminal."""
    return " ".join(_visible(text).split())


def _visible(text: str) -> str:
    """The text with a picture in place of each character that could command a terminal."""
    return bracketed(Report(text=text)).plain
