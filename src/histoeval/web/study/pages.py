"""The pages of a rater: the list of pairs, one pair to score, and the answer to a save.

Nothing here knows a system, an id of a pair or a metric: pairs have the number that they have in
this rater's order.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from histoeval.concordance.evidence import ErrorKind, Severity
from histoeval.errors import HistoEvalError, InputError
from histoeval.report import Noun
from histoeval.web.pages import number_in, page, without_paths
from histoeval.web.security import visitor_of
from histoeval.web.study import store as ratings
from histoeval.web.study.access import visitor_named
from histoeval.web.study.plan import ExpertStudy, StudyPair

LONGEST = 60_000  # in a longer text lines are marked, and not words: a page of more pieces is slow
_WORDS = re.compile(r"\w+(?:[-./]\w+)*|\s+|[^\w\s]")
_LINES = re.compile(r"[^\n]{1,500}\n?|\n")

Stores = Mapping[str, ratings.RaterStore]

SEVERITIES = {
    Severity.MINOR: "a detail",
    Severity.MODERATE: "worth correcting",
    Severity.MAJOR: "changes what is done",
    Severity.CRITICAL: "could harm the patient",
}


def text_pieces(text: str) -> list[re.Match[str]]:
    cut = _WORDS if len(text) <= LONGEST else _LINES
    return [*cut.finditer(text)]


class RatingRequest(Noun):
    request: ratings.RequestId
    seen: Annotated[tuple[ratings.RequestId, ...], Field(max_length=1_000)] = ()
    is_draft: bool
    rating: dict[str, Any]


def routes(study: ExpertStudy, stores: Stores) -> list[BaseRoute]:
    desks = {rater: RaterDesk(study, rater, store) for rater, store in stores.items()}

    def desk_of(request: Request) -> RaterDesk:
        rater = request.path_params["rater"]
        if rater not in desks or visitor_of(request) != visitor_named(rater):
            raise HTTPException(404)
        has_number = "number" in request.path_params
        if has_number and not 1 <= number_in(request, "number") <= len(study.pairs):
            raise HTTPException(404)
        return desks[rater]

    def overview(request: Request) -> Response:
        return desk_of(request).overview(request)

    def pair(request: Request) -> Response:
        return desk_of(request).pair(request, number_in(request, "number"))

    async def save(request: Request) -> Response:
        desk, body = desk_of(request), await request.body()
        return await run_in_threadpool(desk.save, body, number_in(request, "number"))

    return [
        Route("/study/{rater}/", overview),
        Route("/study/{rater}/pairs/{number}", pair),
        Route("/study/{rater}/pairs/{number}", save, methods=["POST"]),
    ]


class RaterDesk:
    def __init__(self, study: ExpertStudy, rater: str, store: ratings.RaterStore) -> None:
        self._study = study
        self._rater = rater
        self._store = store
        self._pairs: Sequence[StudyPair] = study.order(rater)
        about = json.dumps([study.identity(), rater], sort_keys=True)
        self._name = hashlib.sha256(about.encode()).hexdigest()[:12]

    def overview(self, request: Request) -> Response:
        states = [self._state(pair) for pair in self._pairs]
        return page(
            request,
            "study_rater.html",
            title=self._study.file.name,
            scripts=("study_saving.js", "study.js"),
            styles=("study.css",),
            states=states,
            start=self._next_open(0),
            **self._shared(),
        )

    def pair(self, request: Request, number: int) -> Response:
        pair = self._pairs[number - 1]
        line = self._store.ratings.latest(pair.key)
        rating = ratings.ExpertRating() if line is None else line.rating
        marks = [error.model_dump(mode="json") for error in rating.errors]
        return page(
            request,
            "study_pair.html",
            title=f"Pair {number} of {len(self._pairs)}",
            scripts=("study_saving.js", "study_marks.js", "study.js"),
            styles=("study.css",),
            number=number,
            state=self._state(pair),
            seen="" if line is None else line.request,
            rating=rating,
            marks=json.dumps(marks),
            reports={
                "reference": text_pieces(pair.reference),
                "candidate": text_pieces(pair.candidate),
            },
            ends={"reference": len(pair.reference), "candidate": len(pair.candidate)},
            longest_comment=ratings.LONGEST_COMMENT,
            **self._shared(),
        )

    def save(self, body: bytes, number: int) -> Response:
        """Store a rating; the answer means that it is on the disk."""
        pair = self._pairs[number - 1]
        try:
            sent = RatingRequest.model_validate_json(body)
            rating = ratings.rating_of(sent.rating, self._study, pair, is_draft=sent.is_draft)
            line = self._store.append(
                pair.key, rating, request=sent.request, is_draft=sent.is_draft, seen=sent.seen
            )
        except ValidationError as error:
            return JSONResponse({"message": str(ratings.unusable(error))}, 400)
        except ratings.ChangedElsewhere as error:
            latest = self._store.ratings.latest(pair.key)
            assert latest is not None, "something was changed"
            return JSONResponse({"message": str(error), "latest": latest.request}, 409)
        except HistoEvalError as error:
            status = 400 if isinstance(error, InputError) else 500
            message = without_paths(str(error), self._study.folder)
            return JSONResponse({"message": message}, status)
        return JSONResponse(
            {
                "request": line.request,
                "saved": len(self._store.ratings.saved),
                "next": self._address(self._next_open(number)),
            }
        )

    def _shared(self) -> dict[str, Any]:
        study = self._study
        return {
            "rater": self._rater,
            "study": self._name,
            "home": self._address(None),
            "pairs": len(self._pairs),
            "saved": len(self._store.ratings.saved),
            "scale": study.scale,
            # half a point lies between two meanings
            "steps": {
                step: study.scale.levels[int(step)]
                if step == int(step)
                else f"between {int(step)} and {int(step) + 1}"
                for step in study.steps
            },
            "criteria": study.criteria,
            "kinds": {kind.value: {"says": kind.says, "look": kind.look} for kind in ErrorKind},
            "severities": {
                int(severity): (severity.name, says) for severity, says in SEVERITIES.items()
            },
            "spelt": ratings.spelt,
        }

    def _state(self, pair: StudyPair) -> str:
        if pair.key in self._store.ratings.drafts:
            return "changed" if pair.key in self._store.ratings.saved else "started"
        return "scored" if pair.key in self._store.ratings.saved else "open"

    def _next_open(self, after: int) -> int | None:
        count = len(self._pairs)
        around = [(after + step) % count + 1 for step in range(count)]
        saved = self._store.ratings.saved
        return next((number for number in around if self._pairs[number - 1].key not in saved), None)

    def _address(self, number: int | None) -> str:
        home = f"/study/{self._rater}/"
        return home if number is None else f"{home}pairs/{number}"
