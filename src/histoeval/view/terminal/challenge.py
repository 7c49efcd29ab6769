"""Tables of a challenge: the ranking, how firm it is, subgroups, and the faults of a file."""

from collections.abc import Callable, Iterator, Sequence

from histoeval.agreement.systems import Duel
from histoeval.challenge.standings import ChallengeRanking, TeamStanding
from histoeval.challenge.teams import fault_kinds
from histoeval.io.submissions import SubmissionProblem
from histoeval.table import NONE, ResultTable, number
from histoeval.view.terminal.agreement import interval, p_text

Cell = Callable[[TeamStanding], str]


def ranking_tables(ranking: ChallengeRanking, most: int | None = None) -> Iterator[ResultTable]:
    yield ResultTable.of(
        f"Ranking of {len(ranking.teams):,} teams on {ranking.cases:,} cases "
        f"({ranking.policy.combine}); teams that share a tier do not differ significantly from "
        "the best of them",
        ranking.teams[:most],
        {
            "team": lambda team: team.team,
            "place": lambda team: f"{team.place:g}",
            "tier": lambda team: str(team.tier),
            "score": lambda team: interval(team.score),
            **{name: _metric(name) for name in ranking.metrics},
            "places": place_range,
            "first": lambda team: f"{team.place_shares[0]:.0%}",
            "missing": lambda team: f"{team.missing:,}",
        },
    )
    if ranking.unranked:
        yield unranked_table(ranking)
    yield stability_table(ranking)


def _metric(name: str) -> Cell:
    return lambda team: f"{number(team.metrics[name].mean.value)} ({team.metrics[name].place:g})"


def _subgroup(name: str) -> Cell:
    return lambda team: (
        f"{number(team.subgroups[name].score.value)} ({team.subgroups[name].place:g})"
    )


def place_range(team: TeamStanding) -> str:
    return f"{team.place_low:g}-{team.place_high:g}"


def unranked_table(ranking: ChallengeRanking) -> ResultTable:
    rows = [
        (standing.team, f"{standing.scored:,}", standing.reason) for standing in ranking.unranked
    ]
    return ResultTable("Not ranked", ["team", "scored", "reason"], rows)


def stability_table(ranking: ChallengeRanking) -> ResultTable:
    """Return the distances of other rankings from the ranking."""
    others = {f"{ranking.policy.resamples:,} resamples of the cases": ranking.stability}
    others |= {f"without {name}": stability for name, stability in ranking.without.items()}
    rows = []
    for name, stability in others.items():
        if stability is not None:
            has_interval = stability.tau_low is not None and stability.tau_high is not None
            within = f"{stability.tau_low:.2f} to {stability.tau_high:.2f}" if has_interval else ""
            same = "yes" if stability.same_first else "no"
            if has_interval:
                same = f"{stability.same_first:.0%}"
            rows.append((name, number(stability.tau), within, same))
    columns = ["compared with the ranking", "Kendall's tau", "95 %", "same first"]
    return ResultTable("How firm the order is", columns, rows)


def subgroup_table(ranking: ChallengeRanking) -> ResultTable:
    return ResultTable.of(
        "Score (and place) by subgroup",
        ranking.teams,
        {
            "team": lambda team: team.team,
            **{
                f"{name} (n={count:,})": _subgroup(name)
                for name, count in ranking.subgroups.items()
            },
        },
    )


def duel_table(team: str, others: Sequence[str], duels: Sequence[Duel]) -> ResultTable:
    duel_of = {frozenset({duel.one, duel.other}): duel for duel in duels}
    rows = []
    for opponent in others:
        duel = duel_of[frozenset({team, opponent})]
        sign = 1 if duel.one == team else -1
        gap = duel.difference
        ends = [sign * end for end in (gap.low, gap.high) if end is not None]
        shown = NONE if gap.value is None else f"{sign * gap.value:+.3f}"
        within = f" ({min(ends):+.2f}…{max(ends):+.2f})" if ends else ""
        wins = (duel.wins, duel.losses)[::sign]
        rows.append(
            (opponent, shown + within, p_text(duel.holm), f"{wins[0]}/{duel.ties}/{wins[1]}")
        )
    return ResultTable(
        "Against each other team (p with Holm's correction)",
        ["team", "difference of scores", "p", "cases won/tied/lost"],
        rows,
    )


def fault_table(faults: Sequence[SubmissionProblem]) -> ResultTable:
    return ResultTable.of(
        "What is wrong",
        fault_kinds(faults),
        {
            "id": lambda fault: fault.id or NONE,
            "row": lambda fault: NONE if fault.row is None else f"{fault.row:,}",
            "code": lambda fault: fault.code,
            "reason": lambda fault: fault.reason,
        },
    )
