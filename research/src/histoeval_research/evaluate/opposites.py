"""Whether an aligner tells near misses apart: `low-grade` and `high-grade`, `left` and `right`.

A row holds a phrase with a synonym, and its opposite with a synonym of that. The opposite must be
less like the phrase than the synonym is; more strictly, than the synonym of either is.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from histoeval.errors import InputError
from histoeval.report import Noun
from histoeval.terms.plain import form

ALL = "all"
LISTED, UNLISTED = "in our lists", "not in our lists"


class Opposite(Noun):
    """A phrase with a synonym, and one that means something else with a synonym of that."""

    phrase: str
    synonym: str
    opposite: str
    opposite_synonym: str
    axis: str

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """The four phrases."""
        return self.phrase, self.synonym, self.opposite, self.opposite_synonym


class OppositesScores(Noun):
    """Shares of rows in which the opposite is less alike than a synonym."""

    rows: int
    of_phrase: float
    """Than the synonym of the phrase."""
    of_either: float
    """Than the synonym of the phrase, and than that of the opposite."""


def read_opposites(path: Path) -> list[Opposite]:
    """The rows of a JSON lines file."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8, from byte {error.start + 1} on") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                rows.append(Opposite.model_validate_json(line))
            except ValidationError as error:
                complaint = error.errors()[0]
                place = ".".join(map(str, complaint["loc"])) or "the line"
                raise InputError(
                    f"{path}, line {number}: {place}: {complaint['msg'].lower()}"
                ) from error
    if not rows:
        raise InputError(f"{path} has no rows")
    return rows


def evaluate_opposites(
    rows: Sequence[Opposite],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
    known: Mapping[str, set[str]] | None = None,
) -> dict[str, OppositesScores]:
    """Shares overall, by axis, and by whether the synonyms of a row are in `known` lists.

    `known` maps the plain form of each name that was learned from to its concepts.
    """
    vectors = embed([text for row in rows for text in row.texts])
    right = tell_apart(vectors.reshape(len(rows), 4, -1))
    parts: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        kinds = [] if known is None else [LISTED if is_listed(row, known) else UNLISTED]
        for part in (ALL, row.axis, *kinds):
            parts.setdefault(part, []).append(place)
    axes = [part for part in parts if part not in (ALL, LISTED, UNLISTED)]
    order = [ALL, *axes, *(part for part in (LISTED, UNLISTED) if part in parts)]
    return {part: _shares(right[parts[part]]) for part in order}


def tell_apart(vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
    """For rows of four vectors: is the opposite less alike than the synonym of one, of either."""
    phrase, synonym, opposite, other = (vectors[:, place] for place in range(4))
    against = (phrase * opposite).sum(axis=-1)
    first = against < (phrase * synonym).sum(axis=-1)
    second = against < (opposite * other).sum(axis=-1)
    return np.stack([first, first & second], axis=1)


def is_listed(row: Opposite, known: Mapping[str, set[str]]) -> bool:
    """Whether one of the two pairs of synonyms of a row stands in a list that is learned from."""
    pairs = ((row.phrase, row.synonym), (row.opposite, row.opposite_synonym))
    return any(known.get(form(one), set()) & known.get(form(other), set()) for one, other in pairs)


def _shares(right: NDArray[np.bool_]) -> OppositesScores:
    of_phrase, of_either = (float(share) for share in right.mean(axis=0))
    return OppositesScores(rows=len(right), of_phrase=of_phrase, of_either=of_either)
