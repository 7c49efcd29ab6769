"""Whether a TIFF is whole: a copy that was stopped is missing its end, and may still open."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from histoeval.slides.formats.tiff_files import blamed_on, kind_of, open_tiff
from histoeval.slides.slide import TruncatedSlide

WIDTHS = dict(
    zip(range(1, 19), (1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8), strict=True)
)
"""Bytes of one value of a tag, by TIFF's code of its kind."""


def check_whole(path: Path) -> str:
    """Say so where a TIFF ends before its own data do; else which kind it is, OME-TIFF or TIFF."""
    with open_tiff(path) as tiff, blamed_on(path):
        end = max(max(_end_of(page), _tags_end(tiff, page.offset)) for page in tiff.pages)
        size = tiff.filehandle.size
        follows = _next_page(tiff)
        kind = kind_of(tiff)
    if end > size or follows >= size:
        raise TruncatedSlide(
            f"{path} is truncated: it ends at byte {size:,}, but its data go to byte "
            f"{max(end, follows):,}; copy or download it again"
        )
    return kind


def _end_of(page: Any) -> int:
    """The byte after the last of a page's blocks."""
    pairs = zip(page.dataoffsets, page.databytecounts, strict=False)
    return max((offset + count for offset, count in pairs if count), default=0)


def _tags_end(tiff: Any, place: int) -> int:
    """The byte after the last value that the tags of a page, which stand there, point to."""
    form, order = tiff.tiff, tiff.byteorder
    tiff.filehandle.seek(place)
    (count,) = struct.unpack(form.tagnoformat, tiff.filehandle.read(form.tagnosize))
    entry = struct.Struct(f"{order}HHQQ" if form.tagsize == 20 else f"{order}HHII")
    end = tiff.filehandle.tell() + count * entry.size
    for _, kind, number, where in entry.iter_unpack(tiff.filehandle.read(count * entry.size)):
        if (length := WIDTHS.get(kind, 0) * number) > form.tagoffsetthreshold:
            end = max(end, where + length)
    return int(end)


def _next_page(tiff: Any) -> int:
    """Where the page after the last one is said to stand; 0 where none is."""
    place = tiff.pages.next_page_offset
    if place is None:
        return 0
    tiff.filehandle.seek(place)
    stored = tiff.filehandle.read(tiff.tiff.offsetsize)
    return int.from_bytes(stored, "little" if tiff.byteorder == "<" else "big")
