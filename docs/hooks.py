"""What the site needs beyond Markdown, so that the pages stay readable where they lie.

Links that leave docs/ reach copies of their targets, model cards and notebooks become pages, a link
to a section of scope.md in a line of its own becomes the box with that section, and formulas become
MathML. mkdocs.yml names this file; nothing here needs a network.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CARDS = sorted((ROOT / "src/histoeval/models").glob("*/README.md"))
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))

FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")
SCOPE = re.compile(r"^\[Scope[^\]]*\]\(scope\.md#([\w-]+)\)$", re.MULTILINE)
SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
FORMULA = re.compile(
    r'<(span|div) class="arithmatex">(?:\\\(|\\\[)(.*?)(?:\\\)|\\\])</\1>', re.DOTALL
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what lies outside docs/: cards, notebooks, and every file that a page links."""
    known = {DOCS / file.src_uri for file in files}
    waiting = [*(path for path in known if path.suffix == ".md"), *CARDS, *NOTEBOOKS]
    while waiting:
        path = waiting.pop()
        if path not in known:
            known.add(path)
            files.append(generated(path, config))
        waiting += [target for target in targets(path) if target not in known]
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """The page with its links as the site has them, and its scope box."""
    origin = origins()[page.file.src_uri]
    text = SCOPE.sub(scope_box, markdown)
    return outside_fences(text, lambda part: LINK.sub(lambda found: moved(found[1], origin), part))


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw without a script."""
    return FORMULA.sub(formula, content)


def formula(found: re.Match[str]) -> str:
    """One formula as MathML."""
    latex = html.unescape(found[2]).strip()
    if found[1] == "span":
        return str(convert(latex))
    return f'<div class="formula">{convert(latex, display="block")}</div>'


def targets(path: Path) -> Iterator[Path]:
    """The files that a page links and that the site does not have by itself."""
    if path.suffix == ".md":
        for link in LINK.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
            target = Path(posixpath.normpath(path.parent / link))
            if target.is_file() and target != ROOT / "README.md":
                yield target


def site_path(path: Path) -> str:
    """Where a file of the repository stands on the site."""
    if path == ROOT / "README.md":
        return "index.md"
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    if path in CARDS:
        return f"cards/{path.parent.name}.md"
    if path in NOTEBOOKS:
        return f"notebooks/{path.stem}.md"
    return f"repository/{path.relative_to(ROOT).as_posix()}"


def moved(link: str, origin: Path) -> str:
    """A relative link as it must be on the site."""
    target = Path(posixpath.normpath(origin.parent / link))
    if "://" in link or not target.is_file():
        return link
    return posixpath.relpath(site_path(target), posixpath.dirname(site_path(origin)) or ".")


def generated(path: Path, config: MkDocsConfig) -> File:
    """A file of the repository as a file of the site."""
    origins()[site_path(path)] = path
    if path.suffix == ".ipynb":
        return File.generated(config, site_path(path), content=notebook_page(path))
    return File.generated(config, site_path(path), abs_src_path=str(path))


_origins: dict[str, Path] = {}


def origins() -> dict[str, Path]:
    """The file of the repository that each page of the site was made from."""
    if not _origins:
        _origins.update({path.name: path for path in DOCS.glob("*.md")})
    return _origins


def outside_fences(text: str, change: Any) -> str:
    """Applies a change to all but the code blocks."""
    parts, last = [], 0
    for found in FENCE.finditer(text):
        parts += [change(text[last : found.start()]), found[0]]
        last = found.end()
    return "".join([*parts, change(text[last:])])


def scope_box(found: re.Match[str]) -> str:
    """The section of scope.md that a page asks for, as a box."""
    sections = {
        title.lower().replace(" ", "-"): text
        for title, text in SECTION.findall((DOCS / "scope.md").read_text(encoding="utf-8"))
    }
    lines = sections[found[1]].strip().splitlines()
    body = "\n".join(f"    {line}".rstrip() for line in lines)
    return f'!!! info "Scope: what this was measured on"\n\n{body}\n'


def notebook_page(path: Path) -> str:
    """A notebook as Markdown: its prose, its code, and what the code printed."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in cell_parts(cell))


def cell_parts(cell: dict[str, Any]) -> Iterator[str]:
    """The Markdown of one cell, and of each of its outputs."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        yield f"```text\n{''.join(text).rstrip()}\n```"
