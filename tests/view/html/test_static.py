"""What pages are made of: safe to stand inside a page, and with the licences of their authors."""

from pathlib import Path

import pytest

from histoeval.resources import resource_path
from histoeval.view.html.page import STATIC, render

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
