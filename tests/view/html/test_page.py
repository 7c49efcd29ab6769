"""Pages: what is shown is escaped, controls are visible, and nothing may be loaded or run."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from histoeval.resources import resource_path, resource_text
from histoeval.table import ResultTable, markdown
from histoeval.view.html.page import STATIC, render

EVIL = "a\u202eb\u2066\x1b[2J\x9b<script>alert(1)</script>"


def page() -> str:
    return render(
        "agreement.html",
        title=EVIL,
        facts=[EVIL],
        tables=[],
        notes=[EVIL],
        figures=[],
        signatures=[EVIL],
        command=EVIL,
    )


def test_no_control_character_reaches_a_page() -> None:
    text = page()
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert "a&lt;U+202E&gt;b&lt;U+2066&gt;␛[2J" in text
    assert "<script" not in text


def test_a_page_may_load_nothing_and_run_nothing() -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page())
    assert "default-src 'none'" in policy
    assert "script" not in policy
    assert "img-src data:" in policy


def test_markdown_shows_html_and_links_as_text() -> None:
    evil = "<script>x</script> ![a](http://evil) p <0.001"
    text = markdown(ResultTable(evil, ["name"], [[evil]]))
    assert "\\<script>x\\</script> ![a]\\(http://evil) p <0.001" in text
    assert not re.search(r"(?<!\\)<[a-z/]|\]\(", text)


FOLDER = resource_path(STATIC)
FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix in {".js", ".css"})
VENDORED = [path for path in FILES if path.parent.name == "vendor"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_can_stand_inside_a_page_as_it_is(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "</script" not in text.lower()
    assert "</style" not in text.lower()
    assert "<!--" not in text
    assert "sourceMappingURL" not in text
    name = path.relative_to(FOLDER).as_posix()
    kind = "scripts" if path.suffix == ".js" else "styles"
    page = render("error.html", title="t", detail="d", **{kind: (name,)})  # type: ignore[arg-type]
    assert text in page, "a control character was made visible, and the hash would be another"


@pytest.mark.parametrize("path", VENDORED, ids=lambda path: path.name)
def test_the_work_of_others_has_its_licence_beside_it(path: Path) -> None:
    name = path.name.partition(".")[0]
    assert (path.parent / f"{name}.LICENSE.txt").is_file()
    assert path.name in (path.parent / "README.md").read_text("utf-8")


def test_all_of_it_is_about_a_megabyte() -> None:
    assert sum(path.stat().st_size for path in FILES) < 1.2e6


SHARED = resource_text("view/html/templates/style.css")
SHEETS = {path.name: path.read_text("utf-8") for path in resource_path(STATIC).glob("*.css")}

BLOCKS = "axis card columns figures hint interval message panel route row severity text".split()
STATES = "contradicted deploy dim first invented lit matched minor n omitted problem refuted reject"
REFINED = {*BLOCKS, *STATES.split(), "supported", "unknown", "why", "wide"}
"""Classes of `style.css` that the sheet of a page changes for itself: the same thing, there."""


def _selectors(css: str) -> Iterator[str]:
    for block in re.findall(r"([^{}]+)\{[^{}]*\}", re.sub(r"(?s)/\*.*?\*/", "", css)):
        yield from (each.strip() for each in re.split(r",(?![^(]*\))", block))


def _names(selector: str) -> set[str]:
    return set(re.findall(r"[.#]([A-Za-z][\w-]*)", re.sub(r"\[[^]]*\]", "", selector)))


def _leading(selector: str) -> set[str]:
    """The classes and ids of what a selector begins with."""
    return _names(re.split(r"[\s>+~]", re.sub(r"\([^)]*\)", "", selector))[0])


def _owned(css: str) -> set[str]:
    """The classes and ids that selectors begin with."""
    return {name for each in _selectors(css) for name in _leading(each)}


@pytest.mark.parametrize("name", SHEETS)
def test_every_rule_of_a_page_is_bound_to_what_only_that_page_has(name: str) -> None:
    others = [SHARED, *(css for sheet, css in SHEETS.items() if sheet != name)]
    taken = set().union(*map(_owned, others))
    loose = [each for each in _selectors(SHEETS[name]) if not _leading(each) - taken]
    assert loose == []


@pytest.mark.parametrize("name", sorted(set(SHEETS) - {"notebook.css"}))
def test_no_class_means_one_thing_everywhere_and_another_on_a_page(name: str) -> None:
    here = {found for each in _selectors(SHEETS[name]) for found in _names(each)}
    everywhere = {found for each in _selectors(SHARED) for found in _names(each)}
    assert here & everywhere <= REFINED
