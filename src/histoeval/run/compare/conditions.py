"""The language of conditions under which a comparison with a baseline fails.

    concordance drop > 0.01 with p < 0.05     the mean fell by more, and not by chance
    bleu drop > 5 %                           the same as a share of the baseline's mean
    concordance.laterality drop > 0           a part of a metric
    concordance < 0.8                         the mean of the new run
    new critical errors > 0                   errors that the baseline does not make
    major errors of rubric_offline > 10       all errors of the new run
    errors > 0                                rows of the new run without all scores
    missing > 1 %                             ids of the baseline that the new run lacks

Words may be in any case. What is not understood is refused, with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Literal, NamedTuple

from rich.cells import cell_len

from histoeval.concordance.evidence import Severity
from histoeval.console import visible
from histoeval.errors import SettingError

What = Literal["drop", "rise", "mean", "new errors", "report errors", "errors", "missing"]

SEVERITIES = tuple(severity.name.lower() for severity in sorted(Severity, reverse=True))
# The words that begin a condition which does not begin with a metric.
STARTS = ("new", *SEVERITIES, "errors", "missing")

_TOKEN = re.compile(r"[<>]=?|%|[^\s<>%]+")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_ROUNDING = 1e-9


class Bound(NamedTuple):
    sign: str
    number: float
    percent: bool = False

    def is_met(self, value: float) -> bool:
        """True if a value fulfils the bound; values that differ only by rounding are equal."""
        difference = value - (self.number / 100 if self.percent else self.number)
        if abs(difference) <= _ROUNDING:
            return self.sign.endswith("=")
        return (difference > 0) == self.sign.startswith(">")


class Condition(NamedTuple):
    """A quantity and its limit; `at` is the position of the metric in the text."""

    text: str
    what: What
    limit: Bound
    metric: str = ""
    at: int = 0
    severity: str = ""
    p: Bound | None = None

    def wrong_metric(self, known: Sequence[str], problem: str) -> SettingError:
        return not_understood(self.text, self.at, self.metric, problem, known)


class _Token(NamedTuple):
    text: str
    start: int

    @property
    def word(self) -> str:
        return self.text.lower()


def read_conditions(texts: str | Iterable[str]) -> list[Condition]:
    return [read_condition(text) for text in ([texts] if isinstance(texts, str) else texts)]


def read_condition(text: str) -> Condition:
    tokens = _Tokens(text)
    first_token = tokens.take("a metric, " + ", ".join(STARTS[:-1]) + " or missing")
    if first_token.word in STARTS:
        condition = _count(tokens, first_token)
    elif first_token.text[0] in "<>%":
        raise tokens.refused(first_token, "a condition begins with a metric or a word", STARTS)
    else:
        condition = _score(tokens, first_token)
    if (extra_token := tokens.next) is not None:
        hint = "; a test is `with p < 0.05`, and another condition another --fail-if"
        raise tokens.refused(extra_token, f"nothing more was expected here{hint}", ("with", "%"))
    return condition


def _score(tokens: _Tokens, metric: _Token) -> Condition:
    next_token = tokens.next
    if next_token is not None and next_token.text[0] in "<>":
        limit = tokens.bound("<", "<=", ">", ">=")
        return Condition(tokens.text, "mean", limit, metric.text, metric.start)
    token = tokens.take(f"drop, rise, < or > after {metric.text!r}")
    if token.word not in ("drop", "rise"):
        matches = get_close_matches(metric.word, STARTS, n=1)
        hint = f" (or is {metric.text!r} to be {matches[0]!r}?)" if matches else ""
        expected = f"drop, rise, < or > was expected here{hint}"
        raise tokens.refused(token, expected, ("drop", "rise"))
    what: What = "drop" if token.word == "drop" else "rise"
    limit = tokens.bound(">", ">=", percent=True)
    p = tokens.significance()
    return Condition(tokens.text, what, limit, metric.text, metric.start, p=p)


def _count(tokens: _Tokens, first_token: _Token) -> Condition:
    if first_token.word == "missing":
        return Condition(tokens.text, "missing", tokens.number(percent=True))
    severity, token = "", first_token
    if token.word == "new":
        token = tokens.take(f"{', '.join(SEVERITIES)} or errors after 'new'")
    if token.word in SEVERITIES:
        severity, token = token.word, tokens.take(f"errors after {token.text!r}")
    if token.word != "errors":
        raise tokens.refused(token, "errors was expected here", ("errors", *SEVERITIES))
    if not severity and first_token.word == "errors":
        return Condition(tokens.text, "errors", tokens.number(percent=True))
    metric = tokens.take("the name of a metric") if tokens.take_if("of") else _Token("", 0)
    kind: What = "new errors" if first_token.word == "new" else "report errors"
    limit = tokens.number()
    return Condition(tokens.text, kind, limit, metric.text, metric.start, severity)


class _Tokens:
    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        self._left: Iterator[_Token] = (
            _Token(match[0], match.start()) for match in _TOKEN.finditer(self.text)
        )
        self.next: _Token | None = next(self._left, None)

    def take(self, expected: str) -> _Token:
        if self.next is None:
            raise not_understood(self.text, len(self.text), "", f"{expected} was expected here")
        token, self.next = self.next, next(self._left, None)
        return token

    def take_if(self, word: str) -> bool:
        has_word = self.next is not None and self.next.word == word
        if has_word:
            self.take(word)
        return has_word

    def bound(self, *signs: str, percent: bool = False, counted: bool = False) -> Bound:
        expected = f"{', '.join(signs[:-1])} or {signs[-1]}"
        sign = self.take(expected)
        if sign.text not in signs:
            raise self.refused(sign, f"{expected} was expected here", ("of",))
        number = self.take("a number")
        if counted and number.text.startswith("-"):
            raise self.refused(number, "a number of rows or errors is not below 0")
        if not _NUMBER.fullmatch(number.text):
            hint = "; decimals have a point, as in 0.05" if "," in number.text else ""
            raise self.refused(number, f"{number.text!r} is not a number{hint}")
        return Bound(sign.text, float(number.text), percent and self.take_if("%"))

    def number(self, *, percent: bool = False) -> Bound:
        return self.bound(">", ">=", percent=percent, counted=True)

    def significance(self) -> Bound | None:
        if not self.take_if("with"):
            return None
        name = self.take("p after 'with'")
        if name.word != "p":
            raise self.refused(name, "p was expected here, as in: with p < 0.05")
        sign_token = self.next
        limit = self.bound("<", "<=")
        if not 0 < limit.number <= 1:
            raise self.refused(sign_token or name, "p is above 0 and at most 1, as in: p < 0.05")
        return limit

    def refused(self, token: _Token, why: str, known: Sequence[str] = ()) -> SettingError:
        return not_understood(self.text, token.start, token.text, why, known)


def not_understood(
    text: str, start: int, part: str, why: str, known: Sequence[str] = ()
) -> SettingError:
    matches = get_close_matches(part.lower(), known, n=1) if part else []
    hint = f"; did you mean {matches[0]!r}?" if matches and matches[0] != part else ""
    condition = visible(text)
    pointer = " " * cell_len(visible(text[:start])) + "^" * max(1, cell_len(visible(part)))
    return SettingError(f"the condition is not understood: {why}{hint}\n  {condition}\n  {pointer}")
