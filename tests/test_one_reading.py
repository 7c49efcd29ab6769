"""Clinical values and denial are read in `terms` alone: no other module has patterns for them.

A pattern that only finds a place (a heading, a sentence to skip) may name a margin or a grade; one
that tells which value it is, or whether it is denied, belongs to the module that the table "One
reading" in `docs/architecture.md` names.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "histoeval"
READERS = {"re.compile", "re.search", "re.match", "re.split", "re.sub", "re.findall", "any_of"}
VALUES = {
    "side": r"left\|right|right\|left",
    "grade": r"(?:well|poorly|moderately)\b.{0,60}differentiat|\b(?:low|high)\b.{0,12}grade",
    "stage": r"T\[[0-9a-z-]*[0-4]|stage.{0,12}(?:\[1|\[I|I\{)",
    "node": r"nodes?\??\b.{0,60}(?:involved|positive|negative|free)",
    "margin": r"margins?\??\b.{0,60}(?:involved|positive|negative|free|clear)",
    "denial": r"\bnot?\|.*\bwithout\b|\bwithout\|.*\bnot?\b|negative for|absence of|free of",
}
ALLOWED = {
    "concordance/specimens/content.py": "whether a part of a report holds a tumour at all",
    "concordance/specimens/statements.py": "whether two statements differ in a word of denial",
    "facts/facts.py": "values of a checklist that affirm its heading",
    "facts/names.py": "where the name of a diagnosis ends",
    "facts/sampled.py": "where a specimen is from, in the words of a heading",
    "facts/spread.py": "metastases by any word for them, with denial from terms.assertion",
    "pathgls/logic/places.py": "where a place stands in a sentence",
    "pathgls/logic/specimen.py": "a degree right before the name of a disease",
}
"""Modules that name such words without reading a value, and what they do instead."""


def patterns_of(path: Path) -> Iterator[str]:
    """The text of every regular expression that a module writes itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in READERS and node.args:
            parts = [c.value for c in ast.walk(node.args[0]) if isinstance(c, ast.Constant)]
            yield "".join(part for part in parts if isinstance(part, str))


def values_read(path: Path) -> set[str]:
    return {
        value
        for pattern in patterns_of(path)
        for value, words in VALUES.items()
        if re.search(words, pattern, re.IGNORECASE)
    }


def modules() -> dict[str, Path]:
    paths = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    return {name: path for name, path in paths.items() if not name.startswith("terms/")}


def test_no_module_outside_terms_reads_a_clinical_value_by_itself() -> None:
    private = {
        name: found
        for name, path in sorted(modules().items())
        if name not in ALLOWED and (found := values_read(path))
    }
    assert not private, f"ask the module in terms that docs/architecture.md names: {private}"


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_is_still_needed(name: str) -> None:
    assert values_read(modules()[name])


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r"\b(?:left|right)\b", "side"),
        (r"poorly[- ]differentiated", "grade"),
        (r"nodes? (?:are|is) (?:involved|free)", "node"),
        (r"margins [^.]{0,20}clear", "margin"),
        (r"\b(?:no|not|without)\b", "denial"),
    ],
)
def test_a_private_pattern_is_noticed(pattern: str, value: str, tmp_path: Path) -> None:
    path = tmp_path / "private.py"
    path.write_text(f"import re\nFOUND = re.compile({pattern!r})\n", encoding="utf-8")
    assert value in values_read(path)
