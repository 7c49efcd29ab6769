"""Numbers in words as digits ("two thirds", "half a centimetre"), and ranks in Roman numerals."""

import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

from histoeval.terms.lexicon import Lexicon

# Words by which numbers and quantities are read, in lower case
QUANTITIES = Lexicon(
    "terms/data/quantities.toml", before="(?<![a-z0-9])", after="(?![a-z])", flags=0
)

_PLACE = r"(?<!inner )(?<!outer )(?<!upper )(?<!lower )(?<!second )(?<!first )(?<!lateral )"
_ONE_IN = re.compile(r"\b(?:1|one) (?:[a-z-]+ ){0,3}?in (\d+)\b")
_OF_UNIT = (
    r"(?:of )?an? (?P<unit>centimet(?:re|er)|millimet(?:re|er)|kilogram|kilo|lit(?:re|er)|cm|mm)\b"
)
_ONE = re.compile(
    r"\bone(?= (?:per\b|(?:[a-z-]+ )?(?:of|out of) (?:the )?(?:[a-z]+ )?\d|centimet|millimet"
    r"|kilogram|lit))"
)


def _number(words: Iterable[str], flags: int = 0) -> re.Pattern[str]:
    numbers = QUANTITIES.entry("numbers")
    tens = "|".join(word for word, value in numbers.items() if value >= 20)
    ones = "|".join(["one", *(word for word, value in numbers.items() if 0 < value < 10)])
    return re.compile(
        rf"\b(?:(?P<tens>{tens})(?:[- ](?P<ones>{ones}))?|(?P<all>{'|'.join(words)}))\b", flags
    )


@cache
def _words() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    fractions = "|".join(QUANTITIES.entry("fractions"))
    return (
        _number(QUANTITIES.entry("numbers")),
        re.compile(rf"\b(?:(?P<count>an?|one|\d) )?(?P<part>{fractions}) {_OF_UNIT}"),
        re.compile(rf"{_PLACE}\b(?:(?P<count>an?|one|\d)[ -])?(?P<part>{fractions})\b"),
    )


@cache
def _spelt() -> re.Pattern[str]:
    words = {"one", *QUANTITIES.entry("numbers")}
    return _number(sorted(words, key=len, reverse=True), re.IGNORECASE)


def in_figures(text: str) -> str:
    """A text with its whole numbers in figures, and every character where it was."""
    return _spelt().sub(lambda match: _figure(match).ljust(len(match.group())), text)


def in_digits(low: str) -> str:
    """A text in lower case with its numbers in digits, and fractions in per cent."""
    number, of_unit, fraction = _words()
    text = number.sub(_figure, low)
    text = of_unit.sub(lambda found: f"{_share(found) / 100:g} {found['unit']}", text)
    # "the third" and "a second" are ranks, and no shares
    text = fraction.sub(
        lambda match: (
            f"~{_share(match):g}%"
            if match["count"] or match["part"] in ("half", "halves")
            else match.group()
        ),
        text,
    )
    text = _ONE_IN.sub(lambda found: f"~{100 / max(1, int(found[1])):g}%", text)
    return _ONE.sub("1", text)


def _figure(match: re.Match[str]) -> str:
    numbers = {"one": 1} | QUANTITIES.entry("numbers")
    groups = (match["tens"], match["ones"], match["all"])
    return str(sum(numbers[word.lower()] for word in groups if word))


def _share(match: re.Match[str]) -> float:
    count = match["count"] or "1"
    times = int(count) if count.isdigit() else 1
    return float(times * QUANTITIES.entry("fractions")[match["part"]])


def spelt_number(word: str) -> int | None:
    """The number that a word stands for, as a count or as a rank: two, second, none."""
    spelt: dict[str, int] = {"one": 1} | QUANTITIES.entry("numbers") | QUANTITIES.entry("ranks")
    return spelt.get(word.lower())


def is_roman(letters: str) -> bool:
    """True if all letters are of Roman numerals up to 39."""
    return set(letters) <= _ROMANS.keys()


def roman_number(numeral: str) -> int:
    """The number of a numeral in capitals, which may be longer than a rank: XIV."""
    values = [_ROMANS[letter] for letter in numeral]
    return sum(-a if a < b else a for a, b in pairwise([*values, 0]))


_ROMANS = {"I": 1, "V": 5, "X": 10}


def rank_number(rank: str) -> int:
    """A rank in Arabic or Roman numerals, with l and | misread for I."""
    if rank.isdigit() and len(rank) == 1:
        return int(rank)
    if rank[0] in "vV":
        return 4 + len(rank)
    return 4 if rank[-1] in "vV" else len(rank)
