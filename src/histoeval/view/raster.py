"""Drawings as PNG: every mark is an outline that is filled, with smooth edges."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from histoeval.view.drawing import PAPER, Area, Dot, Drawing, Label, Line, Mark, rgb
from histoeval.view.letters import contours_of

Pixels = NDArray[np.float64]
Contour = NDArray[np.float64]

DPI = 200
"""Fine enough for print at the size of a column."""

_POINTS_PER_INCH = 72
_LINES = 5
"""Lines that are looked at within each line of pixels."""

_DASH, _GAP = 4.0, 3.0


def png(drawing: Drawing, dpi: int = DPI) -> bytes:
    """A drawing as the bytes of a PNG file."""
    scale = dpi / _POINTS_PER_INCH
    height, width = round(drawing.height * scale), round(drawing.width * scale)
    canvas = np.empty((height, width, 3))
    canvas[:] = rgb(PAPER)
    for mark in drawing.marks:
        for contours in outlines(mark):
            _fill(canvas, [c * scale for c in contours], mark.colour, _opacity(mark))
    return encode(np.round(canvas).astype(np.uint8), dpi)


def encode(pixels: NDArray[np.uint8], dpi: int = DPI) -> bytes:
    """Red, green and blue of every pixel as a PNG file."""
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    per_metre = round(dpi / 0.0254)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"pHYs", struct.pack(">IIB", per_metre, per_metre, 1)),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    )


def outlines(mark: Mark) -> list[list[Contour]]:
    """The outlines of a mark: shapes to fill, each of one or more contours."""
    if isinstance(mark, Area):
        return [[np.array(mark.points, dtype=np.float64)]]
    if isinstance(mark, Dot):
        angles = np.linspace(0, 2 * np.pi, 25)[:-1]
        ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return [[ring * mark.radius + (mark.x, mark.y)]]
    if isinstance(mark, Label):
        return [_placed(mark)]
    return _strokes(mark)


def _placed(label: Label) -> list[Contour]:
    shift = {"start": 0.0, "middle": label.width / 2, "end": label.width}[label.anchor]
    found = [contour - (shift, 0) for contour in contours_of(label.text, label.size)]
    if label.turned:
        found = [np.stack([contour[:, 1], -contour[:, 0]], axis=1) for contour in found]
    return [contour + np.array([label.x, label.y]) for contour in found]


def _strokes(line: Line) -> list[list[Contour]]:
    """A line as thin boxes, one for each of its pieces."""
    points = np.array(line.points, dtype=np.float64)
    pieces = [
        piece
        for start, end in pairwise(points)
        for piece in (_dashes(start, end) if line.dashed else [(start, end)])
    ]
    found = []
    for start, end in pieces:
        along = end - start
        length = float(np.hypot(*along))
        if length > 0:
            side = np.array([-along[1], along[0]]) / length * line.width / 2
            found.append([np.array([start + side, end + side, end - side, start - side])])
    return found


def _dashes(start: Contour, end: Contour) -> list[tuple[Contour, Contour]]:
    length = float(np.hypot(*(end - start)))
    firsts = np.arange(0, length, _DASH + _GAP)
    return [
        (
            start + (end - start) * first / length,
            start + (end - start) * min(first + _DASH, length) / length,
        )
        for first in firsts
    ]


def _opacity(mark: Mark) -> float:
    return mark.opacity if isinstance(mark, Area | Dot) else 1.0


def _fill(canvas: Pixels, contours: Sequence[Contour], colour: str, opacity: float) -> None:
    """Paint what the contours enclose, as far as it is on the canvas."""
    if not contours:
        return
    every = np.concatenate(contours)
    left, top = np.floor(every.min(axis=0)).astype(int)
    right, bottom = np.ceil(every.max(axis=0)).astype(int) + 1
    top, bottom = max(top, 0), min(bottom, canvas.shape[0])
    right = min(right, canvas.shape[1])
    if top >= bottom or left >= right or right <= 0:
        return
    shares = coverage(contours, (left, right), (top, bottom))
    start = max(left, 0)
    shares = shares[:, start - left :, None] * opacity
    part = canvas[top:bottom, start:right]
    part += (np.array(rgb(colour)) - part) * shares


def coverage(contours: Sequence[Contour], across: tuple[int, int], down: tuple[int, int]) -> Pixels:
    """How much of each pixel the contours enclose, from 0 to 1.

    Each crossing of an edge with a thin line of a row of pixels adds to all that is right of it,
    and its own pixel by the share that is right of it.
    """
    (left, right), (top, bottom) = across, down
    width, rows = right - left, bottom - top
    heights = top + (np.arange(rows * _LINES) + 0.5) / _LINES
    found = np.zeros((rows, width + 2))
    for contour in contours:
        (x0, y0), (x1, y1) = contour.T, np.roll(contour, -1, axis=0).T
        crosses = (y0 <= heights[:, None]) != (y1 <= heights[:, None])
        line, edge = np.nonzero(crosses)
        share = (heights[line] - y0[edge]) / (y1[edge] - y0[edge])
        x = np.clip(x0[edge] + share * (x1[edge] - x0[edge]) - left, 0, width)
        way = np.where(y1[edge] > y0[edge], 1.0, -1.0) / _LINES
        pixel = np.floor(x).astype(int)
        np.add.at(found, (line // _LINES, pixel), way * (1 - (x - pixel)))
        np.add.at(found, (line // _LINES, pixel + 1), way * (x - pixel))
    return np.clip(np.abs(np.cumsum(found, axis=1)[:, :width]), 0, 1)
