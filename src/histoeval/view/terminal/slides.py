"""Slides in a terminal: a table of facts, and tissue outlined on a thumbnail."""

from typing import Any

import numpy as np
from PIL import Image, ImageFilter
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from histoeval.slides.tissue import Tissue

GREEN, ORANGE = (0, 160, 60), (255, 140, 0)


def slide_table(facts: dict[str, Any]) -> RenderableType:
    """The facts of a slide, one per row, and notes."""
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
    table = Table(title=Text(facts["file"]), title_justify="left", show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    table.add_row("format", Text(facts["format"]))
    table.add_row("size", f"{facts['width']:,} x {facts['height']:,} px")
    table.add_row("microns per pixel", resolution)
    table.add_row("levels", "; ".join(levels))
    table.add_row("tissue", f"{facts['tissue']:.1%}{area}")
    table.add_row("pen ink", f"{facts['ink']:.1%}")
    table.add_row("black", f"{facts['black']:.1%}")
    return Group(table, *[Text(f"Note: {note}") for note in facts["notes"]])


def outlined(picture: Image.Image, tissue: Tissue) -> Image.Image:
    """Outline tissue in green and ink in orange, by a line of about three pixels."""
    drawn = picture.copy()
    for mask, colour in ((tissue.mask, GREEN), (tissue.ink, ORANGE)):
        whole = Image.fromarray(mask.astype(np.uint8) * 255)
        whole = whole.resize(picture.size, Image.Resampling.NEAREST)
        inner = np.asarray(whole.filter(ImageFilter.MinFilter(5)))
        drawn.paste(colour, mask=Image.fromarray(np.asarray(whole) - inner))
    return drawn
