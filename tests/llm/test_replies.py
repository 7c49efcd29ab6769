"""An answer is read in full or not at all, and nothing in it is mended."""

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.judges.prompt import load_prompt
from histoeval.llm.replies import Unreadable, strip_reasoning

RUBRIC = load_prompt("rubric4")
GOOD: dict[str, Any] = {
    "critical_finding_concordance": 3,
    "factual_accuracy": 3,
    "factual_completeness": 2,
    "overall_equivalence": 3,
    "reasoning": "one finding is missing",
}
TEXT = json.dumps(GOOD)
SCORES = {name: score for name, score in GOOD.items() if name != "reasoning"}


def changed(**changes: Any) -> str:
    return json.dumps(GOOD | changes)


WRAPPINGS = [
    "{}",
    "\n\n  {}\n",
    "```json\n{}\n```",
    "```\n{}\n```\n",
    "<think>Perhaps {{4}}? No.</think>\n{}",
    "the template opened it, so I think: {{1}} </think> {}",
    "<thinking>\nlong\n</thinking>```json\n{}\n```",
    "Here is the object you asked for:\n{}\nI hope that helps.",
    "<|channel|>analysis<|message|>hm {{<|end|><|start|>assistant<|channel|>final<|message|>{}",
    "{}\n{}",
    "[{}]",
    "```json\n[ {} ]\n```",
    "The {{reference}} names {{a, b}}, the candidate {{a}}.\n{}",
    '{}\nThe placeholders {{ }} and {{"such"}} were left empty.',
]


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_thinking_fences_and_words_around_are_looked_past(wrapping: str) -> None:
    answer = RUBRIC.read(wrapping.replace("{}", TEXT).replace("{{", "{").replace("}}", "}"))
    assert answer.scores == SCORES
    assert answer.reasoning == GOOD["reasoning"]


BROKEN = {
    "nothing": ("", "empty"),
    "words": ("I would give it a 3 overall.", "no JSON object"),
    "cut off": (TEXT[:-20], "cut off"),
    "cut off in thought": (f"<think>{TEXT}", "does not end"),
    "too high": (changed(factual_accuracy=4), "factual_accuracy: input should be less"),
    "too low": (changed(overall_equivalence=0), "overall_equivalence: input should be greater"),
    "a number as text": (
        changed(factual_accuracy="3"),
        "factual_accuracy: input should be a valid",
    ),
    "half a point": (changed(factual_accuracy=2.5), "factual_accuracy"),
    "a point as a fraction": (changed(factual_accuracy=3.0), "factual_accuracy"),
    "yes": (changed(factual_accuracy=True), "factual_accuracy"),
    "null": (changed(factual_accuracy=None), "factual_accuracy"),
    "no reasoning": (json.dumps(SCORES), "reasoning: field required"),
    "a missing score": (json.dumps({"reasoning": "x"}), "factual_accuracy: field required"),
    "a key too many": (changed(confidence=1), "keys that were not asked for"),
    "a key twice": (TEXT[:-1] + ', "factual_accuracy": 1}', "given twice"),
    "not a number": (TEXT.replace("2", "NaN"), "NaN is no number"),
    "two objects that differ": (f"{TEXT} or {changed(factual_accuracy=1)}", "several"),
    "a broken object in a list": (f"[{TEXT[:-1]}]", "broken"),
    "a list of one object twice": (f"[{TEXT}, {TEXT}]", "a list"),
    "a list of other things too": (f"[{TEXT}, 3]", "a list"),
    "an object that is no JSON beside one": (f"{{'factual_accuracy': 1}} or {TEXT}", "broken"),
    "an object without quotes beside one": (f"{TEXT} {{factual_accuracy: 1}}", "broken"),
    "braces alone": ("{} {see below}", "no JSON object"),
    "an object in broken words": ('{"reasoning": "' + TEXT + '"}', "broken"),
    "a number of many digits": (TEXT.replace("2", "2" * 9999), "broken"),
    "very deep": ('{"a":' * 100_000, "broken"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_all_right_is_unreadable_and_says_why(name: str) -> None:
    text, reason = BROKEN[name]
    with pytest.raises(Unreadable, match=reason):
        RUBRIC.read(text)


@pytest.mark.parametrize(
    "text",
    [
        changed(reasoning=["carcinoma of Mrs Example"]),
        json.dumps(GOOD | {"carcinoma of Mrs Example": 1}),
        changed(factual_accuracy="carcinoma of Mrs Example"),
    ],
)
def test_a_complaint_never_quotes_what_was_said(text: str) -> None:
    with pytest.raises(Unreadable) as caught:
        RUBRIC.read(text)
    assert "Example" not in str(caught.value)


def test_half_a_character_in_the_reasoning_can_be_written_to_a_file() -> None:
    answer = RUBRIC.read(changed(reasoning="cut \ud83d"))
    assert answer.reasoning.encode("utf-8") == b"cut \\ud83d"


@given(
    st.fixed_dictionaries(
        {name: st.integers(-1, 6) for name, _, _ in RUBRIC.scales} | {"reasoning": st.text()}
    )
)
def test_scores_are_read_exactly_when_all_are_on_their_scales(answer: dict[str, Any]) -> None:
    fits = all(low <= answer[name] <= high for name, low, high in RUBRIC.scales)
    try:
        found = RUBRIC.read(json.dumps(answer))
    except Unreadable:
        assert not fits
    else:
        assert fits
        assert found.scores | {"reasoning": found.reasoning} == answer


@given(st.text())
def test_no_text_makes_the_reading_fail_in_another_way(text: str) -> None:
    with pytest.raises(Unreadable):
        RUBRIC.read(text)


THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
CLOSING = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
OPENING = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)


def slowly_stripped(text: str) -> str | None:
    """What patterns say that take quadratic time; None for thinking that does not end."""
    text = CLOSING.sub("", THOUGHT.sub("", text))
    return None if OPENING.search(text) else text.strip()


PIECES = ["<think>", "</think>", "<THINK>", "<reasoning>", "</reasoning>", "a", " {} ", "</", "\n"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_thinking_is_skipped_as_the_patterns_say(text: str) -> None:
    try:
        found: str | None = strip_reasoning(text)
    except Unreadable:
        found = None
    assert found == slowly_stripped(text)


@pytest.mark.parametrize(
    "piece",
    [
        *"<think> </think> <think></thinking> <think></think> < ``` { {} [ 9".split(),
        *("<|channel|>final<|message|", "``` \n", '{"a":', '"', " "),
    ],
)
def test_the_time_for_a_reply_grows_with_its_length_alone(piece: str) -> None:
    text = piece * (700_000 // len(piece))
    began = time.process_time()
    with pytest.raises(Unreadable):
        RUBRIC.read(text)
    assert time.process_time() - began < 4
