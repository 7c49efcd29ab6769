"""What the PathGLS paper reports, as the data file has it."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from histoeval.report import Noun
from histoeval.resources import load_toml

DATA = "histoeval_research/experiments/pathgls/data/pathgls.toml"


class PublishedDrop(Noun):
    """A row of table 1; `ours` is the measure that stands beside it."""

    measure: str
    ours: str
    focus: str
    control: float
    visual: float
    visual_drop: float
    logic: float
    logic_drop: float


class PublishedMeans(NamedTuple):
    """A row of table 2."""

    dataset: str
    model: str
    scale: str
    means: Mapping[str, float]


class PublishedGap(Noun):
    """A row of table 3."""

    model: str
    inside: float
    outside: float
    drop: float


class PublishedRanks(Noun):
    """Figure 3 and section 4.2: rank correlations with the error hierarchy, and repeats."""

    spread: float
    """The standard deviation of PathGLS between repeats."""
    trust: float
    judge: float
    """The coefficient of the best judge, Gemini 3.0 Pro."""
    lost: Mapping[str, float]
    """Per cent of the coefficient that is lost without each dimension."""


@cache
def published_drops() -> tuple[PublishedDrop, ...]:
    """Table 1."""
    return tuple(PublishedDrop.model_validate(row) for row in load_toml(DATA)["table1"])


@cache
def published_means() -> tuple[PublishedMeans, ...]:
    """Table 2."""
    return tuple(
        PublishedMeans(
            block["dataset"],
            row["model"],
            block["scale"],
            {name: value for name, value in row.items() if name != "model"},
        )
        for block in load_toml(DATA)["table2"]
        for row in block["models"]
    )


@cache
def published_gaps() -> tuple[PublishedGap, ...]:
    """Table 3."""
    return tuple(PublishedGap.model_validate(row) for row in load_toml(DATA)["table3"])


@cache
def published_ranks() -> PublishedRanks:
    """Figure 3."""
    return PublishedRanks.model_validate(load_toml(DATA)["figure3"])


def differences(table: str) -> Sequence[str]:
    """In which data and models our table differs from the paper's."""
    notes: Sequence[str] = load_toml(DATA)["notes"][table]
    return notes
