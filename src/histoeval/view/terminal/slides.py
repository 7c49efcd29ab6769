"""Slides in a terminal: a table of facts, and tissue outlined on a thumbnail."""

from typing import Any

import numpy as np
from PIL import Image, ImageFilter
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from histoeval.slides.tissue import Mask, Tissue

GREEN, ORANGE = (0, 160, 60), (255, 140, 0)


def slide_table(facts: dict[str, Any]) -> RenderableType:
    """The facts of a slide, one per row, and notes."""
    table = Table(title=Text(facts["file"]), title_justify="left", show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, fact in _facts(facts):
        table.add_row(name, Text(fact))
    return Group(table, *[Text(f"Note: {note}") for note in facts["notes"]])


def _facts(facts: dict[str, Any]) -> list[tuple[str, str]]:
    size = f"{facts['width']:,} x {facts['height']:,} px"
    area = "" if facts["tissue_mm2"] is None else f", {facts['tissue_mm2']:.2f} mm²"
    resolution = "missing"
    if facts["mpp"] is not None:
        source = {"file": "by the file", "given": "as given"}[facts["mpp_source"]]
        resolution = f"{' x '.join(f'{n:g}' for n in dict.fromkeys(facts['mpp']))}, {source}"
    levels = (
        f"{each['width']:,} x {each['height']:,}"
        + ("" if each["mpp"] is None else f" ({each['mpp']:g} µm/px)")
        for each in facts["levels"]
    )
    return [
        ("format", facts["format"]),
        ("size", size),
        ("microns per pixel", resolution),
        ("levels", "; ".join(levels)),
        ("tissue", f"{facts['tissue']:.1%}{area}"),
        ("pen ink", f"{facts['ink']:.1%}"),
        ("black", f"{facts['black']:.1%}"),
    ]


def outlined(picture: Image.Image, tissue: Tissue) -> Image.Image:
    """The picture with tissue outlined in green and ink in orange."""
    drawn = picture.copy()
    for mask, colour in ((tissue.mask, GREEN), (tissue.ink, ORANGE)):
        drawn.paste(colour, mask=_edge(mask, picture.size))
    return drawn


def _edge(mask: Mask, size: tuple[int, int]) -> Image.Image:
    """A line of about three pixels along the edge of a mask."""
    whole = Image.fromarray(mask.astype(np.uint8) * 255).resize(size, Image.Resampling.NEAREST)
    inner = np.asarray(whole.filter(ImageFilter.MinFilter(5)))
    return Image.fromarray(np.asarray(whole) - inner)
