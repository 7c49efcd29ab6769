"""Entailment of pairs of premise and hypothesis by an NLI model."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from histoeval.errors import Problem
from histoeval.io.pairs import PairRow, PairSource, open_source
from histoeval.io.results import broken_row
from histoeval.io.store import RowStore
from histoeval.io.tables.columns import Columns
from histoeval.io.tables.records import shown
from histoeval.nli.entailer import Entailer, Entailment, NliPair
from histoeval.report import Noun
from histoeval.run.engines.engine import EXAMPLE, Task, gpu_use
from histoeval.run.pipeline import Job, RunOptions, answers
from histoeval.terms.language import Language, english_problem

COLUMNS = Columns(reference="premise", candidates=("hypothesis",))


class EntailedRow(Noun):
    """One pair with the three probabilities, or the reasons why it has none; never both."""

    id: str
    entailment: float | None = None
    neutral: float | None = None
    contradiction: float | None = None
    row: int | None = None
    errors: tuple[Problem, ...] = ()

    def line(self) -> bytes:
        if self.errors:
            content = broken_row(self.id, self.row, self.errors)
        else:
            content = self.model_dump(exclude={"row", "errors"})
        return json.dumps(content, ensure_ascii=False).encode() + b"\n"


def open_pairs(path: Path, encoding: str | None = None) -> PairSource:
    return open_source([path], COLUMNS, encoding)


def entail(
    source: PairSource,
    model: Entailer,
    output: Path,
    *,
    language: Language = "en",
    batch_size: int | None = None,
    **options: Unpack[RunOptions],
) -> dict[str, Any]:
    store = RowStore(output, EntailedRow.model_validate_json)
    return EntailJob(source, model, batch_size, language).run(store, **options).summary


class EntailTask(Task[PairRow, EntailedRow]):
    name = "entail"

    def __init__(self, model: Entailer, language: Language) -> None:
        self.model = model
        self.language = language
        self.on_gpu, self.shares_gpu = gpu_use([model])

    def work(self, rows: Sequence[PairRow]) -> list[EntailedRow]:
        for number, row in enumerate(rows := list(rows)):
            if (pair := row.pair) is not None:
                texts = {"premise": pair.reference, "hypothesis": pair.candidate}
                if no := english_problem(self.language, **texts):
                    rows[number] = row._replace(pair=None, problems=(no,))
        pairs = [
            NliPair(row.pair.reference, row.pair.candidate) for row in rows if row.pair is not None
        ]
        judged = iter(
            answers(self.model.judge, pairs, lambda why: Problem("model_failed", shown(why)))
        )
        return [_row(row, row.problems if row.pair is None else next(judged)) for row in rows]

    def failed(self, row: PairRow, problem: Problem) -> EntailedRow:
        return _row(row, problem)

    def examples(self) -> list[PairRow]:
        return [PairRow(1, EXAMPLE.id, EXAMPLE.system, EXAMPLE, ())]


class EntailJob(Job[PairRow, EntailedRow]):
    def __init__(
        self, source: PairSource, model: Entailer, batch_size: int | None, language: Language
    ) -> None:
        super().__init__(source, batch_size)
        self.language = language
        self.model = model
        self.task = EntailTask(model, language)
        self.labels: Counter[str] = Counter()

    def request(self) -> dict[str, Any]:
        asked = {} if self.language == "en" else {"language": self.language}
        return {n: value for n, value in super().request().items() if n != "columns"} | asked

    def _settings(self) -> dict[str, Any]:
        return {"model": self.model.identity}

    def _add(self, row: EntailedRow) -> None:
        super()._add(row)
        if not row.errors:
            entailment = Entailment(row.entailment or 0, row.neutral or 0, row.contradiction or 0)
            self.labels[entailment.label] += 1

    def _totals(self) -> dict[str, Any]:
        return {"labels": dict(sorted(self.labels.items()))}


def _row(row: PairRow, outcome: Entailment | Problem | tuple[Problem, ...]) -> EntailedRow:
    if isinstance(outcome, Entailment):
        return EntailedRow(id=row.id, **outcome._asdict())
    errors = (outcome,) if isinstance(outcome, Problem) else outcome
    return EntailedRow(id=row.id, row=row.number, errors=errors)
