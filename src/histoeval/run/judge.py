"""Judging a file: a run of `score` with the files that only judges write.

Beside the files of every run the folder gets `missing.jsonl`, with the raw replies where no answer
could be read, and `usage.json`, with the cost of this run. The summary has under `judge` how
stable the answers were.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from histoeval.io.files import GUESS
from histoeval.io.pairs import PairRow, PairSource
from histoeval.io.results import ResultRow, result_folder
from histoeval.io.writing import whole_file, write_json, writing_to
from histoeval.judges.choice import named_panel
from histoeval.judges.panel import JudgePanel, JudgeSampling
from histoeval.judges.prompt import Prompt, load_prompt
from histoeval.judges.queue import cached_replies
from histoeval.judges.stability import AnswerStability, short_names
from histoeval.llm.replies import Unreadable
from histoeval.llm.usage import Prices, Usage, read_prices
from histoeval.metric import Metric
from histoeval.metrics.judge import JudgeMetric
from histoeval.progress import ignore
from histoeval.report import Pair
from histoeval.run.inputs import pair_source
from histoeval.run.models import load_metrics
from histoeval.run.pipeline import Watch
from histoeval.run.results import Scores
from histoeval.run.score import ScoreJob, ScoreTask, single_pairs
from histoeval.run.settings import JudgeSettings

MISSING, USAGE = "missing.jsonl", "usage.json"

FORMULA = "mean over criteria of (score - lowest) / (highest - lowest)"


def open_judged(settings: JudgeSettings) -> tuple[PairSource, JudgePanel]:
    load_prompt(settings.prompt)  # a wrong name is reported before any file is opened
    panel = named_panel(settings.llm, JudgeSampling(**settings.sampling))
    source = pair_source(
        settings.data,
        references=settings.references,
        candidates=settings.candidates,
        columns=settings.columns or GUESS,
        encoding=settings.encoding,
        truth=settings.truth,
        joining=settings.joining,
    )
    return source, panel


def prices_of(settings: JudgeSettings) -> Prices:
    return read_prices(None if settings.prices is None else Path(settings.prices))


def judge_metrics(panel: JudgePanel, prompt: str, alignment: str = "") -> list[JudgeMetric]:
    """Return the metric of the whole panel, after one for each judge if there are several.

    An alignment is of the panel: each judge's own scores stay as they are.
    """
    name = f"judge_{load_prompt(prompt).name}"
    seats = [
        JudgeMetric(name=f"{name}@{short_name}", judge=panel, prompt=prompt, seat=seat)
        for seat, short_name in enumerate(short_names(panel.judges))
        if len(panel.judges) > 1
    ]
    return [*seats, JudgeMetric(name=name, judge=panel, prompt=prompt, alignment=alignment)]


def run_judges(
    settings: JudgeSettings, source: PairSource, panel: JudgePanel, watch: Watch = ignore
) -> Scores:
    """Judge every pair of a source; the summary includes the cost."""
    prices = prices_of(settings)
    folder = result_folder(settings.output, settings.format)
    extra_metrics = load_metrics(settings.beside, settings.models) if settings.beside else []
    alignment = "" if settings.alignment is None else str(settings.alignment)
    texts = settings.texts
    job = JudgeJob(source, panel, settings.prompt, extra_metrics, settings.batch_size, alignment)
    usage: dict[str, Any] = {}

    def conclude(summary: dict[str, Any]) -> None:
        usage.update(
            {
                judge: judge_usage.summary(judge, prices)
                for judge, judge_usage in panel.usage.items()
            }
        )
        if folder is not None:
            with writing_to(folder.home):
                write_json(folder.home / USAGE, usage)
                rows = zip(source.rows(), folder, strict=True)
                failed_rows = rows if texts and summary["rows_with_errors"] else ()
                _write_missing(folder.home / MISSING, failed_rows, panel, job.metric.loaded)

    result = job.run(
        folder,
        overwrite=settings.overwrite,
        watch=watch,
        conclude=conclude,
        engine=settings.choose_engine(),
        texts=texts,
    )
    return Scores(result.summary | {"usage": usage}, result.rows)


class JudgeTask(ScoreTask):
    def __init__(
        self, metrics: Sequence[Metric], unavailable: Collection[str], panel: JudgePanel
    ) -> None:
        super().__init__(metrics, unavailable)
        self._panel = panel
        self._home = os.getpid()

    def take_usage(self) -> dict[str, Usage] | None:
        if os.getpid() == self._home:
            return None
        self._panel.close()
        return {judge: usage.take() for judge, usage in self._panel.usage.items()}


class JudgeJob(ScoreJob):
    def __init__(
        self,
        source: PairSource,
        panel: JudgePanel,
        prompt: str,
        beside: Sequence[Metric],
        batch_size: int | None,
        alignment: str = "",
    ) -> None:
        judges = judge_metrics(panel, prompt, alignment)
        super().__init__(source, [*judges, *beside], batch_size)
        self.block_rows = max(16, panel.concurrency)
        self.task = JudgeTask(self.metrics, self.unavailable, panel)
        self.panel = panel
        self.metric = judges[-1]
        self.stability = AnswerStability(self.metric.loaded, panel.judges)

    def charge(self, usage: Mapping[str, Usage] | None) -> None:
        for judge, judge_usage in (usage or {}).items():
            self.panel.usage[judge].add(judge_usage)

    def _add(self, row: ResultRow) -> None:
        super()._add(row)
        if self.metric.name in row.scores:
            result = row.scores[self.metric.name]
            self.stability.add(row.id, result.evidence, result.parts)

    def summary(self) -> dict[str, Any]:
        prompt = self.metric.loaded
        judge_info = {
            "prompt": {"name": prompt.name, "version": prompt.version, "hash": prompt.hash},
            "judges": list(self.panel.judges),
            "manner": self.panel.manner.identity,
            "value": FORMULA,
        }
        return super().summary() | {"judge": judge_info | self.stability.summary()}


def pairs_of(source: PairSource) -> Iterator[Pair]:
    return (pair for row in source.rows() if row.pair for pair in single_pairs(row.pair))


def _write_missing(
    path: Path, rows: Iterable[tuple[PairRow, ResultRow]], panel: JudgePanel, prompt: Prompt
) -> None:
    with whole_file(path) as file:
        for row, result in rows:
            if row.pair is None or not result.errors:
                continue
            questions = [
                question
                for pair in single_pairs(row.pair)
                for question in panel.questions(prompt, pair)
            ]
            for question in questions:
                replies = cached_replies(panel.cache, question)
                try:
                    is_readable = bool(replies) and bool(prompt.read(replies[-1]))
                except Unreadable:
                    is_readable = False
                if not is_readable:
                    entry = {
                        "id": row.id,
                        "system": row.system,
                        "judge": question.judge,
                        "repeat": question.repeat,
                        "order": question.order,
                        "raw": replies,
                    }
                    line = json.dumps(entry, ensure_ascii=False) + "\n"
                    file.write(line.encode("utf-8", "backslashreplace"))
