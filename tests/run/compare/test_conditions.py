"""The language of `--fail-if`: what it accepts, and how it refuses the rest."""

from __future__ import annotations

import pytest

from histoeval.errors import SettingError
from histoeval.run.compare.conditions import Bound, Condition, read_condition, read_conditions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "concordance drop > 0.01 with p < 0.05",
            ("drop", Bound(">", 0.01), "concordance", "", Bound("<", 0.05)),
        ),
        ("bleu RISE>=5% WITH P<=.1", ("rise", Bound(">=", 5, True), "bleu", "", Bound("<=", 0.1))),
        ("hare:threshold=0.5 < .8", ("mean", Bound("<", 0.8), "hare:threshold=0.5", "", None)),
        ("bleu > -1e-3", ("mean", Bound(">", -0.001), "bleu", "", None)),
        ("new critical errors > 0", ("new errors", Bound(">", 0), "", "critical", None)),
        ("new errors >= 3", ("new errors", Bound(">=", 3), "", "", None)),
        (
            "Major errors of rubric_offline > 10",
            ("report errors", Bound(">", 10), "rubric_offline", "major", None),
        ),
        ("errors > 0", ("errors", Bound(">", 0), "", "", None)),
        ("  missing   >  1 % ", ("missing", Bound(">", 1, True), "", "", None)),
    ],
)
def test_conditions_are_read(
    text: str, expected: tuple[str, Bound, str, str, Bound | None]
) -> None:
    found = read_condition(text)
    assert (found.what, found.limit, found.metric, found.severity, found.p) == expected


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("", "a metric", "^"),
        ("bleu", "was expected here", "    ^"),
        ("concordance dropp > 1", "did you mean 'drop'", "            ^^^^^"),
        ("concordance drop < 1", "> or >=", "                 ^"),
        ("new critcal errors > 0", "did you mean 'critical'", "    ^^^^^^^"),
        ("bleu drop > 0,5", "decimals have a point", "            ^^^"),
        ("bleu drop > nan", "is not a number", "            ^^^"),
        ("errors > -1", "not below 0", "         ^^"),
        ("bleu < 5 %", "nothing more", "         ^"),
        ("bleu drop > 1 and p < 0.05", "a test is `with p < 0.05`", "              ^^^"),
        ("bleu drop > 1 wth p < 0.05", "did you mean 'with'", "              ^^^"),
        ("bleu drop > 1 with p < 0", "above 0", "                     ^"),
        ("> 3", "begins with", "^"),
        ("😀 droop > 3", "did you mean 'drop'", "   ^^^^^"),
        ("bleu \x1b[31m > 3", "drop, rise", "     ^^^^^"),
    ],
)
def test_what_is_not_understood_is_pointed_at(text: str, reason: str, place: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_condition(text)
    message, _, pointer = str(caught.value).split("\n")
    assert reason in message
    assert pointer == f"  {place}"
    assert "\x1b" not in str(caught.value)


def test_rounding_neither_meets_nor_breaks_a_limit() -> None:
    assert not Bound(">", 0.01).is_met(0.81 - 0.80)
    assert Bound(">=", 0.01).is_met(0.81 - 0.80)
    assert not Bound("<", 0.8).is_met(0.8)
    assert Bound(">", 5, percent=True).is_met(0.051)


def test_one_condition_may_be_given_without_a_list() -> None:
    assert read_conditions("errors > 0") == [Condition("errors > 0", "errors", Bound(">", 0))]
