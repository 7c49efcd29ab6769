"""Challenges: a policy, files of teams that are checked, and a ranking that can be defended.

>>> from histoeval.challenge import init_challenge, rank_teams
>>> init_challenge("challenge", "truth.json")
>>> rank_teams("challenge", ["team_a.json", "team_b.json"]).ranking
"""

from histoeval.challenge.checking import check_predictions
from histoeval.challenge.evaluation import evaluate_predictions
from histoeval.challenge.folder import init_challenge, open_challenge
from histoeval.challenge.rank import rank_teams

__all__ = [
    "check_predictions",
    "evaluate_predictions",
    "init_challenge",
    "open_challenge",
    "rank_teams",
]
