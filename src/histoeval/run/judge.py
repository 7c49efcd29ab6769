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
from histoeval.io.results import ResultFolder, ResultRow, files_of, write_json
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
from histoeval.run.pipeline import Watch, nobody_watches
from histoeval.run.score import run

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
    watch: Watch = nobody_watches,
) -> dict[str, Any]:
    """Judge every pair of a source, and return the summary with what it cost."""
    judges = judge_metrics(bench, prompt)
    panel = judges[-1]
    stability = AnswerStability(panel.loaded, bench.judges)

    def hear(row: ResultRow) -> None:
        """Collect what the judges said of a row, for how steady they are."""
        if panel.name in row.scores:
            stability.add(row.id, row.scores[panel.name].evidence)

    summary = run(
        source,
        [*judges, *beside],
        folder=folder,
        overwrite=overwrite,
        batch_size=batch_size,
        hear=hear,
        watch=watch,
    )
    summary["judge"] = _about(panel.loaded, bench) | stability.summary()
    usage = {judge: used.told(judge, prices) for judge, used in bench.usage.items()}
    if folder is not None:
        folder.finish(summary)
        with files_of(folder.path):
            write_json(folder.path / USAGE, usage)
            rows = zip(source.rows(), folder.finished(), strict=True)
            failed = rows if summary["rows_with_errors"] else ()
            _write_missing(folder.path / MISSING, failed, bench, panel.loaded)
    return summary | {"usage": usage}


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
