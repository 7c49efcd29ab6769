"""Pairs from statements that fourteen language models wrote, each with others of known effect.

Every statement of a report comes with wordings that say the same, some that exclude it, and one
that it leaves open. The models were instructed what to vary and saw neither code nor tests.
"""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from pydantic import TypeAdapter

from histoeval.nli.entailer import Label, LabelledPair
from histoeval.report import Noun
from histoeval.resources import resource_path
from histoeval.terms.plain import is_held_out
from histoeval_research.train.nli.data import lines_of

FILE = "histoeval_research/train/nli/data/llm_statements.jsonl.gz"

_KEPT_BACK = 0.15
"""Share of the reports that no network learns from: there to develop on."""
_ALONE = 0.4
"""Share of premises that are the one statement and no more."""
_MOST_COMPANY = 3
_TURNED = 0.4
"""Share of contradictions with premise and hypothesis exchanged."""
_SHARES: tuple[tuple[Label, float], ...] = (
    ("entailment", 0.42),
    ("contradiction", 0.38),
    ("neutral", 0.2),
)


class StatementWordings(Noun):
    """A statement, and others that say the same, exclude it, or are left open by it."""

    text: str
    same: tuple[str, ...]
    opposite: tuple[str, ...]
    open: tuple[str, ...]


class StatementReport(Noun):
    """The statements of one report."""

    id: str
    organ: str
    statements: tuple[StatementWordings, ...]


class _Drawn(NamedTuple):
    premise: str
    hypothesis: str
    label: Label


@cache
def statement_reports(*, kept_back: bool) -> tuple[StatementReport, ...]:
    """The reports that networks learn from, or those that none does."""
    read = TypeAdapter(StatementReport).validate_json
    every = [read(line) for line in lines_of(resource_path(FILE))]
    return tuple(each for each in every if is_held_out(each.id, _KEPT_BACK) == kept_back)


def statement_pairs(count: int, seed: int, *, kept_back: bool = False) -> Iterator[LabelledPair]:
    """So many pairs: a statement alone or among others of its report, and one about it."""
    chance = random.Random(f"{seed}/statements")
    reports = statement_reports(kept_back=kept_back)
    labels, shares = zip(*_SHARES, strict=True)
    seen: set[tuple[str, str]] = set()
    for _ in range(count):
        report = chance.choice(reports)
        place = chance.randrange(len(report.statements))
        label = chance.choices(labels, shares)[0]
        drawn = _draw(report.statements, place, label, chance)
        if drawn is None or drawn[:2] in seen:
            continue
        seen.add(drawn[:2])
        yield LabelledPair(**drawn._asdict(), category="statement")


def written_statements() -> tuple[Sequence[str], ...]:
    """The statements of each report to learn from, in two wordings."""
    learned = statement_reports(kept_back=False)
    return (
        *([each.text for each in report.statements] for report in learned),
        *([each.same[0] for each in report.statements] for report in learned),
    )


def _draw(
    statements: Sequence[StatementWordings], place: int, label: Label, chance: random.Random
) -> _Drawn | None:
    about = statements[place]
    ways = [about.text, *about.same]
    said = chance.choice(ways)
    others = {
        "entailment": [way for way in ways if way != said],
        "contradiction": about.opposite,
        "neutral": about.open,
    }[label]
    if not others:
        return None
    hypothesis = chance.choice(others)
    if label == "contradiction" and chance.random() < _TURNED:
        said, hypothesis = hypothesis, said
    if chance.random() < _ALONE:
        return _Drawn(said, hypothesis, label)
    rest = [each for at, each in enumerate(statements) if at != place]
    company = chance.sample(rest, min(len(rest), chance.randint(1, _MOST_COMPANY)))
    premise = [chance.choice([each.text, *each.same]) for each in company]
    premise.insert(chance.randint(0, len(premise)), said)
    return _Drawn(" ".join(map(_ended, premise)), hypothesis, label)


def _ended(statement: str) -> str:
    return statement if statement.endswith((".", "!", "?")) else f"{statement}."
