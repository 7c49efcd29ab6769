"""The text layer of a PDF, by pypdf, which is pure Python; extra [documents].

A page that is only a picture has no text layer: a PDF of such pages is a scan, and needs text
recognition (OCR) first.
"""

import io
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from histoeval.errors import MissingDependency, pip_install, reason_of
from histoeval.io.tables.row_faults import RECORD_LIMIT, Fault

MOST_PAGES = 500
"""Of one report; a PDF of more is a book, or made to keep readers busy."""


def demand_pypdf(name: str) -> None:
    """PDF can only be read where pypdf is installed."""
    try:
        import pypdf  # noqa: F401
    except ImportError as error:
        raise MissingDependency(
            f"pypdf is needed to read {name}: {pip_install('documents')}"
        ) from error


def pdf_file_text(path: Path) -> str | Fault:
    """The text layer of a file, or why there is none."""
    if path.stat().st_size > RECORD_LIMIT:
        return Fault("long_text")
    return pdf_text(path.read_bytes(), path.name)


def inner_pdf_text(content: bytes, name: str) -> str | Fault:
    """The text layer of a PDF inside a message; without pypdf only such messages are lost."""
    try:
        return pdf_text(content, name)
    except MissingDependency as error:
        return Fault("missing_package", {"reason": str(error)})


def pdf_text(content: bytes, name: str) -> str | Fault:
    """The text layer of a PDF, page after page, or why there is none."""
    demand_pypdf(name)
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    locked = Fault("locked_file", {"file": name})
    try:
        with _quiet():
            reader = PdfReader(io.BytesIO(content))
            if reader.is_encrypted and not reader.decrypt(""):
                return locked
            if len(reader.pages) > MOST_PAGES:
                return Fault("many_pages", {"file": name, "most": MOST_PAGES})
            return _text([page.extract_text for page in reader.pages], name)
    except (DependencyError, FileNotDecryptedError):  # some ciphers need another package
        return locked
    except Exception as error:  # noqa: BLE001 - damage raises whatever its place leads to
        return Fault("damaged_file", {"file": name, "kind": "PDF", "reason": reason_of(error)})


def _text(pages: Sequence[Callable[[], str]], name: str) -> str | Fault:
    parts: list[str] = []
    length = 0
    for extract in pages:
        parts.append(extract().strip())
        length += len(parts[-1])
        if length > RECORD_LIMIT:
            return Fault("long_text")
    text = "\n".join(filter(None, parts))
    return text or Fault("no_text_layer", {"file": name})


@contextmanager
def _quiet() -> Iterator[None]:
    """Pypdf logs what it repairs, line by line; what cannot be repaired is a problem of the row."""
    log = logging.getLogger("pypdf")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
