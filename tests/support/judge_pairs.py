"""Pairs whose right scores are known, and judges to ask about them."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from histoeval.judges.choice import JudgeConfig, open_panel
from histoeval.judges.panel import JudgePanel, JudgeSampling
from histoeval.judges.prompt import load_prompt
from histoeval.llm.chat import Request
from histoeval.llm.local import LocalChat
from histoeval.report import Pair
from tests.support.fake_server import Call

Scores = tuple[int, int, int, int]


def deserved(number: int) -> Scores:
    """The scores that a pair of this number should get; all of a scale come up."""
    return (number % 4 + 1, number // 4 % 3 + 1, number // 12 % 3 + 1, number // 36 % 4 + 1)


def make_pair(number: int) -> Pair:
    scores = " ".join(map(str, deserved(number)))
    return Pair(
        id=f"case-{number}",
        reference=f"Case {number}: tubular adenoma with low-grade dysplasia of the colon.",
        candidate=f"Case {number}: adenoma, scored {scores}, somewhere in the colon.",
    )


def write_pairs(path: Path, pairs: Sequence[Pair]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "reference", "candidate"])
        writer.writerows([[pair.id, pair.reference, pair.candidate] for pair in pairs])
    return path


def bench_at(
    url: str, *models: str, manner: JudgeSampling | None = None, **rest: Any
) -> JudgePanel:
    choice = JudgeConfig(
        endpoints=(url,), models=models or ("m",), manner=manner or JudgeSampling(), **rest
    )
    return open_panel(choice)


def served(chat: LocalChat) -> Callable[[Call], str]:
    """A model of this process as the mind of a server that holds it to the schema it is sent."""
    prompt = load_prompt("rubric4")

    def say(call: Call) -> str:
        assert call.body["response_format"]["json_schema"]["schema"] == prompt.schema_of_answer
        told = {name: call.body[name] for name in ("temperature", "seed", "max_tokens")}
        return chat.answer(
            Request(call.body["messages"], prompt.schema_of_answer, json.dumps(told))
        ).text

    return say
