"""The list of changes that tests must notice is kept up with the code (`make mutants` runs it)."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import mutation
from benchmarks.mutation import ListedMutant, listed_mutants
from histoeval.errors import SettingError
from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "histoeval"


@pytest.mark.parametrize("mutant", listed_mutants(), ids=lambda mutant: mutant.name)
def test_a_listed_change_can_be_made_and_its_tests_are_there(mutant: ListedMutant) -> None:
    source = (SOURCE / mutant.file).read_text("utf-8")
    ast.parse(mutant.applied(source))
    assert mutant.before != mutant.after
    for test in mutant.tests:
        file, _, name = test.partition("::")
        defined = ast.walk(ast.parse((ROOT / file).read_text("utf-8")))
        assert not name or name in {n.name for n in defined if isinstance(n, ast.FunctionDef)}


@pytest.mark.parametrize("source", ["x = 2\n", "x = 1\nx = 1\n"])
def test_a_rule_that_has_moved_is_told_and_not_skipped(source: str) -> None:
    mutant = ListedMutant("a rule", "harm", "rules.py", "x = 1", "x = 2", ("tests",))
    with pytest.raises(SettingError, match=r"a rule.*rules\.py.*not once"):
        mutant.applied(source)


RULE = '''"""A limit of 3."""
import re
LEAST = 4
WORDS = re.compile("x{3}", 2)
Kind = dict[str, int] | None

@cache(maxsize=8)
def severity(count: int = 1, of: Literal[2] = None) -> int | None:
    """At least 1."""
    if not count:
        raise ValueError(f"{count + 1}")
    return MAJOR if count >= LEAST and of else MINOR
'''


def test_changes_are_made_to_rules_and_to_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutation, "PACKAGE", tmp_path)
    (tmp_path / "rule.py").write_text(RULE)
    changes = mutation.mutants_of(tmp_path / "rule.py")
    assert Counter(change.lines[0] for change in changes) == {3: 2, 8: 2, 10: 3, 12: 8}
    for change in changes:
        assert ast.unparse(change.tree()) != ast.unparse(ast.parse(RULE))
        assert (change.function == ("severity", 7)) == (change.lines[0] > 8) == bool(change.code())
