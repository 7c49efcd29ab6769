"""Challenges: a policy, files of teams that are checked, and a ranking that can be defended.

>>> from histoeval.challenge import init_challenge, rank_teams
>>> init_challenge("challenge", "truth.json")
>>> rank_teams("challenge", ["team_a.json", "team_b.json"]).ranking
"""

from histoeval.challenge.folder import init_challenge, open_challenge
from histoeval.challenge.rank import evaluate_predictions, rank_teams
from histoeval.challenge.teams import check_predictions

__all__ = [
    "check_predictions",
    "evaluate_predictions",
    "init_challenge",
    "open_challenge",
    "rank_teams",
]
