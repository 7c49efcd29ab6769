"""Objects as HTML in a notebook.

The renderer is in `view`, a higher layer; so, like verbs on the command line, it is named here
and imported when an object is shown.
"""

from html import escape
from importlib import import_module

RENDERER = "histoeval.view.html.notebook"


def notebook_html(thing: object, plain: str) -> str:
    """Render an object as HTML; if that fails, return its plain text with the reason."""
    try:
        shown: str = import_module(RENDERER).notebook_html(thing)
    except Exception as error:  # noqa: BLE001 - showing a result must not take the result away
        reason = f"not shown as a table: {type(error).__name__}: {error}"
        return f"<pre>{escape(plain)}</pre><p>{escape(reason)}</p>"
    return shown
