"""Trust in many reports: grounding, logic and stability of each, and the verdict on it."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from histoeval.errors import Problem
from histoeval.io.finished_run import write_texts
from histoeval.io.images import refuse_changed
from histoeval.io.reports import CaseSource, TrustCase
from histoeval.io.store import RowStore
from histoeval.io.writing import protecting
from histoeval.pathgls.fusion import ROUTES
from histoeval.pathgls.grounding.panel import panel_identity
from histoeval.pathgls.logic.score import signature_of
from histoeval.pathgls.policy.policy import DIMENSIONS
from histoeval.run.engines.engine import INLINE, Engine, Task, gpu_use
from histoeval.run.pipeline import Job, Watch, no_progress, write_nothing
from histoeval.run.results import Verdicts
from histoeval.run.totals import ExactSum
from histoeval.run.trust.case import Instruments, Verdict, judge_case, unjudged
from histoeval.run.trust.finished import keep_patch_scores
from histoeval.run.trust.rows import TrustFolder, TrustRow
from histoeval.version import __version__

Illustrate = Callable[[Verdict], TrustRow]
"""Draws pictures of the evidence of a verdict, and returns its row with their names."""


def trust_source(
    source: CaseSource,
    tools: Instruments,
    folder: TrustFolder | None = None,
    *,
    illustrate: Illustrate | None = None,
    overwrite: bool = False,
    watch: Watch = no_progress,
    conclude: Callable[[dict[str, Any]], None] = write_nothing,
    engine: Engine = INLINE,
    batch_size: int | None = None,
    texts: bool = True,
) -> Verdicts:
    """Judge every report of a source; with a folder, a stopped run resumes.

    `illustrate` is called for each verdict before its row is written, `conclude` with the summary.
    Without `texts` no word of a report is in the results, and there are no pictures or patches,
    which name claims.
    """
    place = None if folder is None or not texts else folder.folder
    job = TrustJob(source, tools, illustrate if texts else None, place, batch_size)
    images: Iterator[Path] = iter(())
    if folder is not None and folder.evidence.is_dir():
        # some may lie among the pictures of the evidence, and be replaced by them
        cases = (case.image for case in source.rows())
        images = (source.folder / image for image in cases if isinstance(image, str))
    with protecting(images):
        done = job.run(
            folder, overwrite=overwrite, watch=watch, conclude=conclude, engine=engine, texts=texts
        )
    return Verdicts(done.summary, done.rows)


class TrustTask(Task[TrustCase, TrustRow]):
    """The three dimensions of reports, their trust, and the verdict."""

    name = "trust"
    small = 2

    def __init__(
        self, tools: Instruments, images: Path, illustrate: Illustrate | None, folder: Path | None
    ) -> None:
        self.tools = tools
        self.images = images
        self.illustrate = illustrate
        self.folder = folder
        models = (tools.reader, tools.entailer, tools.encoder, *tools.further)
        self.on_gpu, self.shares_gpu = gpu_use(models)
        self.parallel = tools.asking is None

    def work(self, rows: Sequence[TrustCase]) -> list[TrustRow]:
        """The verdict on each case, its pictures drawn where they are wanted."""
        verdicts = [judge_case(case, self.images, self.tools) for case in rows]
        if self.folder is not None:
            for verdict in verdicts:
                keep_patch_scores(verdict, self.folder, self.tools)
        if self.illustrate is None:
            return [verdict.row for verdict in verdicts]
        return [self.illustrate(verdict) for verdict in verdicts]

    def failed(self, row: TrustCase, problem: Problem) -> TrustRow:
        """A report on which there is no verdict, and which is never deployed."""
        return unjudged(row, problem, self.tools.policy)


class TrustJob(Job[TrustCase, TrustRow]):
    """The three dimensions of each report, its trust, and the verdict."""

    block_rows = 1

    source: CaseSource

    def __init__(
        self,
        source: CaseSource,
        tools: Instruments,
        illustrate: Illustrate | None = None,
        folder: Path | None = None,
        batch_size: int | None = None,
    ) -> None:
        super().__init__(source, batch_size)
        self.tools = tools
        self.illustrate = illustrate
        self.task = TrustTask(tools, source.folder, illustrate, folder)
        self._sums = {name: ExactSum() for name in (*DIMENSIONS, "trust")}
        self._known: Counter[str] = Counter()
        self._routes: Counter[str] = Counter()
        self._cancer_checks: Counter[str] = Counter()

    def keep_texts(self, store: RowStore[TrustRow]) -> None:
        """The report of each case."""
        cases = self.source.rows()
        write_texts(store.path.parent, ({"id": each.id, "report": each.report} for each in cases))

    def request(self) -> dict[str, Any]:
        """The input, its columns, and every instrument and setting."""
        logic = signature_of(self.tools.entailer, self.tools.top)
        return super().request() | {"pictures": self.illustrate is not None, "logic": logic}

    def summary(self) -> dict[str, Any]:
        """Settings, counts and means."""
        found = super().summary()
        return {"input": found.pop("input"), "histoeval": __version__, **found}

    def _settings(self) -> dict[str, Any]:
        tools = self.tools
        encoder, asking, tiling = tools.encoder, tools.asking, tools.tiling
        if encoder is None or isinstance(encoder, Problem):
            seen_by = encoder.code if encoder else None
        else:
            seen_by = panel_identity([each.identity for each in (encoder, *tools.further)])
        return {
            "reader": tools.reader.identity,
            "nli": tools.entailer.identity,
            "encoder": seen_by,
            "distance": None if tools.distance is None else tools.distance.identity,
            "subject": None
            if asking is None
            else {"model": asking.subject.identity, **asking.examination.pins()},
            **{
                f"calibration of {name}": limits.identity
                for name, limits in tools.calibrations.items()
            },
            "foreign": tools.foreign.identity,
            "top": str(tools.top),
            "tiles": {"most": tiling.most, "seed": tiling.seed, "mpp": tiling.mpp},
            **({} if tools.language == "en" else {"language": tools.language}),
            "policy": tools.policy.content(),
        }

    def _is_result(self, found: TrustRow, given: TrustCase) -> bool:
        if (found.id, found.row) != (given.id, given.number):
            return False
        if isinstance(given.image, str):
            path = self.source.folder / given.image
            refuse_changed(given.image, path, found.evidence.get("image_hash"))
        return True

    def _add(self, row: TrustRow) -> None:
        self.tally.count([Problem(error.code, error.message) for error in row.errors])
        self._routes[row.route] += 1
        self._cancer_checks[row.cancer_check] += 1
        for name, total in self._sums.items():
            if (value := getattr(row, name)) is not None:
                self._known[name] += 1
                total.add(value)

    def _totals(self) -> dict[str, Any]:
        """Counts and means; no mean where nothing is known."""
        means = {
            name: {
                "known": (known := self._known[name]),
                "missing": self.tally.rows - known,
                "mean": total.value / known if known else None,
            }
            for name, total in self._sums.items()
        }
        return {
            "routes": {route: self._routes[route] for route in ROUTES},
            "cancer_checks": dict(sorted(self._cancer_checks.items())),
            "means": means,
        }
