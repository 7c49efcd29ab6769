"""Pages from Jinja2 templates with one layout, stylesheet and escaping.

The same templates make a file that needs nothing else, and a page of `histoeval serve`.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from histoeval.console import VISIBLE
from histoeval.resources import resource_path, resource_text
from histoeval.version import __version__
from histoeval.view.highlight import one_line

if TYPE_CHECKING:
    from PIL import Image

# the folder of scripts and stylesheets, ours and those of others, inside the package
STATIC = "view/html/static"
_BLANK = "\n\t\r"
_SHOWN = {
    **{code: sign if isinstance(sign, int) else escape(sign) for code, sign in VISIBLE.items()},
    **{ord(blank): blank for blank in _BLANK},
}

_CONTROL = re.compile(
    f"[{''.join(re.escape(chr(code)) for code in _SHOWN if chr(code) not in _BLANK)}]"
)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(resource_path("view/html/templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    environment.filters["one_line"] = one_line
    return environment


class Website(NamedTuple):
    """The site around a served page; an offline page has none.

    `nav` are addresses and names, `here` is the address of the page's place among them, and
    `csrf` is what a form or request sends back so that no other page can send it. `links` are
    addresses and names too: what else can be done with what the page shows.
    """

    nav: Sequence[tuple[str, str]]
    here: str
    csrf: str
    links: Sequence[tuple[str, str]] = ()


class Asset(NamedTuple):
    name: str
    text: Markup


def render(
    template: str,
    *,
    site: Website | None = None,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    **context: Any,
) -> str:
    """Render a page of a site, or, without a site, a file that needs no other file and no network.

    Whatever is not `Markup` is escaped. Every page has a `title`. Control characters, above all
    those that reorder what is read, are shown as symbols. `scripts` and `styles` are files of
    `STATIC`, in the order in which they are loaded.
    """
    code = [_asset(name) for name in scripts]
    digests = [b64encode(sha256(script.text.encode()).digest()).decode() for script in code]
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    run = f" script-src {hashes};" if hashes else ""
    return fragment(
        template,
        version=__version__,
        site=site,
        scripts=code,
        styles=[_asset(name) for name in styles],
        # an offline page may run these very scripts, and load nothing but pictures
        may=Markup(
            f"default-src 'none';{run} style-src 'unsafe-inline'; "
            "img-src data: blob: 'self' file:; base-uri 'none'; form-action 'none'"
        ),
        **context,
    )


@cache
def _asset(name: str) -> Asset:
    return Asset(name, Markup(resource_text(f"{STATIC}/{name}")))


def fragment(template: str, **context: Any) -> str:
    text = _environment().get_template(template).render(**context)
    return text.translate(_SHOWN) if _CONTROL.search(text) else text  # most texts have none


def jpeg(picture: Image.Image) -> bytes:
    stream = BytesIO()
    picture.convert("RGB").save(stream, "JPEG", quality=85)
    return stream.getvalue()


def data_uri(content: bytes) -> str:
    return f"data:image/jpeg;base64,{b64encode(content).decode('ascii')}"
