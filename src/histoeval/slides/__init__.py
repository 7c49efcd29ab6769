"""Slides and images: open them, find the tissue, cut tiles by physical size, separate stains.

Everything here needs the extra ``[slide]``; importing the folder without it says what to install.

    from histoeval.slides.open import open_slide
    from histoeval.slides.tissue import find_tissue
    from histoeval.slides.tiles import TileRequest, plan_tiles, read_tiles

    with open_slide("case.svs") as slide:
        tissue = find_tissue(slide)
        plan = plan_tiles(slide, tissue, TileRequest(sample=40, seed=7))
        for tile in read_tiles(slide, plan):
            ...
"""

from __future__ import annotations

from histoeval.slides.requirements import require

require("PIL", "scipy")
