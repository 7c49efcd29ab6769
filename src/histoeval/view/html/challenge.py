"""The pages of a ranking: an index, and one for each team; neither quotes a report."""

import re
from collections.abc import Mapping, Sequence
from math import ceil, floor
from pathlib import Path
from typing import Any

from histoeval.challenge.standings import ChallengeRanking, TeamStanding
from histoeval.io.writing import make_folder, write_whole, writing_to
from histoeval.statistics.resampling import Estimate
from histoeval.table import html_table, markdown, markdown_text
from histoeval.version import __version__
from histoeval.view.html.page import Website, render
from histoeval.view.html.scores import decimals
from histoeval.view.terminal import challenge as terminal

TEAMS = "teams"

# between two ticks of an axis
STEPS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
NEARLY = 1e-9  # a bound that lies on a tick needs no other one
FEW_CASES = 5  # a subgroup of fewer is folded away: its scores are mostly chance


def write_views(ranking: ChallengeRanking, folder: Path) -> tuple[Path, ...]:
    files = page_names(ranking)
    tables = [
        *terminal.ranking_tables(ranking),
        *([terminal.subgroup_table(ranking)] if ranking.subgroups else []),
    ]
    parts = [f"# {markdown_text(ranking.policy.name)}", *map(markdown, tables)]
    parts += [f"- {markdown_text(note)}" for note in ranking.notes]
    parts.append(f"Policy {ranking.policy_hash}; made by HistoEval {__version__}.")
    contents = {
        "ranking.md": "\n\n".join(parts) + "\n",
        "index.html": index_page(ranking, files),
        **{f"{TEAMS}/{files[team.team]}": team_page(ranking, team) for team in ranking.teams},
    }
    with writing_to(folder):
        make_folder(folder / TEAMS)
        for name, content in contents.items():
            write_whole(folder / name, content.encode("utf-8", "backslashreplace"))
    return folder / "ranking.md", folder / "index.html", folder / TEAMS


def page_names(ranking: ChallengeRanking) -> dict[str, str]:
    """Return a safe file name for each team."""
    names: dict[str, str] = {}
    for team in ranking.teams:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", team.team).strip("._") or "team"
        taken = {name.casefold() for name in names.values()}
        tries = (f"{plain}{'' if n == 1 else f'-{n}'}.html" for n in range(1, len(taken) + 2))
        names[team.team] = next(name for name in tries if name.casefold() not in taken)
    return names


def index_page(
    ranking: ChallengeRanking, files: Mapping[str, str], site: Website | None = None
) -> str:
    return render(
        "challenge/index.html",
        site=site,
        styles=("challenge.css",),
        title=f"Ranking: {ranking.policy.name}",
        ranking=ranking,
        address={team: f"{TEAMS}/{file}" for team, file in files.items()},
        axis=Scale([team.score for team in ranking.teams]),
        place_range=terminal.place_range,
        few=FEW_CASES,
        digits=_digits(ranking),
        unranked=html_table(terminal.unranked_table(ranking)) if ranking.unranked else "",
        stability=html_table(terminal.stability_table(ranking)._replace(title="")),
    )


def team_page(ranking: ChallengeRanking, team: TeamStanding, site: Website | None = None) -> str:
    others = [standing.team for standing in ranking.teams if standing is not team]
    return render(
        "challenge/team.html",
        site=site,
        styles=("challenge.css",),
        title=f"{team.team}: place {team.place:g} of {len(ranking.teams)}",
        ranking=ranking,
        team=team,
        places=terminal.place_range(team),
        axis=Scale([subgroup.score for subgroup in team.subgroups.values()]),
        few=FEW_CASES,
        digits=_digits(ranking),
        duels=html_table(terminal.duel_table(team.team, others, ranking.duels)) if others else "",
    )


class Scale:
    """An axis of 100 units from tick to tick, on which values and intervals are placed."""

    def __init__(self, shown: Sequence[Estimate]) -> None:
        ends = [end for estimate in shown for end in (estimate.low, estimate.value, estimate.high)]
        finite = [end for end in ends if end is not None]
        low, high = min(finite, default=0.0), max(finite, default=1.0)
        step = next((candidate for candidate in STEPS if high - low <= 5 * candidate), STEPS[-1])
        first, last = floor(low / step + NEARLY), ceil(high / step - NEARLY)
        self._low, self._high = first * step, max(last, first + 1) * step
        self.ticks = [
            (self._at(number * step), f"{number * step:g}")
            for number in range(first, max(last, first + 1) + 1)
        ]

    def bar(self, estimate: Estimate) -> dict[str, Any] | None:
        """Return the positions of value and interval; None if there is no interval."""
        if estimate.value is None or estimate.low is None or estimate.high is None:
            return None
        return {
            "from_": self._at(estimate.low),
            "at": self._at(estimate.value),
            "to": self._at(estimate.high),
        }

    def _at(self, value: float) -> float:
        return round(1 + 98 * (value - self._low) / ((self._high - self._low) or 1.0), 2)


def _digits(ranking: ChallengeRanking) -> dict[str, int]:
    return {name: decimals(max(used.worst, used.best)) for name, used in ranking.metrics.items()}
