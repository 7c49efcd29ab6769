"""Files of pairs that an NLI model learns from or is tested on.

General pairs come from a file of JSON lines with `premise`, `hypothesis`, `label` and `source`; the
part `snli_test` is only ever tested on, and whatever shares a premise with it is not learned from.
"""

import csv
import gzip
import json
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from histoeval.errors import InputError
from histoeval.io.writing import writing_to
from histoeval.nli.entailer import LABELS, LabelledPair
from histoeval.resources import load_toml

DATA = "histoeval_research/train/nli/data"
TEST = "snli_test"
_TESTS = (TEST, "counterfactual_test")
_MOST_CONDITION = 6
"""Words of a condition in a clinical sentence; longer ones are half sentences."""

_OPENED: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


def wordings(name: str) -> dict[str, Any]:
    """A part of `wordings.toml`."""
    part: dict[str, Any] = load_toml(f"{DATA}/wordings.toml")[name]
    return part


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a text, also with .gz or .xz, that are not empty."""
    with writing_to(path), _OPENED.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
        yield from (line for line in file if line.strip())


def read_pairs(path: Path, category: str = "category") -> list[LabelledPair]:
    """Labelled pairs from JSON lines, also with .gz; the field that names their category."""
    pairs = []
    for number, line in enumerate(lines_of(path), 1):
        try:
            row = json.loads(line)
            texts = {name: row[name] for name in ("premise", "hypothesis", "label")}
            pairs.append(LabelledPair(category=str(row.get(category, "")), **texts))
        except (ValueError, RecursionError, KeyError, TypeError, ValidationError) as error:
            raise InputError(
                f"{path}, line {number}: not a pair with premise, hypothesis and label "
                f"({', '.join(LABELS)})"
            ) from error
    return pairs


class General(NamedTuple):
    """General pairs: those to learn from, and the test part of SNLI."""

    train: list[LabelledPair]
    test: list[LabelledPair]


def split_general(pairs: Sequence[LabelledPair]) -> General:
    """Part the file by source; nothing that is tested on is learned from in another source."""

    def plain(pair: LabelledPair) -> str:
        return " ".join(pair.premise.lower().split()).rstrip(".")

    tested = {plain(pair) for pair in pairs if pair.category in _TESTS}
    train = [p for p in pairs if p.category not in _TESTS and plain(p) not in tested]
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
            is_said = (status == "Negated") == (kind == "denied")
            label = "entailment" if is_said else "contradiction"
            yield LabelledPair(premise=sentence, hypothesis=text, label=label, category="negex")
