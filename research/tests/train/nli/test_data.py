"""General pairs, clinical sentences, and pairs as tokens."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from histoeval.errors import InputError
from histoeval.nli.builtin import EntailerManifest
from histoeval.nli.entailer import LabelledPair, NliPair
from histoeval_research.train.nli.data import (
    NO_CONTRADICTION,
    encode_pairs,
    labelled_sets,
    negation_pairs,
    read_pairs,
    split_general,
)

ROWS = [
    ("snli_train", "A man sings.", "A man is loud.", "neutral"),
    ("snli_train", "A dog runs", "A dog moves.", "entailment"),
    ("snli_test", "a  DOG runs.", "A dog sleeps.", "contradiction"),
    ("counterfactual_test", "A cat sits.", "A cat stands.", "contradiction"),
    ("negation_snli", "A cat sits", "No cat sits.", "contradiction"),
]


def write_rows(path: Path) -> Path:
    names = ("source", "premise", "hypothesis", "label")
    lines = "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in ROWS)
    data = (lines + "\n\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_nothing_that_is_tested_on_is_learned_from(tmp_path: Path, name: str) -> None:
    general = split_general(read_pairs(write_rows(tmp_path / name), "source"))
    assert [pair.premise for pair in general.train] == ["A man sings."]
    assert [pair.hypothesis for pair in general.test] == ["A dog sleeps."]


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"premise": "a", "hypothesis": "b", "label": "maybe"}']
)
def test_a_line_that_is_no_pair_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"premise": "a", "hypothesis": "b", "label": "neutral"}\n' + line, "utf-8")
    with pytest.raises(InputError, match="line 2"):
        read_pairs(file)


def test_a_clinical_sentence_entails_what_it_affirms_and_contradicts_its_denial(
    tmp_path: Path,
) -> None:
    file = tmp_path / "negex.tsv"
    head = "number\tcondition\tsentence\tstatus\ttime\twho"
    rows = ["1\trash\tThere is no RASH.\tNegated\tRecent\tPatient", "2\tcyst\tElsewhere.\tAffirmed"]
    file.write_text(
        "\n".join([head, *rows, "3\tcyst\tA cyst.\tAffirmed\tRecent\tPatient"]), "utf-8"
    )
    found = [(pair.premise, pair.label) for pair in negation_pairs(file)]
    assert found == [
        ("There is no RASH.", "contradiction"),
        ("There is no RASH.", "entailment"),
        ("A cyst.", "entailment"),
        ("A cyst.", "contradiction"),
    ]


def test_there_must_be_something_to_measure_on(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to measure on"):
        labelled_sets(None, None)
    rows = write_rows(tmp_path / "rows.jsonl")
    assert {name: len(some) for name, some in labelled_sets(rows, rows).items()} == {
        "SNLI test": 1,
        "rows.jsonl": 5,
    }


class Letters:
    """A tokenizer of letters."""

    def token_to_id(self, token: str) -> int:
        return {"[CLS]": 1, "[SEP]": 2}[token]

    def encode(self, text: str, add_special_tokens: bool) -> object:
        assert not add_special_tokens
        return type("Found", (), {"ids": [ord(letter) for letter in text]})


PAIRS = [
    LabelledPair(premise="ab", hypothesis="c", label="contradiction", category=""),
    LabelledPair(premise="d", hypothesis="efgh", label="entailment", category=""),
]
LIMITS = EntailerManifest(name="letters", files={}, tokens=16, hypothesis_tokens=4)


def test_pairs_are_padded_to_the_longest_of_a_batch() -> None:
    encoded = encode_pairs(PAIRS, Letters(), LIMITS)
    tokens, kinds, mask = encoded.padded([0, 1], padding=0)
    assert tokens.tolist() == [[1, 97, 98, 2, 99, 2, 0, 0], [1, 100, 2, 101, 102, 103, 104, 2]]
    assert kinds.tolist() == [[0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1]]
    assert np.array_equal(mask.sum(axis=1), [6, 8])
    assert encoded.labels.tolist() == [2, 0]


def test_a_pair_without_a_label_is_only_known_to_be_no_contradiction() -> None:
    encoded = encode_pairs([PAIRS[0], NliPair("x", "y")], Letters(), LIMITS)
    assert encoded.labels.tolist() == [2, NO_CONTRADICTION]


def test_pairs_that_are_added_read_as_if_all_had_been_encoded_at_once() -> None:
    more = [NliPair("x", "yz")]
    joined = encode_pairs(PAIRS, Letters(), LIMITS).with_more(encode_pairs(more, Letters(), LIMITS))
    whole = encode_pairs([*PAIRS, *more], Letters(), LIMITS)
    assert len(joined) == 3
    for name in ("values", "starts", "seconds", "labels"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name)), name


def test_pairs_in_another_vocabulary_keep_their_places_and_labels() -> None:
    encoded = encode_pairs(PAIRS, Letters(), LIMITS)
    upper = np.arange(128, dtype=np.uint16)
    upper[97:123] -= 32
    translated = encoded.translated(upper)
    tokens, kinds, _ = translated.padded([0], padding=0)
    assert tokens.tolist() == [[1, 65, 66, 2, 67, 2]]
    assert kinds.tolist() == [[0, 0, 0, 0, 1, 1]]
    assert translated.labels.tolist() == encoded.labels.tolist()
    assert encoded.padded([0], padding=0)[0].tolist() == [[1, 97, 98, 2, 99, 2]], "left as it was"
