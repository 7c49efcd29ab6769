"""Our reports for the rules of logic, read by the shipped reader, and a model of fixed answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest

from histoeval.nli.entailer import Entailment, NliPair
from histoeval.pathgls.logic.rules.registry import broken_rules
from histoeval.pathgls.logic.specimen import specimens_of
from histoeval.pathgls.results import Contradiction
from histoeval.report import Report
from tests.support.paths import DATA
from tests.support.shipped_models import shipped_reader

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet


class Case(NamedTuple):
    """A true report, the same with an error of a kind, and the same in other words."""

    id: str
    kind: str
    true: str
    wrong: str
    reworded: str


@cache
def cases() -> list[Case]:
    return [
        Case(
            row["id"],
            row["kind"],
            row["report"],
            row["report"].replace(*row["error"]),
            row["report"].replace(*row["rewording"]),
        )
        for row in rows("logic_reports")
    ]


@cache
def rows(file: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / f"{file}.jsonl").read_text("utf-8").splitlines()]


def errors_of(kind: str) -> list[ParameterSet]:
    """Every second report with an error of a kind, for `parametrize`."""
    return [pytest.param(each.wrong, id=each.id) for each in cases()[1::2] if each.kind == kind]


def reports(*ids: str) -> list[ParameterSet]:
    """Reports of `logic_more` and `logic_sites_grades` by their ids, for `parametrize`."""
    known = {row["id"]: row["report"] for row in (*rows("logic_more"), *rows("logic_sites_grades"))}
    return [pytest.param(known[id_], id=id_) for id_ in ids]


@cache
def read(text: str) -> Report:
    """A report as the shipped reader reads it, once for all tests."""
    (report,) = shipped_reader().read([text])
    return report


def contradictions(text: str) -> list[Contradiction]:
    return broken_rules(specimens_of(read(text))[0])


def rules_broken(text: str) -> set[str]:
    return {each.source.removeprefix("rule:") for each in contradictions(text)}


class FixedEntailer:
    """A model that gives each pair the contradiction a test wants."""

    identity = "fixed"

    def __init__(self, contradiction: float = 0.0, **of_words: float) -> None:
        self._otherwise = contradiction
        self._of_words = of_words
        self.judged: list[NliPair] = []

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        """The contradiction of the first word that stands in a hypothesis, or the usual one."""
        self.judged.extend(pairs)
        return [self._one(pair) for pair in pairs]

    def _one(self, pair: NliPair) -> Entailment:
        found = [p for word, p in self._of_words.items() if word in pair.hypothesis]
        share = found[0] if found else self._otherwise
        return Entailment(0.0, 1 - share, share)
