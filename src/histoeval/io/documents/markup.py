"""The text of a piece of HTML, as a reader would see it, for reports that are sent as such."""

from html.parser import HTMLParser

_BLOCKS = frozenset(
    "address article blockquote br dd div dl dt footer h1 h2 h3 h4 h5 h6 header hr li ol p pre "
    "section table tr ul".split()
)
_CELLS = frozenset({"td", "th"})
_HIDDEN = frozenset({"script", "style", "head", "title", "template"})


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = self._kept = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as HTMLParser
        self._hidden += tag in _HIDDEN
        self._kept += tag == "pre"
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_startendtag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as HTMLParser
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _HIDDEN))
        self._kept = max(0, self._kept - (tag == "pre"))
        self.parts.append("\n" if tag in _BLOCKS else "\t" if tag in _CELLS else "")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data if self._kept else data.replace("\n", " "))


def html_text(html: str) -> str:
    """The text without tags: blocks on lines of their own, spaces as a browser joins them."""
    parser = _Text()
    parser.feed(html)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return "\n".join(filter(None, lines))
