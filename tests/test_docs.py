"""The pages hold together: links, names, paths and verbs that they mention exist."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import histoeval
from histoeval.cli.main import VERBS
from tests.support.paths import ROOT

INDEX = ROOT / "docs" / "index.md"
SOURCE = ROOT / "src" / "histoeval"
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    SOURCE / "examples" / "README.md",
    ROOT / "examples" / "trust" / "README.md",
    ROOT / "examples" / "plugin" / "README.md",
]
DEPRECATED = {"ablate", "create", "read_reports", "trust_reports"}

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
NAME = re.compile(r"\bhistoeval((?:\.[A-Za-z_]\w*)+)")
PATH = re.compile(r"`([\w.-]+(?:/[\w.*{},-]+)+/?)`")

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def blocks(page: Path, language: str) -> Iterator[str]:
    for match in FENCE.finditer(page.read_text(encoding="utf-8")):
        if match[1] == language:
            yield match[2]


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The file and the anchor of every relative link."""
    for target in LINK.findall(prose(page)):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


@cache
def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in HEADING.findall(prose(page)))
    return {heading.strip().replace(" ", "-") for heading in plain}


@cache
def defined_in(module: Path) -> set[str]:
    """The names at the top level of a module, imported ones included."""
    names: set[str] = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def exists(dotted: list[str]) -> bool:
    """Whether a name such as histoeval.terms or histoeval.io.pairs.read_pairs is there."""
    if len(dotted) == 1 and dotted[0] in {*histoeval.__all__, *DEPRECATED}:
        return True
    folder = SOURCE
    for depth, part in enumerate(dotted):
        if (folder / part).is_dir():
            folder /= part
            continue
        module, rest = folder / f"{part}.py", dotted[depth + 1 :]
        if module.exists():
            return not rest or rest[0] in defined_in(module)
        verb = depth == 1 and dotted[0] in histoeval.__all__  # histoeval.Report.text
        return verb or part in defined_in(folder / "__init__.py")
    return True


@every_page
def test_links_and_anchors_resolve(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), f"{target} is linked and not there"
        assert not anchor or anchor in anchors(target), f"{target.name} has no heading #{anchor}"


def test_every_page_is_reached_from_the_index() -> None:
    reached, waiting = {INDEX}, [INDEX]
    while waiting:
        found = {target for target, _ in links(waiting.pop()) if target.suffix == ".md"} - reached
        reached |= found
        waiting += found
    assert set(PAGES) <= reached


@every_page
def test_verbs_of_the_command_line_exist(page: Path) -> None:
    for block in [*blocks(page, "console"), *blocks(page, "")]:
        for verb in re.findall(r"^(?:\$ )?(?:\w+=\S+ )?histoeval ([a-z]\w*)", block, re.MULTILINE):
            assert verb in VERBS, f"histoeval {verb} is no verb"
    for verb in re.findall(r"`histoeval ([a-z]\w*)", prose(page)):
        assert verb in VERBS, f"histoeval {verb} is no verb"


@every_page
def test_python_names_exist(page: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    names = [match.split(".")[1:] for match in NAME.findall(prose(page) + code)]
    for node in ast.walk(ast.parse(code)):
        module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        if isinstance(node, ast.ImportFrom) and module.startswith("histoeval."):
            names += [[*module.split(".")[1:], alias.name] for alias in node.names]
    for name in names:
        assert exists(name), f"histoeval.{'.'.join(name)} is named and not there"


@every_page
def test_paths_exist(page: Path) -> None:
    """Paths from the root of the repository or of the package; those of users are skipped.

    What git ignores, such as the results of `make demo`, is none of the repository's.
    """
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()
    for path in PATH.findall(prose(page)):
        first = path.split("/")[0]
        roots = [root for root in (ROOT, SOURCE) if (root / first).is_dir()]
        roots = [] if f"{first}/" in ignored else roots
        if roots and "VERB" not in path and "MODEL" not in path:
            assert any(any(root.glob(path.rstrip("/"))) for root in roots), f"{path} is not there"


@every_page
def test_no_cell_of_a_table_has_a_blank_where_a_commit_or_a_name_belongs(page: Path) -> None:
    """Two back-ticks with nothing between them, and no commit in a column of commits."""
    for line in FENCE.sub("", page.read_text(encoding="utf-8")).splitlines():
        if line.startswith("|"):
            assert not re.search(r"(?<!`)``(?!`)|` +`(?= *\|)", line), line
    for table in re.split(r"\n\s*\n", page.read_text(encoding="utf-8")):
        head, *rows = [line for line in table.splitlines() if line.startswith("|")] or [""]
        names = [cell.strip() for cell in head.strip("|").split("|")]
        if "commit" in names:
            place = names.index("commit")
            for row in rows[1:]:
                cells = re.sub(r"`[^`]*`", lambda code: code[0].replace("|", "/"), row)
                assert cells.strip("|").split("|")[place].strip(" `"), row


@every_page
def test_extras_that_can_be_installed_are_declared(page: Path) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = re.findall(r"(?:histoeval|[\"'`]\.)\[([a-z,-]+)\]", page.read_text(encoding="utf-8"))
    for extras in named:
        assert set(extras.split(",")) <= declared["optional-dependencies"].keys(), extras


def test_the_extras_that_make_installs_are_those_that_readers_are_told() -> None:
    made = set(re.findall(r"EXTRA = (dev\S*)", (ROOT / "Makefile").read_text("utf-8")))
    for page in ("README.md", "CONTRIBUTING.md"):
        told = re.findall(r"\.\[(dev[a-z,-]*)\]", (ROOT / page).read_text("utf-8"))
        assert set(told) == made, page
