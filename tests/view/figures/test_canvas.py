"""Figures as files: that they can be opened, say what they show, and are the same each time."""

import subprocess
import sys
from io import BytesIO
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread

from histoeval.errors import MissingDependency
from histoeval.view.figures import canvas as module
from histoeval.view.figures.canvas import (
    LOOK,
    PALETTE,
    Canvas,
    blank,
    drawable,
    drawing,
    finished,
    fitted,
    page,
    width_of,
)

SVG = "{http://www.w3.org/2000/svg}"


@drawing
def example(title: str = "A & B", description: str = "two <things>") -> Canvas:
    figure = blank(144, 72, title)
    figure.add_subplot().plot([0, 1], [0, 1], color=PALETTE[0], label="$a_1$ < $b$")
    figure.legend()
    return finished(figure, title, description)


def test_a_png_is_as_large_as_the_paper_and_not_empty() -> None:
    pixels = imread(BytesIO(example().png()), format="png")
    assert pixels.shape[:2] == (200, 400)
    assert np.ptp(pixels) > 0.5


def test_an_svg_is_xml_with_a_title_and_its_text_as_text() -> None:
    root = ElementTree.fromstring(example().svg())
    assert (root.get("width"), root.get("height")) == ("144pt", "72pt")
    assert root.findtext(f"{SVG}title") == "A & B"
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "A & B" in texts
    assert "$a_1$ < $b$" in texts
    assert "two <things>" in "".join(root.itertext())


def test_what_a_reader_has_set_for_matplotlib_changes_nothing_and_stays() -> None:
    usual = example()
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        other = example()
        assert other.svg() == usual.svg()
        assert other.png() == usual.png()
        assert matplotlib.rcParams["font.size"] == 30


def test_drawing_leaves_pyplot_alone() -> None:
    program = (
        "import sys; from tests.view.figures.test_canvas import example; example().png(); "
        "print('matplotlib.pyplot' in sys.modules)"
    )
    found = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert found.strip() == "False"


def test_no_letters_are_smaller_than_print_can_show() -> None:
    assert min(size for name, size in LOOK.items() if name.endswith("size")) >= 8


def test_characters_that_the_font_lacks_are_shown_as_unknown() -> None:
    assert drawable("grade 2 → µm") == "grade 2 → µm"
    assert drawable("a\N{CJK UNIFIED IDEOGRAPH-4E2D}\x0cb") == "a\ufffd\ufffdb"
    ElementTree.fromstring(example("page\x0c", "one\x00two\n\N{CJK UNIFIED IDEOGRAPH-4E2D}").svg())


def test_text_is_as_wide_as_it_is_drawn() -> None:
    figure, axes = page(200, 100)
    text = axes.text(10, 50, "mmmm", size=20, family="DejaVu Sans")
    drawn = text.get_window_extent().width * 72 / figure.dpi
    assert width_of("mmmm", 20) == pytest.approx(drawn, rel=0.03)
    assert width_of("mmmm", 20) == pytest.approx(2 * width_of("mm", 20), rel=0.03)


def test_a_long_name_is_cut() -> None:
    cut = fitted("a very long name of a metric", 9, 60)
    assert cut.endswith("…")
    assert width_of(cut, 9) <= 60
    assert fitted("short", 9, 60) == "short"


def test_without_matplotlib_what_to_install_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    name = module.__name__
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependency, match=r"pip install 'histoeval\[figures\]'"):
        __import__(name)
