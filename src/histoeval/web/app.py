"""The web app over a folder of runs: the places put together behind one guard."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette

from histoeval.errors import InputError, MissingDependency
from histoeval.io.folder_kinds import folder_kind, wrong_folder
from histoeval.web import reasons, runs, score, systems, trust
from histoeval.web.jobs import Jobs
from histoeval.web.pages import guarded_app
from histoeval.web.run_index import RunIndex
from histoeval.web.score import Scorer
from histoeval.web.security import OWNER

# address and name of each place, as every page shows them
NAV = (
    ("/", "Runs"),
    ("/score", "Score"),
    ("/compare", "Compare"),
    ("/leaderboard", "Leaderboard"),
    ("/review", "Review"),
    ("/slides", "Slides"),
)


def create_app(folder: Path, *, token: str, **names: Any) -> Starlette:
    """Create the app over a folder of runs; `token` opens everything; for `names` see `Guard`.

    Studies have an app of their own (`histoeval.web.study.app`): no rater can come near a run.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the folder that holds your runs")
    run_index, jobs, scorer = RunIndex(folder), Jobs(), Scorer()
    if folder_kind(folder) is not None and not run_index.runs():
        raise wrong_folder(folder, "holds no runs", "the folder that holds your runs")
    nav = list(NAV)
    places = [
        *runs.routes(run_index),
        *score.routes(run_index, jobs, scorer),
        *systems.routes(run_index),
        *reasons.routes(run_index, scorer),
        *trust.routes(run_index),
    ]
    try:
        from histoeval.web.slides import routes

        places += routes(run_index)
    except MissingDependency:  # without the extra [slide] there are none
        nav = [entry for entry in NAV if entry[0] != "/slides"]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        scorer.warm_up()
        yield
        jobs.close()

    return guarded_app(places, lifespan, keys={token: OWNER}, folder=folder, nav=nav, **names)
