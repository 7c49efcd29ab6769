"""Drawings as SVG and PNG: that what is drawn is seen, where it was drawn."""

from __future__ import annotations

import struct
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from histoeval.view.axes import Axes, fitted, spread, steps
from histoeval.view.drawing import PALETTE, Area, Dot, Drawing, Label, Line, box, mix, rgb
from histoeval.view.letters import width_of
from histoeval.view.raster import coverage, png


def pixels(drawing: Drawing) -> NDArray[np.uint8]:
    """A PNG decoded by the book: no filters, eight bits of red, green and blue."""
    data = png(drawing, dpi=72)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, body = 8, b""
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(
            kind + content
        )
        if kind == b"IHDR":
            width, height = struct.unpack(">II", content[:8])
        body += content if kind == b"IDAT" else b""
        at += 12 + size
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def test_a_box_fills_its_pixels_and_no_others() -> None:
    drawing = Drawing(20, 10)
    drawing.add(Area(box(5, 2, 6, 4), "#ff0000"))
    seen = pixels(drawing)
    assert seen.shape == (10, 20, 3)
    inside = np.zeros((10, 20), bool)
    inside[2:6, 5:11] = True
    assert (seen[inside] == (255, 0, 0)).all()
    assert (seen[~inside] == 255).all()


@given(
    st.floats(2, 6),
    st.floats(2, 6),
    st.floats(0.5, 8),
    st.floats(0.5, 8),
)
def test_the_ink_of_a_box_is_its_area(left: float, top: float, width: float, height: float) -> None:
    found = coverage([np.array(box(left, top, width, height))], (0, 20), (0, 20))
    assert found.sum() == pytest.approx(width * height, abs=0.25 * width + 1e-6)
    assert found.min() >= 0
    assert found.max() <= 1


def test_a_circle_has_the_area_of_a_circle() -> None:
    drawing = Drawing(40, 40)
    drawing.add(Dot(20, 20, 10, "#000000"))
    ink = (255 - pixels(drawing)[:, :, 0].astype(float)).sum() / 255
    assert ink == pytest.approx(np.pi * 100, rel=0.02)


def test_a_hole_in_a_letter_stays_white() -> None:
    drawing = Drawing(60, 60)
    drawing.add(Label(10, 50, "O", 50))
    seen = pixels(drawing)
    middle = round(10 + width_of("O", 50) / 2)
    assert seen[32, middle].tolist() == [255, 255, 255]
    assert seen[:, middle].min() < 100


def test_text_is_as_long_as_it_was_counted_and_can_go_up() -> None:
    label = Label(5, 50, "mmmm", 10)
    drawing = Drawing(100, 60)
    drawing.add(label)
    columns = np.flatnonzero((pixels(drawing) < 128).any(axis=(0, 2)))
    assert columns.max() - columns.min() == pytest.approx(label.width, abs=3)
    upright = Drawing(60, 60)
    upright.add(Label(30, 55, "mmmm", 10, turned=True))
    dark = np.argwhere((pixels(upright) < 128).any(axis=2))
    assert np.ptp(dark[:, 0]) > np.ptp(dark[:, 1])


def test_what_lies_outside_the_paper_does_no_harm() -> None:
    drawing = Drawing(10, 10)
    drawing.add(
        Dot(-50, 5, 3, "#000000"),
        Area(box(-5, -5, 30, 30), "#0000ff"),
        Line([(-5, 5), (50, 5)], "#000000", 2, dashed=True),
        Line([(3, 3), (3, 3)]),
    )
    assert pixels(drawing)[0, 0].tolist() == [0, 0, 255]


def test_half_of_a_colour_lets_the_paper_through() -> None:
    drawing = Drawing(4, 4)
    drawing.add(Area(box(0, 0, 4, 4), "#000000", 0.5))
    assert pixels(drawing)[1, 1].tolist() == [128, 128, 128]


def test_the_svg_is_xml_with_a_title_and_every_mark() -> None:
    drawing = Drawing(50, 40, "A & B", "two <things>")
    drawing.add(Label(1, 9, "r < 1"), Dot(5, 5, 1, PALETTE[0]), Line([(0, 0), (1, 1)]))
    root = ElementTree.fromstring(drawing.svg())
    names = [child.tag.rpartition("}")[2] for child in root]
    assert names == ["title", "desc", "rect", "text", "circle", "polyline"]
    assert root[0].text == "A & B"
    assert root[3].text == "r < 1"


def test_the_same_drawing_is_the_same_bytes() -> None:
    def made() -> Drawing:
        drawing = Drawing(50, 50)
        drawing.add(Label(3, 20, "same"), Dot(30, 30, 5, PALETTE[2], 0.3))
        return drawing

    assert png(made()) == png(made())
    assert made().svg() == made().svg()


def test_letters_that_nobody_drew_are_shown_as_unknown() -> None:
    assert width_of("\N{SNOWMAN}", 10) == width_of("\N{REPLACEMENT CHARACTER}", 10) > 0


def test_colours_mix() -> None:
    assert mix("#000000", "#ffffff", 0.5) == "#808080"
    assert rgb("#ff8000") == (255, 128, 0)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_steps_are_within_their_bounds_and_few(low: float, length: float) -> None:
    found = steps(low, low + length)
    slack = 1e-6 * max(1, abs(low), length)
    assert all(low - slack <= each <= low + length + slack for each in found)
    assert len(found) <= 8


def test_steps_are_round_numbers() -> None:
    assert steps(0, 5) == [0, 1, 2, 3, 4, 5]
    assert steps(0, 1, 4) == [0, 0.25, 0.5, 0.75, 1]
    assert steps(3, 3) == [3]


def test_numbers_find_their_place_on_the_paper() -> None:
    axes = Axes(Drawing(100, 100), 10, 20, 50, 40, (0, 10), (0, 1))
    assert axes.at(0, 0) == (10, 60)
    assert axes.at(10, 1) == (60, 20)
    assert spread([2, 2]) == (1.5, 2.5)


def test_a_long_name_is_cut() -> None:
    cut = fitted("a very long name of a metric", 9, 60)
    assert cut.endswith("…")
    assert width_of(cut, 9) <= 60
    assert fitted("short", 9, 60) == "short"
