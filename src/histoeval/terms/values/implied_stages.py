"""The stage that follows from a size, a count of nodes, or how far a tumour goes."""

import math
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from histoeval.terms.lexicon import Lexicon
from histoeval.terms.values.counts import counts
from histoeval.terms.values.quantities import Quantity, quantities

_STAGES = Lexicon("terms/data/implied_stages.toml", before="", flags=0)

Table = tuple[tuple[float, str], ...]


class _Organ(NamedTuple):
    words: re.Pattern[str]
    size: Table
    depth: Table
    nodes: Table
    extent: tuple[tuple[re.Pattern[str], str], ...]


class ImpliedStages(NamedTuple):
    tumour: frozenset[str]
    nodes: frozenset[str]


@cache
def _organs() -> tuple[_Organ, ...]:
    return tuple(
        _Organ(
            re.compile(rf"\b(?:{row['words']})"),
            _table(row.get("size", ())),
            _table(row.get("depth", ())),
            _table(row.get("nodes", ())),
            tuple((re.compile(words), value) for words, value in row["extent"]),
        )
        for row in _STAGES.entry("organ")
    )


def _table(rows: Sequence[Sequence[Any]]) -> Table:
    return tuple((float(most), str(value)) for most, value in rows)


@lru_cache(maxsize=1 << 11)
def organ_at(low: str) -> int | None:
    """The first organ of the tables that a text in lower case names."""
    return next((at for at, organ in enumerate(_organs()) if organ.words.search(low)), None)


@lru_cache(maxsize=1 << 11)
def worked_out(low: str, organ: int) -> ImpliedStages:
    table = _organs()[organ]
    return ImpliedStages(frozenset(_tumour(low, table)), frozenset(_nodes(low, table, organ)))


def _tumour(lowered: str, table: _Organ) -> Iterator[str]:
    affirmed = _STAGES.pattern("words", "denied").sub(" ", lowered)
    reached = [value for words, value in table.extent if words.search(affirmed)]
    sized = [
        name
        for kind, rows in (("", table.size), ("depth", table.depth))
        for size in _of_tumour(lowered, kind)
        if rows and (name := _row(rows, size))
    ]
    if reached or sized:
        yield max([*reached, *sized], key=rank)


def _of_tumour(lowered: str, kind: str) -> list[Quantity]:
    return [
        size
        for size in quantities(lowered)
        if size.kind == "length"
        and (size.subject == kind or (size.subject is None and not kind))
        and math.isfinite(size.low + size.high)
        and "one" not in size.tags
    ]


def _row(rows: Table, size: Quantity) -> str | None:
    """The row of a table that holds a quantity, where one row holds it whole."""
    low, high = (
        [value for most, value in rows if end <= most][:1] for end in (size.low, size.high)
    )
    return low[0] if low and low == high else None


def _nodes(lowered: str, table: _Organ, organ: int) -> Iterator[str]:
    nodes = [count for count in counts(lowered) if count.noun == "node" and count.part]
    if _STAGES.has(lowered, "words", "cells"):
        yield "0"
    elif organ == 0 and _STAGES.has(lowered, "words", "micro"):
        yield "1mi"
    elif nodes:
        most = sum(count.part[1] for count in nodes if count.part)
        least = sum(count.part[0] for count in nodes if count.part)
        affirmed = _STAGES.pattern("words", "denied").sub(" ", lowered)
        if not least and organ == 1 and _STAGES.has(affirmed, "words", "deposits"):
            yield "1c"
        elif not most:
            yield "0"
        elif table.nodes and math.isfinite(most):
            rows = [value for end, value in table.nodes if least <= end]
            yield rows[0]


def is_least(low: str) -> bool:
    """True if a text in lower case gives the tumour a stage that may be higher: at least pT2."""
    return _STAGES.has(low, "words", "least")


def is_far(low: str) -> bool:
    return _STAGES.has(low, "words", "far")


def rank(value: str) -> tuple[float, str]:
    digits = re.match(r"\d", value)
    return (float(digits.group()) if digits else 0.5 if value in ("a", "is") else -1.0), value[1:]
