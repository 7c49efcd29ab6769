"""Highlighted text: spans are cut into pieces once, and rendered by rich or as HTML."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup, escape
from rich.console import Console
from rich.style import Style
from rich.text import Text

from histoeval.console import VISIBLE

# with sixteen colours some styles would look alike, or be illegible
ENOUGH_COLOURS = {"256", "truecolor"}
# control characters can do anything to a terminal: a symbol of each is shown instead
_VISIBLE = VISIBLE | {ord("\n"): "\n", ord("\t"): "\t", ord("\r"): "", ord("\f"): "\n"}


class HighlightSpan(NamedTuple):
    """A span of a text: its label, its style (rich) or kind (HTML), and marks around it.

    A kind is a CSS class of `<mark>`, or one of the elements `del` and `ins` with their classes.
    Spans that share a key in `mark` (keys are separated by blanks) light up together on a page;
    where such spans overlap, the page shows the one of the highest rank, then the longest.
    """

    start: int
    end: int
    label: str = ""
    style: Style = Style()
    kind: str = ""
    before: str = ""
    after: str = ""
    mark: str = ""
    rank: int = 0


class Piece(NamedTuple):
    """Text between two borders of spans: the spans over it, and those that start or end here."""

    text: str
    over: tuple[HighlightSpan, ...]
    starting: tuple[HighlightSpan, ...]
    ending: tuple[HighlightSpan, ...]


def pieces(text: str, spans: Iterable[HighlightSpan]) -> Iterator[Piece]:
    starts: dict[int, list[HighlightSpan]] = {}
    for span in sorted(spans, key=lambda span: -span.end):
        if span.start < min(span.end, len(text)):
            starts.setdefault(span.start, []).append(span)
    ends = {min(span.end, len(text)) for group in starts.values() for span in group}
    over: list[HighlightSpan] = []
    for start, end in pairwise(sorted({0, len(text), *starts, *ends})):
        starting = starts.get(start, [])
        if not starting and not over:
            yield Piece(text[start:end], (), (), ())
            continue
        over += starting
        ending = [span for span in reversed(over) if span.end == end]
        yield Piece(text[start:end], tuple(over), tuple(starting), tuple(ending))
        over = [span for span in over if span.end > end]


def coloured(text: str, spans: Iterable[HighlightSpan]) -> Text:
    """Render each span in its style with its label behind it; inner spans are on top."""
    shown = Text()
    for piece in pieces(text, spans):
        inner = min(piece.over, key=lambda span: span.end - span.start, default=None)
        for span in piece.starting:
            shown.append(span.before, span.style)
        shown.append(legible(piece.text), Style() if inner is None else inner.style)
        for span in piece.ending:
            label = f"({span.label})" if span.label else ""
            shown.append(f"{span.after}{label}", span.style)
    return shown


def in_brackets(text: str, spans: Iterable[HighlightSpan]) -> Text:
    """Render each span as ``[text](label)``, for outputs without colours."""
    shown = Text()
    for piece in pieces(text, spans):
        shown.append("".join(f"[{span.before}" for span in piece.starting))
        shown.append(legible(piece.text))
        shown.append("".join(f"{span.after}]({span.label})" for span in piece.ending))
    return shown


def html(text: str, spans: Iterable[HighlightSpan], anchor: str = "") -> Markup:
    """Render as HTML: each piece with the kinds of all spans over it, labels behind their spans.

    A label links to a list that has this anchor. The labels of a span with a `mark` are no links:
    each lights up with what has its key, and stands behind the whole mark.
    """
    shown: list[str] = []
    labelled: list[HighlightSpan] = []
    begun: set[HighlightSpan] = set()
    for piece in pieces(text, spans):
        if not piece.over:
            shown.append(escape(piece.text))
            continue
        # Of spans that light up, a piece is shown as one; it is `more` where that only goes on.
        marked = [span for span in piece.over if span.mark]
        first = max(marked, key=lambda span: (span.rank, span.end - span.start), default=None)
        over = piece.over if first is None else (first,)
        kinds = " ".join(dict.fromkeys(span.kind for span in over if span.kind))
        tag, _, rest = kinds.partition(" ")
        if tag in ("del", "ins"):
            kinds = rest
        else:
            tag, kinds = "mark", f"{kinds} more" if first in begun else kinds
        css = f' class="{escape(kinds)}"' if kinds else ""
        keys = _attribute(tuple(span.mark for span in piece.over))
        shown.append(f"<{tag}{css}{keys}>{escape(piece.text)}</{tag}>")
        labelled += [span for span in reversed(piece.ending) if span.label]
        if first is None or first in piece.ending:
            shown += [_label(span, anchor) for span in labelled]
            labelled = []
        begun |= {first} if first else set()
    return Markup("".join(shown))


def _label(span: HighlightSpan, anchor: str) -> str:
    if not span.mark:
        address = escape(f"#{anchor}-{span.label}")
        return f'<sup><a href="{address}">{escape(span.label)}</a></sup>'
    labels, keys = span.label.split(), span.mark.split()
    if len(labels) != len(keys):
        labels, keys = [span.label], [span.mark]
    return "".join(
        f'<sup class="{"matched" if label.startswith("=") else escape(span.kind)}"'
        f"{_attribute((key,))}>{escape(label)}</sup>"
        for label, key in zip(labels, keys, strict=True)
    )


@lru_cache(maxsize=1 << 12)
def _attribute(marks: tuple[str, ...]) -> str:
    """Return the attribute that marks pieces that belong together."""
    keys = " ".join(dict.fromkeys(key for mark in marks for key in mark.split()))
    return f' data-mark="{escape(keys)}"' if keys else ""


def has_colours(console: Console) -> bool:
    return console.color_system in ENOUGH_COLOURS and not console.no_color


def one_line(text: str) -> str:
    """Put the text on one line, without control characters."""
    return " ".join(legible(text).split())


def legible(text: str) -> str:
    """Normalise line ends of a report and replace each control character by a symbol."""
    return text if text.isprintable() else text.translate(_VISIBLE)
