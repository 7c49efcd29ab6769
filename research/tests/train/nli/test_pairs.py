"""Stored pairs: those of the files, who wrote them, and that nothing leaks where it must not."""

import json
from collections import Counter
from hashlib import sha256
from itertools import islice

import pytest
from pydantic import ValidationError

from histoeval.evaluate.probes import read_probes
from histoeval.nli.entailer import LABELS, LabelledPair
from histoeval.resources import resource_path, resource_text
from histoeval.terms.plain import is_held_out
from histoeval_research.train.nli.config import PairSettings
from histoeval_research.train.nli.pairs import (
    BY_HAND,
    DATA,
    MADE,
    MadeSet,
    kept_back_pairs,
    lines_of,
    made_pairs,
    unlearned_pairs,
    written_statements,
)


def texts_of(pairs: list[LabelledPair]) -> list[tuple[str, str]]:
    return [(pair.premise, pair.hypothesis) for pair in pairs]


@pytest.mark.parametrize(
    ("kind", "digest"), [("train", "d108699efc7b08b4"), ("organs", "190fe58ccf25e795")]
)
def test_pairs_of_a_seed_are_those_of_earlier_versions(kind: MadeSet, digest: str) -> None:
    """Change these only with what is stored: a training from the same recipe gets other pairs."""
    content = "\n".join(pair.model_dump_json() for pair in made_pairs(kind, 300))
    assert sha256(content.encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize("name", [*MADE, "edited_statements", "written_statements"])
def test_the_files_are_those_of_the_readme(name: str) -> None:
    file = resource_path(f"{DATA}/made/{name}.jsonl.xz")
    assert sha256(file.read_bytes()).hexdigest() in resource_text(f"{DATA}/made/README.md")


def test_another_seed_gives_other_pairs_of_the_same_set() -> None:
    whole = list(made_pairs("dev", MADE["dev"]))
    assert len(set(texts_of(whole))) == MADE["dev"]
    assert set(Counter(pair.label for pair in whole).values()) == {MADE["dev"] // 3}
    assert list(made_pairs("dev", 60, 3)) == list(islice(whole, 120, 180))
    assert list(made_pairs("dev", 4_500, 2)) == [*whole[4_500:], *whole[:3_000]]
    with pytest.raises(ValidationError, match="count"):
        PairSettings(count=MADE["train"] + 1)


def test_what_is_tested_on_or_fitted_on_is_hardly_learned_from() -> None:
    learned = list(made_pairs("train", 30_000))
    tested = set(texts_of(list(made_pairs("dev", MADE["dev"]))))
    assert len(tested & set(texts_of(learned))) < len(tested) / 1000
    written = {(pair.premise, pair.hypothesis) for pair in learned if pair.category == "written"}
    unlearned = list(unlearned_pairs())
    assert len(written) > 100
    assert len(unlearned) > 600
    assert {label for *_, label in unlearned} == set(LABELS)
    assert not {(premise, text) for premise, text, _ in unlearned} & written


def test_edited_reports_give_all_labels_and_none_of_the_quarter_that_is_kept_back() -> None:
    pairs = list(made_pairs("edits", MADE["edits"]))
    assert len(set(texts_of(pairs))) == len(pairs), "each once"
    assert {pair.label for pair in pairs} == set(LABELS)
    learned = {text for texts in texts_of(pairs) for text in texts}
    learned |= {" ".join(statements) for statements in written_statements()[0]}
    texts: dict[bool, set[str]] = {True: set(), False: set()}
    for probe in read_probes(resource_path(f"{DATA}/llm_edits.jsonl.gz")):
        own = {probe.reference, *(edit.text for edit in probe.edits)}
        texts[is_held_out(probe.id, 0.25)] |= own
    assert 0.2 < len(texts[True]) / len(texts[True] | texts[False]) < 0.3
    assert not learned & (texts[True] - texts[False])


def test_pairs_written_one_by_one_are_parted_by_their_writers() -> None:
    learned, kept_back = list(made_pairs("by_hand", BY_HAND)), list(kept_back_pairs())
    every = texts_of([*learned, *kept_back])
    assert len(set(every)) == len(every) > 4000
    assert min(Counter(pair.label for pair in kept_back).values()) > 200
    fitted = {(premise, hypothesis) for premise, hypothesis, _ in unlearned_pairs()}
    assert set(texts_of(kept_back)) <= fitted
    assert not fitted & set(texts_of(learned))


def test_first_as_written_then_in_other_dress_and_the_label_stays() -> None:
    both = list(made_pairs("by_hand", 2 * BY_HAND))
    first, second = both[:BY_HAND], both[BY_HAND:]
    assert [pair.label for pair in first] == [pair.label for pair in second]
    changed = sum(a != b for a, b in zip(first, second, strict=True))
    assert 0.2 < changed / BY_HAND < 0.9
    turned = [a.label for a, b in zip(first, second, strict=True) if a.premise == b.hypothesis]
    assert set(turned) == {"contradiction"}


def test_statements_are_drawn_with_all_labels_only_once_and_from_no_report_kept_back() -> None:
    pairs = list(made_pairs("statements", 20_000))
    assert min(Counter(pair.label for pair in pairs).values()) > 3000
    assert len(set(texts_of(pairs))) == len(pairs) < 20_000
    ways: dict[str, set[str]] = {}
    reports: dict[bool, set[str]] = {True: set(), False: set()}
    for line in lines_of(resource_path(f"{DATA}/llm_statements.jsonl.gz")):
        report = json.loads(line)
        for statement in report["statements"]:
            same = {statement["text"], *statement["same"]}
            reports[is_held_out(report["id"], 0.15)] |= same
            for way in same:
                ways.setdefault(way, set()).update(same)
    for pair in pairs:
        assert pair.hypothesis not in reports[True] - reports[False] or pair.label != "entailment"
        if pair.label == "entailment":
            assert any(way.rstrip(".") in pair.premise for way in ways[pair.hypothesis])
