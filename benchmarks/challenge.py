"""How long a ranking of many teams takes, and whether every broken file is understood.

`python -m benchmarks challenge --systems DIR [--workers 2]` ranks every table of a folder (but the
truth, `truth.json`) by the policy that `histoeval challenge init` writes, in a folder that is
removed afterwards. The files are read and not copied.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

COLUMNS = ["what", "found"]
BROKEN_COLUMNS = ["broken how", "code", "id", "reason"]

Rows = list[Any]


def measure(options: Sequence[str]) -> tuple[list[list[str]], list[list[str]]]:
    """The ranking, and broken copies of one file."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks challenge")
    asked.add_argument("--systems", type=Path, required=True)
    asked.add_argument("--workers", type=int, default=2)
    given = asked.parse_args(options)
    truth = given.systems / "truth.json"
    teams = [
        file for file in sorted(given.systems.glob("*.json")) if _is_team(file) and file != truth
    ]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        ranked = list(_ranked(place, truth, teams, given.workers))
        return ranked, list(_broken(place, teams[0]))


def _is_team(file: Path) -> bool:
    rows = json.loads(file.read_text("utf-8"))
    return isinstance(rows, list) and "report" in rows[0]


def _ranked(place: Path, truth: Path, teams: Sequence[Path], workers: int) -> Iterator[list[str]]:
    from histoeval.challenge import init_challenge, rank_teams
    from histoeval.view.html.challenge import write_views

    before, started = _cpu(), perf_counter()
    init_challenge(place / "challenge", truth)
    found = rank_teams(place / "challenge", teams, output=place / "out", workers=workers)
    found.write(place / "out")
    write_views(found.ranking, place / "out")
    seconds, cpu = perf_counter() - started, _cpu() - before
    ranking = found.ranking
    pairs = sum(team.scored for team in ranking.teams)
    different = sum(
        len(file.read_bytes().splitlines()) for file in (place / "out").rglob("scores.jsonl")
    )
    first = ranking.teams[0]
    yield ["teams, cases of the truth", f"{len(ranking.teams)}, {ranking.cases}"]
    yield ["pairs, different ones", f"{pairs:,}, {different:,}"]
    yield ["processes", str(workers)]
    yield ["s, and CPU s of all processes", f"{seconds:.0f}, {cpu:.0f}"]
    yield ["first", f"{first.team}, score {first.score.value:.3f}"]
    leads = [name for name, metric in first.metrics.items() if metric.place == 1]
    yield ["first by each metric alone", ", ".join(leads)]
    stability = ranking.stability
    assert stability is not None
    yield ["Kendall's tau of resamples", f"{stability.tau:.2f}"]
    yield ["resamples with the same first", f"{stability.same_first:.0%}"]


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _with(change: Callable[[Rows], object]) -> Callable[[Rows], Rows]:
    def changed(rows: Rows) -> Rows:
        change(rows)
        return rows

    return changed


BREAK: dict[str, Callable[[Rows], Rows]] = {
    "a case left out": lambda rows: rows[1:],
    "a case twice": lambda rows: [*rows, rows[0]],
    "an id that nobody asked for": lambda rows: [*rows, {"id": "other-1", "report": "Skin."}],
    "an id without its ending": _with(lambda r: r[0].update(id=Path(r[0]["id"]).stem)),
    "an id in other case": _with(lambda r: r[0].update(id=r[0]["id"].swapcase())),
    "an empty report": _with(lambda r: r[0].update(report=" \n")),
    "a report that is null": _with(lambda r: r[0].update(report=None)),
    "a report that is a number": _with(lambda r: r[0].update(report=3.5)),
    "a report that is too long": _with(lambda r: r[0].update(report="x" * 30_000)),
    "half a character": _with(lambda r: r[0].update(report="a\ud83d b")),
    "binary data": _with(lambda r: r[0].update(report="\0\1\2")),
    "a row without an id": _with(lambda r: r[0].pop("id")),
    "a row that is no object": _with(lambda r: r.insert(0, "a report")),
}


def _broken(place: Path, team: Path) -> Iterator[list[str]]:
    """One file, broken in each of these ways: the fault that a whole file has not."""
    from histoeval.challenge import check_predictions

    whole = {(each.id, each.code) for each in check_predictions(place / "challenge", team).faults}
    for way, change in BREAK.items():
        rows = change(json.loads(team.read_text("utf-8")))
        file = place / "broken.json"
        file.write_text(json.dumps(rows), "utf-8")
        faults = check_predictions(place / "challenge", file).faults
        new = [each for each in faults if (each.id, each.code) not in whole]
        for each in new[:1]:
            yield [way, each.code, each.id or "none", each.reason]
        if not new:
            yield [way, "NOT FOUND", "", ""]
