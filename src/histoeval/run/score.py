"""Scoring pairs with metrics: every metric on every pair, and no failure of one costs another."""

import gc
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from platform import python_version
from typing import Any, Protocol, Unpack, runtime_checkable

from histoeval.argument_names import in_shell
from histoeval.errors import Problem, SettingError
from histoeval.io.finished_run import RowTexts, write_texts
from histoeval.io.pairs import PairRow, PairSource
from histoeval.io.results import MetricResult, ResultFolder, ResultRow, result_folder
from histoeval.io.store import RowStore
from histoeval.io.tables.columns import ReferenceMode
from histoeval.metric import Metric, Score, Signature
from histoeval.metrics.base import AdaptedMetric, one_each
from histoeval.progress import row_progress
from histoeval.report import Pair, PairWithReferences
from histoeval.run.engines.engine import Block, Task, example_pairs, gpu_use, models_of
from histoeval.run.inputs import pair_source
from histoeval.run.models import load_metrics, metric_names
from histoeval.run.pipeline import Job, RunOptions, answers
from histoeval.run.results import Scores
from histoeval.run.settings import ScoreSettings
from histoeval.run.totals import Totals
from histoeval.version import __version__

LIBRARIES = (
    "numpy sacrebleu rouge-score nltk rapidfuzz onnxruntime tokenizers torch transformers".split()
)

# Texts that are read ahead, so that memory stays flat where reports are long.
AHEAD_CHARACTERS = 8_000_000


def run_score(settings: ScoreSettings) -> Scores:
    names = settings.metrics
    if isinstance(names, str):
        metric_names(names)  # a typo is reported before any file is opened
    folder = result_folder(settings.output, settings.format)
    source = pair_source(
        settings.data,
        references=settings.references,
        candidates=settings.candidates,
        columns=settings.columns,
        encoding=settings.encoding,
        truth=settings.truth,
        joining=settings.joining,
    )
    metrics = load_metrics(names, settings.models)
    if in_shell():
        gc.freeze()  # models and libraries stay: collecting garbage need not look through them
    with row_progress(source) as watch:
        return score_source(
            source,
            metrics,
            folder,
            overwrite=settings.overwrite,
            batch_size=settings.batch_size,
            watch=watch,
            engine=settings.choose_engine(),
            texts=settings.texts,
        )


def score_source(
    source: PairSource,
    metrics: Sequence[Metric],
    store: ResultFolder | None = None,
    *,
    batch_size: int | None = None,
    **options: Unpack[RunOptions],
) -> Scores:
    result = ScoreJob(source, metrics, batch_size).run(store, **options)
    return Scores(result.summary, result.rows, result.seconds)


# --- several references for a case ---------------------------------------------------------------
# A candidate is scored against each, and the best or the mean counts. Each score says in its
# evidence, under `references`, which reference was the best and what every one of them gave.
# Matches, errors and other evidence are those of the best.

# Parts of every score: its value by the best reference, and by the mean over all.
BEST, MEAN = "references_best", "references_mean"


def references_of(pair: Pair) -> tuple[str, ...]:
    return pair.references if isinstance(pair, PairWithReferences) else (pair.reference,)


def single_pairs(pair: Pair) -> list[Pair]:
    return [
        Pair(id=pair.id, reference=text, candidate=pair.candidate, system=pair.system)
        for text in references_of(pair)
    ]


class SeveralReferences(AdaptedMetric):
    def __init__(self, metric: Metric, mode: ReferenceMode) -> None:
        super().__init__(metric)
        self.mode = mode

    @property
    def signature(self) -> Signature:
        metric_signature = super().signature
        return metric_signature.model_copy(
            update={"settings": {**metric_signature.settings, "references": self.mode}}
        )

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """One answer per pair; where one reference cannot be scored, the pair has no score."""
        single = [single_pair for pair in pairs for single_pair in single_pairs(pair)]
        answers = iter(self._metric.score(single))
        return [self._together([*islice(answers, len(references_of(pair)))]) for pair in pairs]

    def _together(self, answers: Sequence[Score | Problem]) -> Score | Problem:
        scores = [answer for answer in answers if isinstance(answer, Score)]
        if len(scores) < len(answers):
            return next(answer for answer in answers if isinstance(answer, Problem))
        values = [score.value for score in scores]
        best_index = values.index(max(values) if self.higher_is_better else min(values))
        mean = sum(values) / len(values)
        best_score = scores[best_index]
        is_best = self.mode == "best"
        parts = dict(best_score.parts)
        if not is_best:  # each part over the references that have it
            names = dict.fromkeys(name for score in scores for name in score.parts)
            part_numbers = {
                name: [score.parts[name] for score in scores if name in score.parts]
                for name in names
            }
            parts = {name: sum(numbers) / len(numbers) for name, numbers in part_numbers.items()}
        columns = zip(*(score.counts for score in scores), strict=True)
        counts = tuple(sum(column) / len(scores) for column in columns)
        reference_scores = [{"value": score.value, "parts": dict(score.parts)} for score in scores]
        reference_info = {"taken": self.mode, "best": best_index + 1, "scores": reference_scores}
        return best_score.model_copy(
            update={
                "value": values[best_index] if is_best else mean,
                "parts": parts | {BEST: values[best_index], MEAN: mean},
                "evidence": {**best_score.evidence, "references": reference_info},
                "counts": best_score.counts if is_best else counts,
                "signature": self.signature,
            }
        )


class PrefetchingReferences(SeveralReferences):
    @property
    def ahead(self) -> int:
        return int(self._metric.ahead)

    def prefetch(self, pairs: Sequence[Pair]) -> None:
        self._metric.prefetch([single_pair for pair in pairs for single_pair in single_pairs(pair)])

    def stop_prefetch(self) -> None:
        self._metric.stop_prefetch()


def with_references(metrics: Sequence[Metric], mode: ReferenceMode | None) -> Iterator[Metric]:
    for metric in metrics:
        if mode is None:
            yield metric
        else:
            wrapper = PrefetchingReferences if hasattr(metric, "prefetch") else SeveralReferences
            yield wrapper(metric, mode)


# --- the job -------------------------------------------------------------------------------------


@runtime_checkable
class Prefetching(Protocol):
    """A metric that can start on pairs before they are scored, as LLM judges do."""

    @property
    def ahead(self) -> int: ...  # how many pairs it wants to know in advance

    def prefetch(self, pairs: Sequence[Pair]) -> None: ...

    def stop_prefetch(self) -> None: ...


def read_ahead(
    blocks: Iterable[Block[PairRow]], metrics: Sequence[Prefetching]
) -> Iterator[Block[PairRow]]:
    """Yield the blocks, each some time after the metrics have seen it."""
    waiting: deque[tuple[Block[PairRow], int]] = deque()
    rows = characters = 0
    ahead = max([metric.ahead for metric in metrics], default=0)
    for block in blocks:
        pairs = [row.pair for row in block.rows if row.pair is not None]
        for metric in metrics:
            metric.prefetch(pairs)
        size = sum(len(pair.reference) + len(pair.candidate) for pair in pairs)
        waiting.append((block, size))
        rows, characters = rows + len(block.rows), characters + size
        while waiting and (rows > ahead or characters > AHEAD_CHARACTERS):
            oldest, size = waiting.popleft()
            rows, characters = rows - len(oldest.rows), characters - size
            yield oldest
    yield from (block for block, _ in waiting)


class ScoreTask(Task[PairRow, ResultRow]):
    """Every metric on pairs; metrics that cannot run here are problems of each pair."""

    def __init__(self, metrics: Sequence[Metric], unavailable: Collection[str]) -> None:
        self.metrics = metrics
        self.unavailable = unavailable
        runnable = [metric for metric in metrics if metric.name not in unavailable]
        self._slow = [metric for metric in runnable if isinstance(metric, Prefetching)]
        self.on_gpu, self.shares_gpu = gpu_use(models_of(runnable))
        self.parallel = not self._slow
        self.name = f"score with {', '.join(metric.name for metric in metrics)}"

    def work(self, rows: Sequence[PairRow]) -> list[ResultRow]:
        pairs = [row.pair for row in rows if row.pair is not None]
        columns = {metric.name: iter(self._ask(metric, pairs)) for metric in self.metrics}
        return [_result(row, columns) for row in rows]

    def failed(self, row: PairRow, problem: Problem) -> ResultRow:
        return ResultRow(id=row.id, system=row.system, row=row.number, errors=(problem,))

    def examples(self) -> list[PairRow]:
        pairs = example_pairs(self.metrics)
        return [PairRow(1, pair.id, pair.system, pair, ()) for pair in pairs]

    def _ask(self, metric: Metric, pairs: Sequence[Pair]) -> list[Score | Problem]:
        name = metric.name
        if name in self.unavailable:
            reason = f"{name} cannot run here: `histoeval metrics {name}` says why"
            return [Problem(code="metric_unavailable", metric=name, message=reason)] * len(pairs)
        return answers(
            lambda batch: one_each(metric.score(batch), batch),
            pairs,
            lambda message: Problem(code="metric_failed", metric=name, message=message),
        )

    @contextmanager
    def ahead(self, blocks: Iterable[Block[PairRow]]) -> Iterator[Iterable[Block[PairRow]]]:
        """Judges begin with pairs before their turn."""
        try:
            yield read_ahead(blocks, self._slow) if self._slow else blocks
        finally:
            for metric in self._slow:
                metric.stop_prefetch()


class ScoreJob(Job[PairRow, ResultRow]):
    block_characters = 4_000_000
    tally: Totals

    def __init__(
        self, source: PairSource, metrics: Sequence[Metric], batch_size: int | None = None
    ) -> None:
        super().__init__(source, batch_size)
        self.metrics = metrics = [*with_references(metrics, source.joining.references)]
        self.tally = Totals(metrics)
        reasons = {metric.name: metric.unavailable_reason() for metric in metrics}
        self.unavailable = {name: reason for name, reason in reasons.items() if reason is not None}
        if len(self.unavailable) == len(metrics):
            raise SettingError(
                "\n".join(f"{name} {reason}" for name, reason in self.unavailable.items())
            )
        self.task = ScoreTask(metrics, self.unavailable)

    def keep_texts(self, store: RowStore[ResultRow]) -> None:
        is_packed = store.packed.suffix != ".jsonl"
        write_texts(store.home, map(_texts, self.source.rows()), packed=is_packed)

    def request(self) -> dict[str, Any]:
        signatures = {metric.name: str(metric.signature) for metric in self.metrics}
        return super().request() | {"metrics": signatures}

    def summary(self) -> dict[str, Any]:
        versions = {"python": python_version()}
        for library in LIBRARIES:
            with suppress(PackageNotFoundError):
                versions[library] = version(library)
        return {"histoeval": __version__, **super().summary(), "versions": versions}

    def _totals(self) -> dict[str, Any]:
        return {
            "scores": self.tally.scores,
            "metrics": self.tally.by_metric(),
            "unavailable": self.unavailable,
        }

    def _is_result(self, row: ResultRow, source_row: PairRow) -> bool:
        return (row.id, row.system, row.row) == (
            source_row.id,
            source_row.system,
            source_row.number,
        )

    def _add(self, row: ResultRow) -> None:
        self.tally.add(row)


def _result(row: PairRow, columns: dict[str, Iterator[Score | Problem]]) -> ResultRow:
    if row.pair is None:
        return ResultRow(id=row.id, system=row.system, row=row.number, errors=row.problems)
    metric_answers = {name: next(column) for name, column in columns.items()}
    return ResultRow(
        id=row.id,
        system=row.pair.system,
        row=row.number,
        scores={
            name: MetricResult.of(answer)
            for name, answer in metric_answers.items()
            if isinstance(answer, Score)
        },
        errors=tuple(answer for answer in metric_answers.values() if isinstance(answer, Problem)),
    )


def _texts(row: PairRow) -> RowTexts:
    if row.pair is None:
        return {"id": row.id, "reference": None, "candidate": None}
    texts = {"id": row.id, "reference": row.pair.reference, "candidate": row.pair.candidate}
    extra_references = references_of(row.pair)[1:]
    return texts | {
        f"reference_{number}": text for number, text in enumerate(extra_references, start=2)
    }
