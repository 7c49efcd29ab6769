"""A page as a browser sees it: elements closed in order, what is shown, and what is linked."""

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "input", "link"}  # elements that are never closed


class HtmlPage(HTMLParser):
    """Fails where elements are not closed in order; keeps elements, and texts with theirs."""

    def __init__(self, text: str, *, whole: bool = True) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, dict[str, str], str]] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self.feed(text)
        self.close()
        assert not whole or not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.tags.append((tag, attributes))
        if tag not in VOID:
            self._open.append((tag, attributes))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tag, attributes = self._open[-1] if self._open else ("", {})
        self.texts.append((tag, attributes, data))

    def values(self, name: str) -> list[str]:
        """The values of an attribute, in the order of the page."""
        return [attributes[name] for _, attributes in self.tags if name in attributes]
