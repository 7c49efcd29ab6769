"""What styles of one page may not do to another."""

import re
from collections.abc import Iterator

import pytest

from histoeval.resources import resource_path, resource_text
from histoeval.view.html.page import STATIC

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
