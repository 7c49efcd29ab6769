"""The list of changes that tests must notice is kept up with the code (`make mutants` runs it)."""

from __future__ import annotations

import ast

import pytest

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
