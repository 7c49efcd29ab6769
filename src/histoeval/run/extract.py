"""A model on each row: reports by a reader, and pairs of premise and hypothesis by an NLI model."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Unpack

from histoeval.errors import Problem
from histoeval.io.pairs import PairRow, PairSource, open_source
from histoeval.io.reports import TextRow, TextSource
from histoeval.io.results import ReadRow, broken_row
from histoeval.io.store import RowStore
from histoeval.io.tables.columns import Columns
from histoeval.io.tables.records import shown
from histoeval.nli.entailer import Entailer, Entailment, NliPair
from histoeval.progress import row_progress
from histoeval.reader.reader import Reader
from histoeval.report import EntityType, Noun, Report
from histoeval.run.engines.engine import EXAMPLE, Task, gpu_use
from histoeval.run.inputs import text_source
from histoeval.run.models import Models, load_reader
from histoeval.run.pipeline import Job, RunOptions, RunResult, answers
from histoeval.run.settings import ExtractSettings
from histoeval.terms.language import Language, english_problem


def run_extract(settings: ExtractSettings) -> RunResult[ReadRow]:
    file = None if settings.output is None else RowStore(Path(settings.output), ReadRow.of_line)
    source = open_texts(settings)
    models = settings.models or Models()
    job = ExtractJob(source, load_reader(models), settings.batch_size, models.language)
    with row_progress(source, "reading") as watch:
        return job.run(
            file,
            overwrite=settings.overwrite,
            watch=watch,
            engine=settings.choose_engine(),
            texts=settings.texts,
        )


def open_texts(settings: ExtractSettings) -> TextSource:
    return text_source(
        settings.data, text=settings.text, id_=settings.id, encoding=settings.encoding
    )


def first_rows(settings: ExtractSettings, count: int) -> list[ReadRow]:
    """Extract the first few rows only."""
    source = open_texts(settings)
    models = settings.models or Models()
    task = ExtractTask(load_reader(models), models.language)
    return task.work(list(islice(source.rows(), count)))


class ExtractTask(Task[TextRow, ReadRow]):
    name = "extract"

    def __init__(self, reader: Reader, language: Language = "en") -> None:
        self.reader = reader
        self.language = language
        self.on_gpu, self.shares_gpu = gpu_use([reader])

    def work(self, rows: Sequence[TextRow]) -> list[ReadRow]:
        for index, row in enumerate(rows := list(rows)):
            problem = None if row.text is None else english_problem(self.language, report=row.text)
            rows[index] = row if problem is None else row._replace(text=None, problems=(problem,))
        texts = [row.text for row in rows if row.text is not None]
        outcomes = iter(answers(self._read, texts, read_failed))
        return [_row(row, row.problems if row.text is None else next(outcomes)) for row in rows]

    def failed(self, row: TextRow, problem: Problem) -> ReadRow:
        return _row(row, problem)

    def examples(self) -> list[TextRow]:
        return [TextRow(1, EXAMPLE.id, EXAMPLE.reference, ())]

    def _read(self, texts: Sequence[str]) -> Sequence[Report]:
        """Read reports, and check that there is one for each text, of that very text."""
        reports = self.reader.read(texts)
        if len(reports) != len(texts):
            raise ValueError(f"{len(reports)} reports for {len(texts)} texts")
        for report, text in zip(reports, texts, strict=True):
            if not isinstance(report, Report) or report.text != text:
                raise ValueError("what came back is not a report of the text")
        return reports


class ExtractJob(Job[TextRow, ReadRow]):
    def __init__(
        self,
        source: TextSource,
        reader: Reader,
        batch_size: int | None = None,
        language: Language = "en",
    ) -> None:
        super().__init__(source, batch_size)
        self.language = language
        self.reader = reader
        self.task = ExtractTask(reader, language)
        self.entities: Counter[str] = Counter()
        self.relations: Counter[str] = Counter()

    def request(self) -> dict[str, Any]:
        language_setting = {} if self.language == "en" else {"language": self.language}
        return super().request() | {"dtype": getattr(self.reader, "dtype", None)} | language_setting

    def _settings(self) -> dict[str, Any]:
        return {"reader": self.reader.identity}

    def _is_result(self, row: ReadRow, source_row: TextRow) -> bool:
        if row.id != source_row.id or row.report is None:
            return row.id == source_row.id
        result_text, source_text = row.report.text, source_row.text or ""
        return result_text == source_text if self.texts else len(result_text) == len(source_text)

    def _add(self, row: ReadRow) -> None:
        super()._add(row)
        if row.report is not None:
            self.entities.update(str(entity.type) for entity in row.report.entities)
            kinds = map(row.report.relation_type, row.report.relations)
            self.relations.update("-".join(kind) for kind in kinds)

    def _totals(self) -> dict[str, Any]:
        return {
            "entities": {str(kind): count for kind in EntityType if (count := self.entities[kind])},
            "relations": dict(sorted(self.relations.items())),
        }


def read_failed(message: str) -> Problem:
    return Problem(code="reader_failed", message=shown(message))


def _row(row: TextRow, outcome: Report | Problem | tuple[Problem, ...]) -> ReadRow:
    if isinstance(outcome, Report):
        return ReadRow(id=row.id, report=outcome)
    errors = (outcome,) if isinstance(outcome, Problem) else outcome
    return ReadRow(id=row.id, row=row.number, errors=errors)


# --- entailment ----------------------------------------------------------------------------------

PREMISES = Columns(reference="premise", candidates=("hypothesis",))


class EntailedRow(Noun):
    """One pair with its three probabilities, or the reasons why it has none; never both."""

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
    return open_source([path], PREMISES, encoding)


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
        for index, row in enumerate(rows := list(rows)):
            if (pair := row.pair) is not None:
                texts = {"premise": pair.reference, "hypothesis": pair.candidate}
                if problem := english_problem(self.language, **texts):
                    rows[index] = row._replace(pair=None, problems=(problem,))
        pairs = [
            NliPair(row.pair.reference, row.pair.candidate) for row in rows if row.pair is not None
        ]
        outcomes = iter(
            answers(
                self.model.judge, pairs, lambda message: Problem("model_failed", shown(message))
            )
        )
        return [
            _entailed_row(row, row.problems if row.pair is None else next(outcomes)) for row in rows
        ]

    def failed(self, row: PairRow, problem: Problem) -> EntailedRow:
        return _entailed_row(row, problem)

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
        language_setting = {} if self.language == "en" else {"language": self.language}
        return {
            name: value for name, value in super().request().items() if name != "columns"
        } | language_setting

    def _settings(self) -> dict[str, Any]:
        return {"model": self.model.identity}

    def _add(self, row: EntailedRow) -> None:
        super()._add(row)
        if not row.errors:
            entailment = Entailment(row.entailment or 0, row.neutral or 0, row.contradiction or 0)
            self.labels[entailment.label] += 1

    def _totals(self) -> dict[str, Any]:
        return {"labels": dict(sorted(self.labels.items()))}


def _entailed_row(row: PairRow, outcome: Entailment | Problem | tuple[Problem, ...]) -> EntailedRow:
    if isinstance(outcome, Entailment):
        return EntailedRow(id=row.id, **outcome._asdict())
    errors = (outcome,) if isinstance(outcome, Problem) else outcome
    return EntailedRow(id=row.id, row=row.number, errors=errors)
