"""A judge's answer, read strictly: all of it is valid, or none of it is used.

Nothing is repaired: no number is taken from free text, no missing key is filled in, no score is
moved into its range.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from histoeval.io.tables.row_faults import shown
from histoeval.judges.prompt import REASONING, Prompt
from histoeval.llm.replies import Unreadable, only_object, strip_reasoning


@dataclass(frozen=True, slots=True)
class Answer:
    """A judge's scores for a pair, with the reasoning."""

    scores: dict[str, int]
    reasoning: str


def read_answer(text: str, prompt: Prompt) -> Answer:
    """The answer in a reply; `Unreadable` unless it has exactly the keys the prompt asks for."""
    found = only_object(strip_reasoning(text))
    try:
        _model_of(prompt.scales).model_validate(found)
    except ValidationError as error:
        complaints = dict.fromkeys(map(_complaint, error.errors()))
        raise Unreadable("; ".join(complaints)) from error
    scores = {name: found[name] for name, _, _ in prompt.scales}
    return Answer(scores=scores, reasoning=shown(found[REASONING]))


@lru_cache(maxsize=64)
def _model_of(scales: tuple[tuple[str, int, int], ...]) -> type[BaseModel]:
    """A pydantic model of these integer scores and a reasoning."""
    fields: dict[str, Any] = {
        name: (Annotated[int, Field(ge=low, le=high)], ...) for name, low, high in scales
    }
    strict = ConfigDict(extra="forbid", strict=True)
    return create_model("Form", __config__=strict, **fields, reasoning=(str, ...))


def _complaint(fault: Any) -> str:
    """What is wrong with a key; it quotes nothing of the reply, which may quote a report."""
    if fault["type"] == "extra_forbidden":
        return "there are keys that were not asked for"
    return f"{fault['loc'][0]}: {fault['msg'].lower()}"
