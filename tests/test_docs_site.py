"""The site: built offline and strictly, with all pages, formulas, cards and public names."""

import logging
import re
import shutil
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import histoeval
from tests.support.paths import ROOT
from tests.test_docs import PAGES

pytest.importorskip("mkdocs")
pytest.importorskip("material")
pytest.importorskip("mkdocstrings_handlers")
markdown = pytest.importorskip("markdown")

from markdown_it import MarkdownIt
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

# What the generator does within is its own affair: Material 9 warns of its end of life.
pytestmark = pytest.mark.filterwarnings("default")

INSTRUMENTS = "concordance hare judge rubric trust grounding logic stability".split()
SHAPES = re.compile(r"<(table|tr|li|ol|ul|pre|h[1-6]|blockquote)\b")
LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\ssrc=\"?([^\s\">]+)")
STYLES = re.compile(r"<link\b[^>]*\brel=\"?(?:stylesheet|preconnect)[^>]*\shref=\"?([^\s\">]+)")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the build asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")


def built(source: Path, target: Path) -> Path:
    """The site of a checkout; `Abort` where there is a warning."""
    config = load_config(str(source / "mkdocs.yml"), site_dir=str(target), strict=True)
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    return target


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        patch.setattr(socket.socket, "connect", lambda *_: pytest.fail("asked for the network"))
        yield built(ROOT, tmp_path_factory.mktemp("site"))


def page(site: Path, name: str) -> str:
    return (site / f"{name}.html").read_text(encoding="utf-8")


def test_it_is_built_without_a_warning_and_without_a_network(site: Path) -> None:
    names = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert names <= {path.stem for path in site.glob("*.html")}


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        loaded = [*LOADED.findall(text), *STYLES.findall(text)]
        assert not [name for name in loaded if re.match(r"(?:https?:)?//", name)], path


def test_search_works_from_disk(site: Path) -> None:
    assert (site / "search" / "search_index.js").read_text("utf-8").startswith("var __index")
    assert 'src="iframe-worker.js"' in page(site, "index")


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_an_instrument_has_its_scope_its_maths_an_example_and_limits(site: Path, name: str) -> None:
    text = page(site, name)
    assert "Scope: what this was measured on</p>" in text
    assert "<math" in text
    assert 'id="worked-example"' in text
    assert 'id="limits"' in text
    assert "arithmatex" not in text


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    text = page(site, "api")
    for name in set(histoeval.__all__) - {"__version__"}:
        assert f'id="histoeval.{name}"' in text, name


def test_cards_and_notebooks_are_pages(site: Path) -> None:
    cards = {path.stem for path in (site / "cards").glob("*.html")}
    assert cards == {path.parent.name for path in ROOT.glob("src/histoeval/models/*/README.md")}
    pages = {path.stem for path in (site / "notebooks").glob("*.html")}
    assert pages == {path.stem for path in ROOT.glob("examples/notebooks/*.ipynb")}
    assert len(pages) == 5


def small_checkout(folder: Path, text: str) -> Path:
    """A checkout whose site is one page, beside what mkdocs.yml names."""
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("*.md"))
    lines = (ROOT / "mkdocs.yml").read_text("utf-8").splitlines()
    start, end = lines.index("nav:"), lines.index("not_in_nav: /repository/")
    nav = ["nav: [{Home: index.md}]"]
    (folder / "mkdocs.yml").write_text("\n".join([*lines[:start], *nav, *lines[end:]]), "utf-8")
    (folder / "docs" / "index.md").write_text(text, encoding="utf-8")
    (folder / "src").mkdir()
    return folder


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# One\n\n[gone](gone.md)", "gone.md"),
        ("# One\n\n[gone](#gone)", "#gone"),
        ("# One\n\n[gone](/gone)", "/gone"),
        ("# One\n\n::: histoeval.gone", "histoeval.gone"),
    ],
)
def test_what_is_broken_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, complaint: str
) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises((Abort, SystemExit)):
        built(small_checkout(tmp_path, text), tmp_path / "site")
    assert complaint in caplog.text


@pytest.mark.usefixtures("no_network")
def test_a_page_that_is_not_in_the_navigation_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = small_checkout(tmp_path, "# One")
    (folder / "docs" / "forgotten.md").write_text("# Two", encoding="utf-8")
    with caplog.at_level(logging.INFO), pytest.raises((Abort, SystemExit)):
        built(folder, tmp_path / "site")
    assert "forgotten.md" in caplog.text


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_has_the_same_shape_on_the_forge_and_on_the_site(path: Path) -> None:
    """Python-Markdown wants nested blocks indented by four, and a blank line before lists."""
    text = path.read_text(encoding="utf-8")
    forge = Counter(SHAPES.findall(MarkdownIt("commonmark").enable("table").render(text)))
    extensions = ["attr_list", "sane_lists", "tables", "pymdownx.superfences"]
    assert forge == Counter(SHAPES.findall(markdown.markdown(text, extensions=extensions)))
