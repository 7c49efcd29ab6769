"""Safe output to a terminal: text and our own colours, and no control character from outside.

A report, a file name or the message of a server may hold escape sequences that repaint the screen,
and bidirectional controls that reorder it. `Console` shows a symbol in place of each one, and
`guarded` does the same with everything else that is printed.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any, TextIO, cast

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

_BIDIRECTIONAL = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
# a symbol for each character that would steer a terminal, line ends and tabs among them
VISIBLE: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(0x20)},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), "\N{REPLACEMENT CHARACTER}"),
    **{code: f"<U+{code:04X}>" for code in _BIDIRECTIONAL},
}
_SHOWN = VISIBLE | {ord("\n"): "\n", ord("\t"): "\t"}
# what progress bars of other libraries begin with: back to the start of the line, or up
_BAR_MOVES = re.compile(r"(\r|(?:\x1b\[A)+$)?")


def visible(text: str) -> str:
    """Replace each control character but line ends and tabs by a symbol."""
    return text.translate(_SHOWN)


class Console(RichConsole):
    """A console whose texts cannot steer the terminal, whatever they hold."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


class VisibleStream:
    """A text stream that writes symbols in place of control characters.

    A console of rich writes to `rich_proxied_file`, and so keeps its colours. There is no
    `buffer` to write around it.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        start = cast(re.Match[str], _BAR_MOVES.match(text)).end()
        self.rich_proxied_file.write(text[:start] + visible(text[start:]))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.rich_proxied_file, name)


@contextmanager
def guarded() -> Iterator[None]:
    """Make printed control characters visible while the context is open; printing never fails."""
    streams = sys.stdout, sys.stderr
    for stream in streams:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = (cast(TextIO, VisibleStream(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
