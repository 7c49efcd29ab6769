"""Strict reading of what a model answered: all of it right, or none of it.

Thinking aloud, code fences and words around the answer are looked past. Beyond that nothing is
mended: no number is taken from a text, no missing key filled in, no score moved into its range.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from histoeval.io.tables.row_faults import shown
from histoeval.judge.prompt import REASONING, Prompt

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHT = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_FINAL_CHANNEL = re.compile(r"^.*<\|channel\|>final<\|message\|>", re.DOTALL)
_FENCE = re.compile(r"^```[a-zA-Z]*\s*$", re.MULTILINE)


class Unreadable(Exception):  # noqa: N818 - it says what the answer is
    """Why an answer cannot be used; said so that the model can mend it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a judge said of a pair."""

    scores: dict[str, int]
    reasoning: str


def read_answer(text: str, prompt: Prompt) -> Answer:
    """The one JSON object in a text, if it is all that the prompt asks for."""
    found = the_object(spoken(text))
    try:
        _form_of(prompt.scales).model_validate(found)
    except ValidationError as error:
        complaints = dict.fromkeys(map(_complaint, error.errors()))
        raise Unreadable("; ".join(complaints)) from error
    scores = {name: found[name] for name, _, _ in prompt.scales}
    return Answer(scores=scores, reasoning=shown(found[REASONING]))


def spoken(text: str) -> str:
    """The text without what was thought aloud and without fences."""
    if "<" not in text and "`" not in text:
        return text.strip()
    text = _THOUGHT.sub("", _FINAL_CHANNEL.sub("", text))
    text = _END_OF_THOUGHT.sub("", text)
    if _OPEN_THOUGHT.search(text):
        raise Unreadable("the thinking does not end, and no answer follows it")
    return _FENCE.sub("", text).strip()


def the_object(text: str) -> dict[str, Any]:
    """The only object in a text; what begins like one and is none makes all of it unreadable."""
    if not text:
        raise Unreadable("the answer is empty")
    found: list[dict[str, Any]] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise Unreadable("the JSON object is broken or cut off") from error
        found.append(value)
        at = text.find("{", end)
    if not found:
        raise Unreadable("there is no JSON object")
    if any(other != found[0] for other in found[1:]):
        raise Unreadable("there are several JSON objects that differ; there must be one")
    return found[0]


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unreadable("a key is given twice")
    return found


def _no_number(name: str) -> None:
    raise Unreadable(f"{name} is no number")


_DECODER = json.JSONDecoder(object_pairs_hook=_without_doubles, parse_constant=_no_number)


@lru_cache(maxsize=64)
def _form_of(scales: tuple[tuple[str, int, int], ...]) -> type[BaseModel]:
    """A pydantic model that takes just these whole numbers and a reasoning."""
    fields: dict[str, Any] = {
        name: (Annotated[int, Field(ge=low, le=high)], ...) for name, low, high in scales
    }
    strict = ConfigDict(extra="forbid", strict=True)
    return create_model("Form", __config__=strict, **fields, reasoning=(str, ...))


def _complaint(fault: Any) -> str:
    """What is wrong with a key; no words of the model's own, which may quote a report."""
    if fault["type"] == "extra_forbidden":
        return "there are keys that were not asked for"
    return f"{fault['loc'][0]}: {fault['msg'].lower()}"
