"""Concordance as the reward of a GRPO-style loop, and how long it takes.

`ReportReward` is what TRL's `GRPOTrainer(reward_funcs=[ReportReward()])` and its relatives call: it
gets the completions of a batch and the column `reference` of the data set, and returns a number for
each. `python examples/reward/grpo_reward.py` runs a loop without any model: a "policy" that draws
reports from templates and learns which of them the reward prefers. All texts are made by a program.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import Any

import histoeval
from histoeval.llm.replies import Unreadable, strip_reasoning
from histoeval.runtime.threads import cores

Completion = str | Sequence[dict[str, str]]
"""A text, or the messages of a conversation, of which the last is the report."""


class ReportReward:
    """The score of each report against its reference, from 0 to 1.

    Args:
        metric: any metric of HistoEval.
        workers: processes that share a batch; they stay until the training ends.
        unscored: what a report gets that has no score, such as an empty one. Scores are never made
            up, so this is for whoever trains to decide; None leaves it out of the group.
        longest: how many times as many words as its reference a report may have. A longer one gets
            less in proportion: saying the same twenty times is no better report. None sets no
            limit.

    What a completion thinks (`<think>…</think>`) is not scored.
    """

    def __init__(
        self,
        metric: str = "concordance",
        workers: int | None = None,
        unscored: float | None = 0.0,
        longest: float | None = 2.0,
    ) -> None:
        self.__name__ = metric  # what trainers log it as
        self.metric: Any = histoeval.load(metric, workers=workers or cores())
        self.unscored = unscored
        self.longest = longest

    def __call__(
        self, completions: Sequence[Completion], reference: Sequence[str], **_: Any
    ) -> list[float | None]:
        """A number for each completion."""
        texts = [
            report_of(each if isinstance(each, str) else each[-1]["content"])
            for each in completions
        ]
        rewards = self.metric.rewards(texts, list(reference))
        return [
            self.unscored if reward is None else reward * self._share(text, truth)
            for text, truth, reward in zip(texts, reference, rewards, strict=True)
        ]

    def _share(self, report: str, reference: str) -> float:
        """What is left of the reward of a report of this length."""
        most = self.longest * len(reference.split()) if self.longest else math.inf
        return min(1.0, most / max(1, len(report.split())))


def report_of(completion: str) -> str:
    """A completion without what was thought before it; empty where the thinking does not end."""
    try:
        return strip_reasoning(completion)
    except Unreadable:
        return ""


SITES = ["Left breast", "Right breast", "Sigmoid colon", "Stomach, antrum", "Right lung"]
DIAGNOSES = ["invasive carcinoma of no special type", "adenocarcinoma", "chronic inflammation"]
GRADES = ["grade 1", "grade 2", "grade 3", "well differentiated", "poorly differentiated"]
ENDS = ["Margins are free of tumour.", "No lymphovascular invasion is seen.", "pT2 pN0.", ""]


def sample(draw: random.Random, truth: tuple[str, ...], care: float) -> str:
    """A report: each fact is the true one with this probability, else any."""
    kinds = (SITES, DIAGNOSES, GRADES, ENDS)
    facts = [
        fact if draw.random() < care else draw.choice(kind)
        for fact, kind in zip(truth, kinds, strict=True)
    ]
    return "{}, biopsy: {}, {}. {} Sections show tissue with the features described.".format(*facts)


def main() -> None:
    """Run the loop, and say how long its rewards take."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--metric", default="concordance")
    asked.add_argument("--workers", type=int, default=cores())
    asked.add_argument("--steps", type=int, default=4)
    asked.add_argument("--prompts", type=int, default=64)
    asked.add_argument("--group", type=int, default=8, help="candidates for each prompt")
    given = asked.parse_args()
    draw, skill = random.Random(0), 0.0
    reward = ReportReward(given.metric, given.workers)
    for step in range(given.steps):
        truths = [
            (draw.choice(SITES), draw.choice(DIAGNOSES), draw.choice(GRADES), draw.choice(ENDS))
            for _ in range(given.prompts)
        ]
        cares = [
            1 / (1 + math.exp(-(skill + draw.gauss(0, 1))))
            for _ in truths
            for _ in range(given.group)
        ]
        repeated = [truth for truth in truths for _ in range(given.group)]
        completions = [sample(draw, *each) for each in zip(repeated, cares, strict=True)]
        references = [sample(draw, truth, 1.0) for truth in repeated]
        started = time.perf_counter()
        rewards = [each or 0.0 for each in reward(completions, reference=references)]
        seconds = time.perf_counter() - started
        skill += step_of(rewards, cares, given.group)
        print(  # noqa: T201
            f"step {step}: {len(rewards)} candidates in {seconds:.2f} s "
            f"({len(rewards) / seconds:,.0f}/s), mean reward {fmean(rewards):.3f}",
            flush=True,
        )
    reward.metric.close()


def step_of(rewards: Sequence[float], cares: Sequence[float], group: int) -> float:
    """How far the policy moves: advantages within groups, along what made the candidates."""
    moves = []
    for first in range(0, len(rewards), group):
        own = rewards[first : first + group]
        spread = pstdev(own) or 1.0
        moves += [
            (value - fmean(own)) / spread * (care - 0.5)
            for value, care in zip(own, cares[first : first + group], strict=True)
        ]
    return 8 * fmean(moves)


if __name__ == "__main__":
    main()
