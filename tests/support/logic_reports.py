"""Our own reports with a logic error and a harmless rewording each, read by the builtin reader."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from histoeval.extract.builtin import BuiltinReader
from histoeval.nli.entailer import Entailment, NliPair
from histoeval.report import Report
from tests.support.paths import DATA

FILE = DATA / "logic_reports.jsonl"


class Case(NamedTuple):
    """A true report, the same with an error of a kind, and the same in other words."""

    id: str
    kind: str
    true: str
    wrong: str
    reworded: str


def cases() -> list[Case]:
    """All that the file holds."""
    rows = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    return [
        Case(
            row["id"],
            row["kind"],
            row["report"],
            row["report"].replace(*row["error"]),
            row["report"].replace(*row["rewording"]),
        )
        for row in rows
    ]


@cache
def _reader() -> BuiltinReader:
    return BuiltinReader(threads=1)


@cache
def _read_before() -> dict[str, Report]:
    """The reports that most tests look at, read together."""
    texts = [text for case in cases()[1::2] for text in (case.true, case.wrong)]
    return dict(zip(texts, _reader().read(texts), strict=True))


@cache
def read(text: str) -> Report:
    """A report as the builtin reader reads it, once for all tests."""
    if (known := _read_before().get(text)) is not None:
        return known
    (report,) = _reader().read([text])
    return report


class Says:
    """A model that gives each pair the contradiction a test wants."""

    identity = "says"

    def __init__(self, contradiction: float = 0.0, **of_words: float) -> None:
        self._otherwise = contradiction
        self._of_words = of_words
        self.asked: list[NliPair] = []

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        """The contradiction of the first word that stands in a hypothesis, or the usual one."""
        self.asked.extend(pairs)
        return [self._one(pair) for pair in pairs]

    def _one(self, pair: NliPair) -> Entailment:
        found = [p for word, p in self._of_words.items() if word in pair.hypothesis]
        share = found[0] if found else self._otherwise
        return Entailment(0.0, 1 - share, share)
