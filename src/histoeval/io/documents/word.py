"""The text of a Word document (.docx): its body, paragraph by paragraph.

A .docx is a zip file with XML in it, and its text is in one place, so Python's own modules do: the
library for it would bring a compiled parser along. Deleted text, headers, footnotes and the numbers
that Word gives to the items of a list are not part of it.
"""

import io
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from histoeval.errors import reason_of
from histoeval.io.tables.row_faults import RECORD_LIMIT, Fault

BODY = "word/document.xml"
OLD_OFFICE = b"\xd0\xcf\x11\xe0"
"""How a file begins that is an old .doc, or a .docx with a password."""

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SIGNS = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}noBreakHyphen": "-"}
_ENDS = {f"{_WORD}p": "\n", f"{_WORD}tc": "\t", f"{_WORD}tr": "\n"}


def word_text(path: Path) -> str | Fault:
    """The text of a .docx, or why there is none."""
    if path.stat().st_size > RECORD_LIMIT:
        return Fault("long_text")
    content = _body(path)
    if isinstance(content, bytes) and len(content) > RECORD_LIMIT:
        return Fault("long_text")
    return content if isinstance(content, Fault) else _parsed(path, content)


def _body(path: Path) -> bytes | Fault:
    """The XML of the body, a little more than the limit at most."""
    raw = path.read_bytes()
    if raw.startswith(OLD_OFFICE):
        return Fault("locked_file", {"file": path.name})
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as packed, packed.open(BODY) as body:
            return body.read(RECORD_LIMIT + 1)
    except KeyError:
        return _damaged(path, f"there is no {BODY} in it")
    except Exception as error:  # noqa: BLE001 - damage raises whatever its place leads to
        return _damaged(path, reason_of(error))


def _parsed(path: Path, content: bytes) -> str | Fault:
    if b"<!DOCTYPE" in content:  # Word writes none, and entities can grow without bounds
        return _damaged(path, "it declares a document type")
    parts: list[str] = []
    skipped = 0
    try:
        for event, node in ElementTree.iterparse(io.BytesIO(content), ("start", "end")):
            if node.tag == _FALLBACK:
                skipped += 1 if event == "start" else -1
            elif event == "end":
                if not skipped:
                    parts.append(_written(node))
                node.clear()
    except ElementTree.ParseError as error:
        return _damaged(path, str(error))
    lines = "".join(parts).replace("\n\t", "\t").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _written(node: ElementTree.Element) -> str:
    if node.tag == f"{_WORD}t":
        return node.text or ""
    return _SIGNS.get(node.tag) or _ENDS.get(node.tag, "")


def _damaged(path: Path, reason: str) -> Fault:
    return Fault("damaged_file", {"file": path.name, "kind": "Word", "reason": reason})
