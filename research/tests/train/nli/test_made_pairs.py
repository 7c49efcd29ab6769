"""Stored pairs: the bytes that the generator made, and that nothing leaks into development."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from itertools import islice

import pytest
from pydantic import ValidationError

from histoeval.resources import resource_path, resource_text
from histoeval_research.train.nli.data import DATA
from histoeval_research.train.nli.pairs import MADE, MadeSet, PairSettings, made_pairs, pairs_sha256


@pytest.mark.parametrize(
    ("kind", "digest"), [("train", "d108699efc7b08b4"), ("organs", "190fe58ccf25e795")]
)
def test_pairs_of_a_seed_are_those_of_earlier_versions(kind: MadeSet, digest: str) -> None:
    """Change these only with what is stored: a training from the same recipe gets other pairs."""
    content = "\n".join(pair.model_dump_json() for pair in made_pairs(kind, 300))
    assert sha256(content.encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize("kind", MADE)
def test_the_files_are_those_of_the_readme(kind: MadeSet) -> None:
    file = resource_path(f"{DATA}/made/{kind}.jsonl.xz")
    assert sha256(file.read_bytes()).hexdigest() in resource_text(f"{DATA}/made/README.md")


def test_another_seed_gives_other_pairs_of_the_same_set() -> None:
    whole = list(made_pairs("dev", MADE["dev"]))
    assert len({(pair.premise, pair.hypothesis) for pair in whole}) == MADE["dev"]
    assert set(Counter(pair.label for pair in whole).values()) == {MADE["dev"] // 3}
    assert list(made_pairs("dev", 60, 3)) == list(islice(whole, 120, 180))
    assert list(made_pairs("dev", 4_500, 2)) == [*whole[4_500:], *whole[:3_000]]


def test_what_is_tested_on_is_hardly_learned_from() -> None:
    tested = {(pair.premise, pair.hypothesis) for pair in made_pairs("dev", MADE["dev"])}
    learned = {(pair.premise, pair.hypothesis) for pair in made_pairs("train", 30_000)}
    assert len(tested & learned) < len(tested) / 1000


def test_more_pairs_than_are_stored_are_refused() -> None:
    with pytest.raises(ValidationError, match="count"):
        PairSettings(count=MADE["train"] + 1)


def test_the_hash_of_what_pairs_are_made_of_is_steady() -> None:
    assert pairs_sha256() == pairs_sha256()
    assert len(pairs_sha256()) == 64
