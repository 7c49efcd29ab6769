"""The runs that are there, the page of each, and the same for other programs."""

from collections.abc import Iterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from histoeval.challenge.standings import read_ranking
from histoeval.io.finished_run import finished_run
from histoeval.io.results import read_summary
from histoeval.run.history import SCORED, UPLOAD, StoredRun, about_run
from histoeval.view.html.challenge import index_page, page_names, team_page
from histoeval.view.run_report import FORMATS, PAGES, report_of, run_page
from histoeval.view.terminal.runs import time_text
from histoeval.web.pages import html_answer, page, site_of
from histoeval.web.run_index import ResultCache, RunIndex
from histoeval.web.security import HEADERS, POLICY

PATIENCE_S = 1.5  # after so long a page says that it is being made
PAGES_KEPT = 4  # a page of 10,000 pairs takes seconds to make and 20 MB to keep

TYPES = {
    "html": "text/html",
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "md": "text/markdown",
    "json": "application/json",
}

RANKED = "ranking"

INLINE = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")

DRAWN = {"agree", RANKED}  # whose pages have figures with styles inside them


def routes(run_index: RunIndex) -> list[BaseRoute]:
    pages = ResultCache(PAGES_KEPT)

    def home(request: Request) -> Response:
        runs = [_entry(run, run_index) for run in run_index.runs()]
        return page(request, "serve/runs.html", title="Runs", runs=runs, scored=SCORED)

    def open_page(request: Request, patience: float) -> tuple[StoredRun, str | None]:
        run = run_index.run(request.path_params["run"], *PAGES, RANKED)
        site = site_of(request, links=tuple(_links(run, run_index)))

        def make() -> str:
            if run.kind == RANKED:
                ranking = read_ranking(run.place)
                return index_page(ranking, page_names(ranking), site)
            return run_page(finished_run(run.place), site)

        return run, pages.soon((run.stamp, site), make, patience)

    def opened(request: Request) -> Response:
        run, text = open_page(request, PATIENCE_S)
        if text is None:
            scripts = ["vendor/htmx.min.js"]  # the page gives way to the run's when this is made
            return page(request, "serve/awaited.html", title=run.name, scripts=scripts, run=run)
        policy = {"Content-Security-Policy": INLINE} if run.kind in DRAWN else {}
        return html_answer(text, headers=HEADERS | policy)

    def ready(request: Request) -> Response:
        _, text = open_page(request, 0)
        return Response(status_code=204, headers={} if text is None else {"HX-Refresh": "true"})

    def picture(request: Request) -> Response:
        run = run_index.run(request.path_params["run"], "trust")
        files = {file.name: file for file in (run.folder / "evidence").glob("*.png")}
        if (file := files.get(request.path_params["name"])) is None:
            raise HTTPException(404, "There is no such picture.")
        return FileResponse(file)

    def team(request: Request) -> Response:
        ranking = read_ranking(run_index.run(request.path_params["run"], RANKED).place)
        files = {file: name for name, file in page_names(ranking).items()}
        if (name := files.get(request.path_params["file"])) is None:
            raise HTTPException(404, "There is no such team.")
        text = team_page(ranking, ranking[name], site_of(request))
        return html_answer(text, headers=HEADERS | {"Content-Security-Policy": INLINE})

    def file(request: Request) -> Response:
        run, to = run_index.run(request.path_params["run"], *PAGES), request.path_params["format"]
        if to not in FORMATS:
            raise HTTPException(404, f"A run can be had as {', '.join(FORMATS)}.")
        content = report_of(finished_run(run.place), to)
        name = {"Content-Disposition": f'attachment; filename="{run.id}.{to}"'}
        return Response(content, headers=name, media_type=TYPES[to])

    return [
        Route("/", home),
        Route("/runs/{run}/", opened),
        Route("/runs/{run}/index.html", opened),
        Route("/runs/{run}/teams/{file}", team),
        Route("/runs/{run}/ready", ready),
        Route("/runs/{run}/evidence/{name}", picture),
        Route("/runs/{run}/as/{format}", file),
    ]


def _links(run: StoredRun, run_index: RunIndex) -> Iterator[tuple[str, str]]:
    if run.kind in SCORED:
        metrics = run_index.results.once(("summary", run.stamp), lambda: read_summary(run.place))
        if max((len(metric["systems"]) for metric in metrics.values()), default=0) > 1:
            yield f"/compare?run={run.id}", "Compare its systems"
    if run.kind == "judge":
        yield f"/runs/{run.id}/reasons", "The judge's reasons"
    if run.kind == "trust":
        yield f"/review?run={run.id}", "Review its reports"
    if run.kind != RANKED:
        names = {"html": "Page as a file", "xlsx": "Excel", "md": "Markdown"}
        yield from ((f"/runs/{run.id}/as/{to}", names.get(to, to.upper())) for to in FORMATS)


def _entry(run: StoredRun, run_index: RunIndex) -> dict[str, Any]:
    address = ""  # where a run is looked at, if it can be
    if run.finished and run.kind in (*PAGES, RANKED):
        address = f"/runs/{run.id}/"
    elif not run.finished and (run.folder / UPLOAD).is_file():
        address = f"/runs/{run.id}/progress"
    return {
        **run._asdict(),
        "changed": time_text(run.changed),
        "about": run_index.results.once(("about", run.stamp), lambda: about_run(run)),
        "address": address,
    }
