"""Score here and now: two texts that are pasted, or a table that is uploaded."""

import gzip
import threading
import zlib
from io import BytesIO
from pathlib import Path, PurePosixPath
from time import perf_counter
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from histoeval.argument_names import Caller, called_from
from histoeval.errors import HistoEvalError
from histoeval.io.files import DOCUMENTS, ENDINGS
from histoeval.io.pairs import open_source
from histoeval.io.tables.columns import Columns
from histoeval.io.writing import write_whole
from histoeval.metric import Metric
from histoeval.run.engines.engine import EXAMPLE
from histoeval.run.history import UPLOAD, StoredRun
from histoeval.run.inputs import pair_source
from histoeval.run.models import DEFAULT_METRICS, load_metrics
from histoeval.run.score import score_source
from histoeval.view.html.scores import decimals, pair_html
from histoeval.web.jobs import Jobs, Progress, UploadRequest
from histoeval.web.pages import page, part, without_paths
from histoeval.web.run_index import RunIndex
from histoeval.web.security import MAX_BODY, form_of

# metrics that need nothing but this package, and what they compare
METRICS = {
    "concordance": "what both reports state, as experts weigh it",
    "hare": "entities and relations, aligned",
    "rubric_offline": "the judge's four criteria, without an LLM",
    "bleu": "word n-grams",
    "rouge_l": "longest common sequence of words",
    "chrf": "character n-grams",
}
MARKED_BY = "concordance"
MOST_CHARACTERS = 100_000  # of a text that is pasted; a report is rarely longer than 20,000

# endings of what can hold pairs; documents and messages hold reports without a partner
TABLES = tuple(
    ending for ending, kind in ENDINGS.items() if kind not in ("text", "hl7", *DOCUMENTS)
)
PACKED_TABLES = (".csv", ".tsv", ".jsonl", ".json")  # those that may be compressed
MOST_UNPACKED = 8 * MAX_BODY  # bytes of a compressed table when it is unpacked
_CALLER = Caller(frozenset({"reference_column", "candidate_column"}))


class Scorer:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: list[Metric] | None = None

    def warm_up(self) -> None:
        words = (EXAMPLE.reference, EXAMPLE.candidate)
        threading.Thread(target=self.pair, args=words, daemon=True).start()

    def pair(self, reference: str, candidate: str) -> str:
        row = self.score(reference, candidate)
        digits = {metric.name: decimals(metric.range[1]) for metric in self._loaded or ()}
        return pair_html(row, {"reference": reference, "candidate": candidate}, MARKED_BY, digits)

    def score(self, reference: str, candidate: str) -> dict[str, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = load_metrics(list(METRICS))
            source = pair_source(references=reference, candidates=candidate)
            (row,) = score_source(source, self._loaded).rows
            return row.model_dump(mode="json")


def routes(run_index: RunIndex, jobs: Jobs, scorer: Scorer) -> list[BaseRoute]:
    async def paste(request: Request) -> Response:
        async with form_of(request) as form:
            reference, candidate = _text(form, "reference"), _text(form, "candidate")
        if problem := _problem(reference, candidate):
            texts = {"reference": reference, "candidate": candidate}
            return _form(request, 400, **texts, problem=problem)
        started = perf_counter()
        pair = await run_in_threadpool(scorer.pair, reference, candidate)
        return page(
            request,
            "serve/pair.html",
            title="Two reports, scored",
            scripts=["marks.js"],
            styles=["scores.css"],
            pair=pair,
            seconds=perf_counter() - started,
            reference=reference,
            candidate=candidate,
        )

    async def upload(request: Request) -> Response:
        try:
            async with form_of(request) as form:
                table = form.get("table")
                content = await table.read() if isinstance(table, UploadFile) else b""
                folder = await run_in_threadpool(_received, run_index, form, content)
        except HistoEvalError as error:
            problem = without_paths(str(error), run_index.folder)
            return _form(request, 400, table_problem=problem)
        jobs.start(folder)
        return to_progress(next(run for run in run_index.runs() if run.place == folder))

    def to_progress(run: StoredRun) -> Response:
        return RedirectResponse(f"/runs/{run.id}/progress", 303)

    def uploaded(request: Request) -> StoredRun:
        run = run_index.run(request.path_params["run"], "score")
        if not (run.place / UPLOAD).is_file():
            raise HTTPException(404, "This run was not started here.")
        return run

    def progress_of(run: StoredRun) -> Progress:
        progress = jobs.progress(run.place)
        return progress._replace(message=without_paths(progress.message, run_index.folder))

    def watch(request: Request) -> Response:
        run = uploaded(request)
        if (progress := progress_of(run)).state == "finished":
            return RedirectResponse(f"/runs/{run.id}/", 303)
        return page(
            request,
            "serve/progress.html",
            title=f"Scoring {run.name}",
            scripts=["vendor/htmx.min.js"],
            run=run,
            progress=progress,
        )

    def state(request: Request) -> Response:
        run = uploaded(request)
        progress = progress_of(run)
        answer = part(request, "serve/progress_state.html", run=run, progress=progress)
        if progress.state == "finished":
            answer.headers["HX-Redirect"] = f"/runs/{run.id}/"
        return answer

    def cancel(request: Request) -> Response:
        run = uploaded(request)
        jobs.cancel(run.place)
        return to_progress(run)

    def resume(request: Request) -> Response:
        run = uploaded(request)
        jobs.start(run.place)
        return to_progress(run)

    return [
        Route("/score", _form),
        Route("/score", paste, methods=["POST"]),
        Route("/score/table", upload, methods=["POST"]),
        Route("/runs/{run}/progress", watch),
        Route("/runs/{run}/progress/state", state),
        Route("/runs/{run}/cancel", cancel, methods=["POST"]),
        Route("/runs/{run}/continue", resume, methods=["POST"]),
    ]


def _form(request: Request, status: int = 200, **filled: str) -> Response:
    return page(
        request,
        "serve/score.html",
        title="Score reports",
        status=status,
        filled=filled,
        metrics=METRICS,
        chosen=DEFAULT_METRICS.split(","),
        endings=[*TABLES, *(f"{ending}.gz" for ending in PACKED_TABLES)],
    )


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def _problem(reference: str, candidate: str) -> str:
    for name, text in (("reference", reference), ("candidate", candidate)):
        if not text.strip():
            return f"The {name} is empty: paste a report into both fields."
        if len(text) > MOST_CHARACTERS:
            return (
                f"The {name} has {len(text):,} characters; {MOST_CHARACTERS:,} can be pasted. "
                "Upload longer reports as a table."
            )
    return ""


def _received(run_index: RunIndex, form: FormData, content: bytes) -> Path:
    """Check the whole uploaded table, and return the folder of a new run that holds it."""
    file = form.get("table")
    name = file.filename or "" if isinstance(file, UploadFile) else ""
    is_packed = name.lower().endswith(".gz")
    ending = PurePosixPath(name.lower().removesuffix(".gz")).suffix
    if ending not in (PACKED_TABLES if is_packed else TABLES):
        raise HistoEvalError(f"choose a table ({', '.join(TABLES)}); this file is none of them")
    metrics = [metric for metric in form.getlist("metric") if metric in METRICS]
    if not metrics:
        raise HistoEvalError("choose at least one metric")
    folder = run_index.new_folder(_text(form, "name") or PurePosixPath(name).stem.split(".")[0])
    try:
        write_whole(folder / f"input{ending}", _unpacked(content) if is_packed else content)
        request = UploadRequest(
            file=f"input{ending}",
            metrics=[str(metric) for metric in metrics],
            reference=_text(form, "reference_column").strip(),
            candidates=[
                name.strip() for name in _text(form, "candidate_column").split(",") if name.strip()
            ],
            pairs=0,
        )
        columns = Columns(reference=request.reference or None, candidates=tuple(request.candidates))
        with called_from(_CALLER):  # an error says why the table cannot be read
            pairs = sum(1 for _ in open_source([folder / request.file], columns).rows())
        request._replace(pairs=pairs).save(folder)
    except BaseException:
        (folder / f"input{ending}").unlink(missing_ok=True)
        folder.rmdir()
        raise
    return folder


def _unpacked(content: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=BytesIO(content)) as file:
            table = file.read(MOST_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise HistoEvalError("the file ends in .gz and is not a whole gzip file") from error
    if len(table) > MOST_UNPACKED:
        raise HistoEvalError(
            f"the table is larger than {MOST_UNPACKED // 2**20} MB when it is unpacked: "
            "score it with `histoeval score`"
        )
    return table
