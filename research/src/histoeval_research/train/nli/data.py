"""What an NLI model learns from and is tested on, as pairs and as tokens.

General pairs come from a file of JSON lines with `premise`, `hypothesis`, `label` and `source`; the
part `snli_test` is only ever tested on, and whatever shares a premise with it is not learned from.
"""

import csv
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from histoeval.errors import InputError
from histoeval.io.writing import writing_to
from histoeval.nli.builtin import EntailerManifest, pair_tokens
from histoeval.nli.entailer import LABELS, LabelledPair, NliPair
from histoeval.resources import load_toml

DATA = "histoeval_research/train/nli/data"
TEST = "snli_test"
_TESTS = (TEST, "counterfactual_test")
_MOST_CONDITION = 6
"""Words of a condition in a clinical sentence; longer ones are half sentences."""

NO_CONTRADICTION = -1
"""In the place of a label: the pair is entailed or neutral, and nobody knows which."""
NO_ENTAILMENT = -3
"""In the place of a label: the pair is neutral or a contradiction, and nobody knows which."""
UNKNOWN = -2
"""In the place of a label: only a teacher says what it is."""

Integers = NDArray[np.int64]


def wordings(name: Literal["negation", "style"]) -> dict[str, Any]:
    """A part of `wordings.toml`."""
    part: dict[str, Any] = load_toml(f"{DATA}/wordings.toml")[name]
    return part


def read_pairs(path: Path, category: str = "category") -> list[LabelledPair]:
    """Labelled pairs from JSON lines, also with .gz; the field that names their category."""
    pairs = []
    for number, line in enumerate(lines_of(path), 1):
        try:
            row = json.loads(line)
            pairs.append(LabelledPair(category=str(row.get(category, "")), **_kept(row)))
        except (ValueError, RecursionError, KeyError, AttributeError, ValidationError) as error:
            raise InputError(
                f"{path}, line {number}: not a pair with premise, hypothesis and label "
                f"({', '.join(LABELS)})"
            ) from error
    return pairs


def _kept(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("premise", "hypothesis", "label")}


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a text, also with .gz, that are not empty."""
    with writing_to(path):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            yield from (line for line in file if line.strip())


class General(NamedTuple):
    """General pairs: those to learn from, and the test part of SNLI."""

    train: list[LabelledPair]
    test: list[LabelledPair]


def split_general(pairs: Sequence[LabelledPair]) -> General:
    """Part the file by source; nothing that is tested on is learned from in another source."""
    tested = {_plain(pair.premise) for pair in pairs if pair.category in _TESTS}
    train = [
        pair for pair in pairs if pair.category not in _TESTS and _plain(pair.premise) not in tested
    ]
    return General(train, [pair for pair in pairs if pair.category == TEST])


def labelled_sets(general: Path | None, pairs: Path | None) -> dict[str, list[LabelledPair]]:
    """What a model is measured on, by the names of the files."""
    sets: dict[str, list[LabelledPair]] = {}
    if general is not None:
        sets["SNLI test"] = split_general(read_pairs(general, "source")).test
    if pairs is not None:
        sets[pairs.name] = read_pairs(pairs)
    if not any(sets.values()):
        raise InputError("nothing to measure on: give --general, --pairs or both, with pairs")
    return {name: some for name, some in sets.items() if some}


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".")


def negation_pairs(path: Path) -> Iterator[LabelledPair]:
    """Clinical sentences, each with a condition that it affirms or denies, as two pairs."""
    frames = wordings("negation")
    with writing_to(path), path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    for number, (_, condition, sentence, status, *_) in enumerate(rows):
        if len(condition.split()) > _MOST_CONDITION or condition.lower() not in sentence.lower():
            continue
        for kind in ("said", "denied"):
            text = frames[kind][number % len(frames[kind])].format(f=condition.lower())
            same = (status == "Negated") == (kind == "denied")
            label = LABELS[0] if same else LABELS[2]
            yield LabelledPair(premise=sentence, hypothesis=text, label=label, category="negex")


@dataclass(frozen=True, slots=True)
class EncodedPairs:
    """Pairs as tokens, one after the other: where each begins, and its hypothesis in it."""

    values: NDArray[np.uint16]
    starts: Integers
    """One more than there are pairs: the last is the end of all."""
    seconds: Integers
    """How many tokens of each pair stand before its hypothesis."""
    labels: Integers

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> Integers:
        """Tokens of each pair."""
        return np.diff(self.starts)

    def translated(self, pieces: NDArray[np.uint16]) -> "EncodedPairs":
        """The same pairs in the numbers of another vocabulary."""
        return replace(self, values=pieces[self.values])

    def with_more(self, other: "EncodedPairs") -> "EncodedPairs":
        """These pairs, then others."""
        return EncodedPairs(
            np.concatenate([self.values, other.values]),
            np.concatenate([self.starts, other.starts[1:] + self.starts[-1]]),
            np.concatenate([self.seconds, other.seconds]),
            np.concatenate([self.labels, other.labels]),
        )

    def padded(self, positions: Sequence[int], padding: int) -> tuple[Integers, Integers, Integers]:
        """Tokens, kinds and mask of some pairs, as wide as the longest of them."""
        some = np.asarray(positions, np.int64)
        lengths = self.lengths[some]
        column = np.arange(lengths.max())
        mask = column < lengths[:, None]
        at = np.minimum(self.starts[some][:, None] + column, len(self.values) - 1)
        tokens = np.where(mask, self.values[at].astype(np.int64), padding)
        kinds = mask & (column >= self.seconds[some][:, None])
        return tokens, kinds.astype(np.int64), mask.astype(np.int64)


def encode_pairs(
    pairs: Iterable[LabelledPair | NliPair],
    tokenizer: Any,
    limits: EntailerManifest,
    unlabelled: int = NO_CONTRADICTION,
) -> EncodedPairs:
    """Pairs as the model will read them, and what is known of those without a label."""
    values: list[NDArray[np.uint16]] = []
    starts, seconds, labels = [0], [], []
    for pair in pairs:
        tokens, kinds = pair_tokens(tokenizer, NliPair(pair.premise, pair.hypothesis), limits)
        values.append(np.asarray(tokens, np.uint16))
        starts.append(starts[-1] + len(tokens))
        seconds.append(kinds.index(1))
        labels.append(LABELS.index(pair.label) if isinstance(pair, LabelledPair) else unlabelled)
    return EncodedPairs(
        np.concatenate(values),
        np.asarray(starts, np.int64),
        np.asarray(seconds, np.int64),
        np.asarray(labels, np.int64),
    )


_POOL = 20_000
"""Hypotheses that a block of premises is compared with."""
_BLOCK = 2048
_NEAREST = 24
"""Of the hypotheses that share most, one in so many is taken."""
_SPECIAL = 110
"""Pieces of the vocabulary, its first ones, that are no words: special ones and signs."""
_LEAST = 1e-3


def mixed_pairs(pairs: EncodedPairs, count: int, most_tokens: int, seed: int) -> EncodedPairs:
    """So many pairs, less those that are too long."""
    chance = np.random.default_rng(seed)
    rarity = _rarity(pairs, chance)
    is_word = (rarity > 0).astype(np.float64)
    found = [np.zeros((0, 2), np.int64)]
    while sum(map(len, found)) < count:
        pool = chance.integers(len(pairs), size=min(_POOL, len(pairs)))
        hypotheses = _bags(pairs, pool, rarity, hypothesis=True)
        for _ in range(4):
            premises = chance.integers(len(pairs), size=_BLOCK)
            words = _bags(pairs, premises, is_word, hypothesis=False)
            shared = (words @ hypotheses.T).toarray()
            nearest = np.argpartition(-shared, min(_NEAREST, len(pool) - 1), axis=1)[:, :_NEAREST]
            picked = nearest[np.arange(_BLOCK), chance.integers(nearest.shape[1], size=_BLOCK)]
            found.append(np.stack([premises, pool[picked]], axis=1))
    premises, others = np.concatenate(found)[:count].T
    lengths = pairs.seconds[premises] + pairs.lengths[others] - pairs.seconds[others]
    kept = (lengths <= most_tokens) & (premises != others)
    return _joined(pairs, premises[kept], others[kept])


def _joined(pairs: EncodedPairs, premises: Integers, others: Integers) -> EncodedPairs:
    """The premises of some pairs with the hypotheses of others."""
    starts, seconds = pairs.starts, pairs.seconds
    values = [
        part
        for one, other in zip(premises.tolist(), others.tolist(), strict=True)
        for part in (
            pairs.values[starts[one] : starts[one] + seconds[one]],
            pairs.values[starts[other] + seconds[other] : starts[other + 1]],
        )
    ]
    lengths = seconds[premises] + pairs.lengths[others] - seconds[others]
    return EncodedPairs(
        np.concatenate(values) if values else np.zeros(0, np.uint16),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        seconds[premises],
        np.full(len(premises), UNKNOWN, np.int64),
    )


def _rarity(pairs: EncodedPairs, chance: np.random.Generator) -> NDArray[np.float64]:
    """How rare each piece is in hypotheses; those that are no words count for nothing."""
    some = chance.integers(len(pairs), size=min(3 * _POOL, len(pairs)))
    size = int(pairs.values.max()) + 1
    pieces = np.concatenate(list(_pieces(pairs, some, hypothesis=True)))
    counts = np.bincount(pieces, minlength=size)
    rarity = np.maximum(0, np.log(len(some) / (1 + counts)))
    rarity[:_SPECIAL] = 0
    return np.asarray(rarity, np.float64)


def _bags(
    pairs: EncodedPairs, places: Integers, weights: NDArray[np.float64], *, hypothesis: bool
) -> Any:
    """The pieces of some premises or hypotheses, a sparse row each; hypotheses of unit length."""
    from scipy.sparse import csr_array

    rows = list(_pieces(pairs, places, hypothesis=hypothesis))
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.concatenate(rows).astype(np.int64)
    bags = csr_array(
        (weights[columns].astype(np.float32), columns, ends), (len(rows), len(weights))
    )
    if hypothesis:
        length = np.sqrt(bags.multiply(bags).sum(axis=1))
        bags = bags.multiply(1 / np.maximum(length, _LEAST)[:, None]).tocsr()
    return bags


def _pieces(
    pairs: EncodedPairs, places: Integers, *, hypothesis: bool
) -> Iterator[NDArray[np.uint16]]:
    for place in places.tolist():
        begin, end = pairs.starts[place], pairs.starts[place + 1]
        middle = begin + pairs.seconds[place]
        yield np.unique(pairs.values[middle:end] if hypothesis else pairs.values[begin:middle])
