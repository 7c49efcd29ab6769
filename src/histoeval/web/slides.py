"""Slides of trust runs in deep zoom, with the places of claims on them."""

import threading
from collections import OrderedDict
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from histoeval.errors import HistoEvalError, InputError, Problem
from histoeval.io.store import read_json
from histoeval.run.history import StoredRun
from histoeval.run.trust import rows
from histoeval.slides import open_slides
from histoeval.view.html.trust import slide_case
from histoeval.view.image_evidence import geojson, grounding_of, objects
from histoeval.web.pages import number_in, page, without_paths
from histoeval.web.run_index import ResultCache, RunIndex

LISTED, LISTED_OF_RUN = 50, 2000  # cases of a run in the list of all runs, and in that of one
KEPT_RUNS, KEPT_CASES = 16, 32  # what stays in memory of runs and cases that were opened last


class OpenCase(NamedTuple):
    run: StoredRun
    row: rows.TrustRow
    scores: rows.PatchScores | None
    image: rows.CaseImage | Problem
    seen: open_slides.FileState | None  # the file of the image when it was found

    @property
    def path(self) -> Path:
        if isinstance(self.image, Problem):
            raise HTTPException(404, self.image.message)
        return self.image.path


class SlideIndex:
    def __init__(self, run_index: RunIndex) -> None:
        self._run_index = run_index
        self._runs = ResultCache(KEPT_RUNS)
        self._cases: OrderedDict[tuple[Any, ...], OpenCase] = OrderedDict()
        self._keys: dict[str, StoredRun] = {}
        self._lock = threading.Lock()

    def run(self, name: str) -> tuple[StoredRun, rows.FinishedTrust, tuple[str, int, int]]:
        """Return a run, read again when its rows have changed."""
        stored = self._keys.get(name)
        if stored is None or not (stored.folder / rows.ROWS).is_file():
            stored = self._keys[name] = self._run_index.run(name, "trust")
        state = (stored.folder / rows.ROWS).stat()
        key = (name, state.st_mtime_ns, state.st_size)
        stored_and_rows = self._runs.once(key, lambda: (stored, rows.FinishedTrust(stored.folder)))
        return (*stored_and_rows, key)

    def case(self, request: Request) -> OpenCase:
        run, finished, key = self.run(request.path_params["run"])
        number = number_in(request, "row")
        with self._lock:
            if number not in finished:
                raise HTTPException(404, "There is no such case in this run.")
            case = self._cases.get((key, number))
            if case is None or case.seen is None or case.seen != _state(case.image):
                row, scores = finished.row(number), finished.scores(number)
                image = finished.image(row, scores)
                case = OpenCase(run, row, scores, image, _state(image))
                self._cases[key, number] = case
                while len(self._cases) > KEPT_CASES:
                    self._cases.popitem(last=False)
        return case


def routes(run_index: RunIndex) -> list[BaseRoute]:
    cases, slides = SlideIndex(run_index), open_slides.OpenSlides()

    def listed(request: Request) -> Response:
        name = request.path_params.get("run")
        if name is None:
            runs, title = [run for run in run_index.runs() if run.kind == "trust"], "Slides"
        else:
            runs = [cases.run(name)[0]]
            title = f"Slides of {runs[0].name}"
        most = LISTED if name is None else LISTED_OF_RUN
        shown = [_listed(run, cases, most) for run in runs]
        if shown:
            slides.prepare()
        is_one_run = name is not None
        return page(request, "serve/slides.html", title=title, runs=shown, whole=is_one_run)

    def shown(request: Request) -> Response:
        """Render the page of a case; if its slide cannot be opened, with the reason."""
        case = cases.case(request)
        run, row = case.run, case.row
        _, finished, _ = cases.run(run.id)
        facts, problem = None, ""
        if isinstance(case.image, Problem):
            problem = _sentence(case.image.message)
        else:
            try:
                with slides.pyramid(case.path) as pyramid:
                    facts = _facts(pyramid, case.path)
            except HistoEvalError as error:
                reason = str(error).replace(str(case.path), case.path.name)
                problem = without_paths(reason, request.app.state.folder)
        policy = None  # a run has one once it is finished
        if run.finished:
            policy = rows.policy_of(read_json(rows.TrustFolder(run.place).summary, run.place))
        is_changed = isinstance(case.image, rows.CaseImage) and case.image.changed
        return page(
            request,
            "serve/slide.html",
            title=row.id,
            scripts=("vendor/openseadragon.min.js", "slide.js") if facts else (),
            styles=("slide.css",),
            case=slide_case(row, finished.report(row.row), case.scores, policy),
            slide=facts,
            problem=problem,
            notes=[_sentence(rows.CHANGED)] if is_changed else [],
            name=PurePath(str(row.evidence.get("image", ""))).name,
            address=f"/slides/{run.id}/{row.row}",
            review=f"/review/{run.id}/{row.row}" if run.finished else None,
        )

    def tile(request: Request) -> Response:
        case = cases.case(request)
        position = [number_in(request, name) for name in ("level", "column", "line")]
        try:  # a script asks: what cannot be done is said in one line, not as a page
            picture = slides.jpeg(case.path, *position)
        except open_slides.NoSuchTile as error:
            return PlainTextResponse(str(error), 404)
        except HistoEvalError as error:
            return PlainTextResponse(without_paths(str(error), request.app.state.folder), 422)
        cached = {"Cache-Control": "private, max-age=600"}
        return Response(picture, 200, cached, media_type="image/jpeg")

    def patches(request: Request) -> Response:
        scores = _scores(cases.case(request))
        return JSONResponse({"spots": scores.spots.tolist()})

    def heat(request: Request) -> Response:
        shares = _scores(cases.case(request)).shares(number_in(request, "claim") - 1)
        if shares is None:
            raise HTTPException(404, "This claim was not looked for tile by tile.")
        return JSONResponse({"shares": np.rint(shares * 255).astype(int).tolist()})

    def qupath(request: Request) -> Response:
        case = cases.case(request)
        features = objects(case.row.id, grounding_of(case.row.evidence), case.scores)
        name = f'attachment; filename="case-{case.row.row}.geojson"'
        return Response(
            geojson(features), 200, {"Content-Disposition": name}, media_type="application/geo+json"
        )

    home = "/slides/{run}/{row}"
    return [
        Route("/slides", listed),
        Route("/slides/{run}", listed),
        Route(home, shown),
        Route(f"{home}/tile/{{level}}/{{column}}/{{line}}.jpg", tile),
        Route(f"{home}/patches.json", patches),
        Route(f"{home}/heat/{{claim}}.json", heat),
        Route(f"{home}/qupath.geojson", qupath),
    ]


def _sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:].removesuffix('.')}."


def _facts(pyramid: open_slides.TilePyramid, path: Path) -> dict[str, Any]:
    slide = pyramid.slide
    mpp = None if slide.resolution is None else slide.resolution.mean
    size = f"{path.name}: {slide.width:,} x {slide.height:,} pixels"
    return {
        "width": slide.width,
        "height": slide.height,
        "side": open_slides.SIDE,
        "min_level": pyramid.min_level,
        "max_level": pyramid.max_level,
        "mpp": "" if mpp is None else f"{mpp:.6g}",
        "size": size if mpp is None else f"{size}, {mpp:.3g} µm each",
    }


def _listed(run: StoredRun, cases: SlideIndex, most: int) -> dict[str, Any]:
    listed: dict[str, Any] = {"id": run.id, "name": run.name, "problem": ""}
    try:
        _, finished, _ = cases.run(run.id)
        pictured = [case for case in finished.cases() if case.image is not None]
    except HistoEvalError as error:
        return listed | {"problem": without_paths(str(error), run.folder)}
    more = max(0, len(pictured) - most)
    return listed | {"cases": pictured[:most], "more": more, "name_of": lambda p: PurePath(p).name}


def _scores(case: OpenCase) -> rows.PatchScores:
    if case.scores is None:
        raise HTTPException(404, "This run has kept no scores of single tiles.")
    return case.scores


def _state(image: rows.CaseImage | Problem) -> open_slides.FileState | None:
    try:
        return None if isinstance(image, Problem) else open_slides.file_state(image.path)
    except InputError:
        return None
