"""Self-contained pages from Jinja2 templates with one layout, stylesheet and escaping."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

from histoeval.console import VISIBLE
from histoeval.resources import resource_path
from histoeval.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment
    from PIL import Image


_SHOWN = {
    **{code: sign if isinstance(sign, int) else escape(sign) for code, sign in VISIBLE.items()},
    **{ord(blank): blank for blank in "\n\t\r"},
}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(resource_path("view/html/templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def render(template: str, **context: Any) -> str:
    """A page that needs no other file and no network.

    Whatever is not `Markup` is escaped. Every page has a `title`. Control characters, above all
    those that reorder what is read, are shown as symbols.
    """
    page = _environment().get_template(template).render(version=__version__, **context)
    return page.translate(_SHOWN)


def fragment(template: str, **context: Any) -> str:
    """A part of a page, escaped as `render` does it."""
    return _visible(_environment().get_template(template).render(**context))


def _visible(text: str) -> str:
    """The text with a symbol in place of each control character; most texts have none."""
    return text.translate(_SHOWN) if _CONTROL.search(text) else text


def jpeg(picture: Image.Image) -> bytes:
    """A small picture for a page."""
    stream = BytesIO()
    picture.convert("RGB").save(stream, "JPEG", quality=85)
    return stream.getvalue()


def data_uri(content: bytes) -> str:
    """A JPEG as an address that contains it."""
    return f"data:image/jpeg;base64,{b64encode(content).decode('ascii')}"
