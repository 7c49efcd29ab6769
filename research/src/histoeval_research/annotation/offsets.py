"""Places in a text, as Python counts them and as others do.

Python counts characters. Java and JavaScript count units of UTF-16, of which an emoji and other
characters beyond U+FFFF take two, so that everything behind one of them is shifted.
"""

from bisect import bisect_left

from histoeval_research.annotation.names import RefusedPassage


class Utf16:
    """The places of one text, counted in units of UTF-16."""

    def __init__(self, text: str) -> None:
        self._wide = [place for place, character in enumerate(text) if ord(character) > 0xFFFF]
        self._units = [place + before for before, place in enumerate(self._wide)]

    def character(self, unit: int) -> int:
        """The character at a unit; the second half of a character is no place at all."""
        before = bisect_left(self._units, unit)
        if before and self._units[before - 1] == unit - 1:
            raise RefusedPassage("broken_offsets", f"offset {unit} is in the middle of a character")
        return unit - before

    def unit(self, character: int) -> int:
        """The unit at which a character begins."""
        return character + bisect_left(self._wide, character)


def place_of(text: str, start: int, end: int, covered: str | None) -> tuple[int, int]:
    """Where a span is, in characters, by its offsets and by the text that the file has there.

    Label Studio has counted characters since 2022 and units of UTF-16 before; programs that
    write brat's format do either. Where both counts differ, what stands there decides.
    """
    if covered is None or _alike(text[start:end], covered):
        return start, end
    if not text.isascii() and not min(start, end) < 0:
        units = Utf16(text)
        start, end = units.character(start), units.character(end)
        if _alike(text[start:end], covered):
            return start, end
    raise RefusedPassage(
        "broken_offsets",
        f"{covered!r} does not stand at {start}:{end}, where the text has {text[start:end]!r}",
    )


def _alike(one: str, other: str) -> bool:
    """Whether two texts are the same but for white space, which tools fold or escape."""
    return one == other or _folded(one) == _folded(other)


def _folded(text: str) -> str:
    return " ".join(text.replace("\\n", " ").split())
