"""Judging a file: the run of `score`, and what only judges leave behind.

Beside the files of every run the folder gets `missing.jsonl`, with all that was said where no
answer could be read, and `usage.json`, with what this very run cost. The summary says under `judge`
how steady the answers were.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from histoeval.io.pairs import PairRow, PairSource
from histoeval.io.results import ResultFolder, ResultRow
from histoeval.io.store import write_json, writing_to
from histoeval.judge.answer import read_answer
from histoeval.judge.panel import JudgePanel
from histoeval.judge.prompt import Prompt
from histoeval.judge.question import Question, cached_replies
from histoeval.judge.stability import AnswerStability
from histoeval.llm.replies import Unreadable
from histoeval.llm.usage import Prices
from histoeval.metric import Metric
from histoeval.metrics.judge import JudgeMetric
from histoeval.report import Pair
from histoeval.run.pipeline import Watch, no_progress
from histoeval.run.score import ScoreJob

MISSING, USAGE = "missing.jsonl", "usage.json"

FORMULA = "mean over criteria of (score - lowest) / (highest - lowest)"


def judge_metrics(bench: JudgePanel, prompt: str) -> list[JudgeMetric]:
    """What all judges say, and where there are several, before it what each of them says."""
    panel = JudgeMetric(name="judge", judge=bench, prompt=prompt)
    name = f"judge_{panel.loaded.name}"
    seats = [
        JudgeMetric(name=f"{name}@{short}", judge=bench, prompt=prompt, seat=place)
        for place, short in enumerate(_short_names(bench.judges))
        if len(bench.judges) > 1
    ]
    return [*seats, JudgeMetric(name=name, judge=bench, prompt=prompt)]


def run_judges(
    source: PairSource,
    bench: JudgePanel,
    prompt: str,
    prices: Prices,
    *,
    beside: Sequence[Metric] = (),
    folder: ResultFolder | None = None,
    overwrite: bool = False,
    batch_size: int = 512,
    watch: Watch = no_progress,
) -> dict[str, Any]:
    """Judge every pair of a source, and return the summary with what it cost."""
    job = JudgeJob(source, bench, prompt, beside, batch_size)
    done = job.run(folder, overwrite=overwrite, watch=watch)
    usage = {judge: used.told(judge, prices) for judge, used in bench.usage.items()}
    if folder is not None:
        with writing_to(folder.home):
            write_json(folder.home / USAGE, usage)
            rows = zip(source.rows(), folder, strict=True)
            failed = rows if done.summary["rows_with_errors"] else ()
            _write_missing(folder.home / MISSING, failed, bench, job.panel.loaded)
    return done.summary | {"usage": usage}


class JudgeJob(ScoreJob):
    """Every judge on every pair, beside other metrics, and how stable the answers are."""

    def __init__(
        self,
        source: PairSource,
        bench: JudgePanel,
        prompt: str,
        beside: Sequence[Metric],
        batch_size: int,
    ) -> None:
        judges = judge_metrics(bench, prompt)
        super().__init__(source, [*judges, *beside], batch_size)
        self.bench = bench
        self.panel = judges[-1]
        self.stability = AnswerStability(self.panel.loaded, bench.judges)

    def _add(self, row: ResultRow) -> None:
        super()._add(row)
        if self.panel.name in row.scores:
            self.stability.add(row.id, row.scores[self.panel.name].evidence)

    def summary(self) -> dict[str, Any]:
        """The summary of `score`, and under `judge` how stable the answers are."""
        about = _about(self.panel.loaded, self.bench) | self.stability.summary()
        return super().summary() | {"judge": about}


def pairs_of(source: PairSource) -> Iterator[Pair]:
    """The pairs that would be judged."""
    return (row.pair for row in source.rows() if row.pair is not None)


def _about(prompt: Prompt, bench: JudgePanel) -> dict[str, Any]:
    return {
        "prompt": {"name": prompt.name, "version": prompt.version, "hash": prompt.hash},
        "judges": list(bench.judges),
        "manner": bench.manner.identity,
        "value": FORMULA,
    }


def _short_names(judges: Sequence[str]) -> list[str]:
    """Judges by their models, where that tells them apart."""
    models = [judge.rpartition("@")[0] for judge in judges]
    times = Counter(models)
    return [
        model if times[model] == 1 else judge for model, judge in zip(models, judges, strict=True)
    ]


def _write_missing(
    path: Path, rows: Iterable[tuple[PairRow, ResultRow]], bench: JudgePanel, prompt: Prompt
) -> None:
    """Every question of a row with errors that has no answer, with the raw replies."""
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        for row, found in rows:
            if row.pair is None or not found.errors:
                continue
            for question in bench.questions(prompt, row.pair):
                said = cached_replies(bench.cache, question)
                if not _readable(said, prompt):
                    about = {"id": row.id, "system": row.system, **_told(question)}
                    file.write(json.dumps(about | {"raw": said}, ensure_ascii=False) + "\n")


def _readable(said: Sequence[str], prompt: Prompt) -> bool:
    try:
        return bool(said) and bool(read_answer(said[-1], prompt))
    except Unreadable:
        return False


def _told(question: Question) -> dict[str, Any]:
    return {"judge": question.judge, "repeat": question.repeat, "order": question.order}
