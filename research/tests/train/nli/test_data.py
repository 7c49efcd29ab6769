"""General pairs and clinical sentences, from files."""

import gzip
import json
from pathlib import Path

import pytest

from histoeval.errors import InputError
from histoeval_research.train.nli.pairs import (
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
