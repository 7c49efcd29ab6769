"""Finding the JSON object in a model's reply.

Reasoning blocks, code fences and prose around the object are skipped. Beyond that nothing is
repaired.
"""

import json
import re
from typing import Any

_TAG = re.compile(r"<(/?)(think|thinking|reasoning)>", re.IGNORECASE)
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_FENCE = re.compile(r"^```[a-zA-Z]*[ \t\r]*$", re.MULTILINE)


# a brace and a key. Keys without quotes or in single ones are no JSON, and meant as an object
_OBJECT = re.compile(
    r"""(?P<list>\[\s*)?(?P<object>\{)\s*(?:"(?:[^"\\]|\\.)*"|'[^'{}]*'|\w+)\s*:""", re.DOTALL
)
_LIST_END = re.compile(r"\s*\]")


class Unreadable(Exception):  # noqa: N818 - it says what the answer is
    """An answer that cannot be used; the message tells the model what to correct."""


def strip_reasoning(text: str) -> str:
    if "<" in text:
        text = _without_thoughts(text.rpartition(_FINAL_CHANNEL)[2])
    return _FENCE.sub("", text).strip() if "`" in text else text.strip()


def _without_thoughts(text: str) -> str:
    """Remove thinking; a closing tag without an opening one ends a block of the chat template."""
    tags = list(_TAG.finditer(text))
    last_openings = {tag[2].lower(): tag.start() for tag in tags if tag[1]}
    passages: list[str] = []
    start = 0
    open_tag = ""
    is_unclosed = False
    for tag in tags:
        name = tag[2].lower()
        if open_tag:
            if tag[1] and name == open_tag:
                open_tag, start = "", tag.end()
        elif tag[1]:
            passages, start, is_unclosed = [], tag.end(), False
        elif last_openings.get(name, -1) > tag.start():
            passages.append(text[start : tag.start()])
            open_tag = name
        else:
            is_unclosed = True
    if is_unclosed:
        raise Unreadable("the thinking does not end, and no answer follows it")
    return "".join([*passages, text[start:]])


def only_object(text: str) -> dict[str, Any]:
    """The only JSON object in a text, alone or in a list of its own.

    Braces in the words around it are no objects. Several objects that differ, a longer list, and
    anything that begins as an object and is none, make all of the text unreadable.
    """
    if not text:
        raise Unreadable("the answer is empty")
    objects: list[dict[str, Any]] = []
    opening = _OBJECT.search(text)
    while opening:
        try:
            value, end = _DECODER.raw_decode(text, opening.start("object"))
        except (ValueError, RecursionError) as error:
            raise Unreadable("the JSON object is broken or cut off") from error
        if opening["list"] and not _LIST_END.match(text, end):
            raise Unreadable("there is a list; there must be one JSON object")
        objects.append(value)
        opening = _OBJECT.search(text, end)
    if not objects:
        raise Unreadable("there is no JSON object")
    if any(value != objects[0] for value in objects[1:]):
        raise Unreadable("there are several JSON objects that differ; there must be one")
    return objects[0]


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise Unreadable("a key is given twice")
    return content


def _not_a_number(name: str) -> None:
    raise Unreadable(f"{name} is no number")


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=_not_a_number)
