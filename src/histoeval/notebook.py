"""How objects show themselves in a notebook.

What they look like is drawn in `view`, which stands above the nouns; so, as the command line does
with its verbs, it is named here and loaded when something is shown.
"""

from html import escape
from importlib import import_module

RENDERER = "histoeval.view.html.notebook"


def notebook_html(thing: object, plain: str) -> str:
    """The object as HTML; where that fails, its plain text with the reason, and never an error."""
    try:
        shown: str = import_module(RENDERER).notebook_html(thing)
    except Exception as error:  # noqa: BLE001 - showing a result must not take the result away
        reason = f"not shown as a table: {type(error).__name__}: {error}"
        return f"<pre>{escape(plain)}</pre><p>{escape(reason)}</p>"
    return shown
