"""Pairs that an NLI model learns from or is tested on: from files, and stored in the package.

General pairs come from a file of JSON lines with `premise`, `hypothesis`, `label` and `source`; the
part `snli_test` is only ever tested on, and whatever shares a premise with it is not learned from.

`data/made` holds pairs of pathology that were made once (its README says how): from word lists, and
from what language models wrote or edited, who were told what to vary and saw no code and no tests.
Some writers and reports are kept back: no network learns from them, so that the re-ranker and
concordance can be fitted on them.
"""

import csv
import gzip
import json
import lzma
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from histoeval.errors import InputError
from histoeval.io.writing import writing_to
from histoeval.nli.entailer import LABELS, Label, LabelledPair
from histoeval.resources import load_toml, resource_bytes, resource_path
from histoeval_research.train.core.model_folder import lists_sha256

Labelled = tuple[str, str, Label]
DATA = "histoeval_research/train/nli/data"

MadeSet = Literal["train", "rest", "organs", "by_hand", "edits", "statements", "dev", "organs_dev"]
# How many made pairs each set holds; wordings and concepts of `rest` and `dev`, and organs of
# `organs_dev`, stand in no other. A part of the draws of `statements` gave no new pair.
MADE: dict[MadeSet, int] = {
    "train": 200_000,
    "rest": 30_000,
    "organs": 240_000,
    "by_hand": 45_050,
    "edits": 6_792,
    "statements": 250_000,
    "dev": 6_000,
    "organs_dev": 6_000,
}

# Pairs that language models wrote one by one: stored as written, and nine times restyled.
BY_HAND = 4_505

KEPT_BACK = frozenset({2, 8})  # language models whose pairs no network learns from

TEST = "snli_test"
_TESTS = (TEST, "counterfactual_test")
_MOST_CONDITION = 6  # words of a condition in a clinical sentence; longer ones are half sentences

_OPENED: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


def wordings(name: str) -> dict[str, Any]:
    part: dict[str, Any] = load_toml(f"{DATA}/wordings.toml")[name]
    return part


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a text, also with .gz or .xz, that are not empty."""
    with writing_to(path), _OPENED.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
        yield from (line for line in file if line.strip())


# --- stored in the package ----------------------------------------------------------------------


def made_pairs(kind: MadeSet, count: int, seed: int = 1) -> Iterator[LabelledPair]:
    """So many pairs of a stored set, labels in turn; another seed begins elsewhere in the file."""
    first = (seed - 1) * count % MADE[kind]
    lines = cycle(lines_of(resource_path(f"{DATA}/made/{kind}.jsonl.xz")))
    for line in islice(lines, first, first + count):
        if line != "null\n":
            yield LabelledPair.model_validate_json(line)


def written_statements() -> list[list[list[str]]]:
    files = (f"{DATA}/made/{kind}_statements.jsonl.xz" for kind in ("edited", "written"))
    return [list(map(json.loads, lines_of(resource_path(file)))) for file in files]


def kept_back_pairs() -> Iterator[LabelledPair]:
    """The pairs that language models wrote one by one and no network learns from."""
    for line in lines_of(resource_path(f"{DATA}/llm_written.jsonl")):
        row = json.loads(line)
        if row.pop("writer") in KEPT_BACK:
            yield LabelledPair(**row)


def unlearned_pairs() -> Iterator[Labelled]:
    for row in load_toml(f"{DATA}/unlearned.toml")["written"]:
        for label in LABELS:
            yield from ((row["premise"], text, label) for text in row.get(label, ()))
    for pair in kept_back_pairs():
        yield pair.premise, pair.hypothesis, pair.label


def pairs_sha256() -> str:
    made = (f"made/{name}.jsonl.xz" for name in (*MADE, "edited_statements", "written_statements"))
    files = (*made, "llm_written.jsonl", "unlearned.toml", "wordings.toml")
    return lists_sha256(*(resource_bytes(f"{DATA}/{file}") for file in files))


# --- from files ---------------------------------------------------------------------------------


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
    sets: dict[str, list[LabelledPair]] = {}
    if general is not None:
        sets["SNLI test"] = split_general(read_pairs(general, "source")).test
    if pairs is not None:
        sets[pairs.name] = read_pairs(pairs)
    if not any(sets.values()):
        raise InputError("nothing to measure on: give --general, --pairs or both, with pairs")
    return {name: some for name, some in sets.items() if some}


def negation_pairs(path: Path) -> Iterator[LabelledPair]:
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
