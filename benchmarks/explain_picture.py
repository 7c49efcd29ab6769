"""The picture of the README: `python -m benchmarks.explain_picture docs/explain.svg`."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import histoeval
from histoeval.console import Console
from histoeval.report import Pair
from histoeval.view.terminal.explanation import show_explanation

REFERENCE = (
    "Left breast: invasive ductal carcinoma, grade 2, 24 mm. Lymphovascular invasion is present. "
    "ER positive."
)
CANDIDATE = (
    "Right breast: invasive ductal carcinoma, grade 3, 24 mm. No lymphovascular invasion. "
    "ER negative."
)


def picture() -> str:
    """`histoeval explain` of two reports, as it looks in a terminal of 96 columns."""
    console = Console(
        record=True, width=96, file=io.StringIO(), color_system="truecolor", force_terminal=True
    )
    pair = Pair(id="command line", reference=REFERENCE, candidate=CANDIDATE)
    show_explanation(console, pair, histoeval.explain(REFERENCE, CANDIDATE), (0.0, 1.0))
    svg = console.export_svg(title="histoeval explain")
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # fonts from elsewhere
    return svg.replace("Fira Code", "ui-monospace, DejaVu Sans Mono")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(), "utf-8")
