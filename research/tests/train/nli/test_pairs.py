"""Stored pairs: those of the files, who wrote them, and that nothing leaks where it must not."""

from __future__ import annotations

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
    DATA,
    MADE,
    MadeSet,
    llm_pairs,
    llm_written_pairs,
    made_pairs,
    statement_pairs,
    statement_reports,
    written_statements,
)
from histoeval_research.train.nli.reranker import unlearned_pairs


def texts_of(pairs: list[LabelledPair]) -> list[tuple[str, str]]:
    return [(pair.premise, pair.hypothesis) for pair in pairs]


@pytest.mark.parametrize(
    ("kind", "digest"), [("train", "d108699efc7b08b4"), ("organs", "190fe58ccf25e795")]
)
def test_pairs_of_a_seed_are_those_of_earlier_versions(kind: MadeSet, digest: str) -> None:
    """Change these only with what is stored: a training from the same recipe gets other pairs."""
    content = "\n".join(pair.model_dump_json() for pair in made_pairs(kind, 300))
    assert sha256(content.encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize("name", [*MADE, "edited_statements"])
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
    learned, kept_back = (list(llm_written_pairs(kept_back=back)) for back in (False, True))
    every = texts_of([*learned, *kept_back])
    assert len(set(every)) == len(every) > 4000
    assert min(Counter(pair.label for pair in kept_back).values()) > 200
    fitted = {(premise, hypothesis) for premise, hypothesis, _ in unlearned_pairs()}
    assert set(texts_of(kept_back)) <= fitted
    assert not fitted & set(texts_of(learned))


def test_first_as_written_then_in_other_dress_and_the_label_stays() -> None:
    written = list(llm_written_pairs(kept_back=False))
    both = list(llm_pairs(2, seed=3))
    first, second = both[: len(written)], both[len(written) :]
    assert first == written
    assert [pair.label for pair in first] == [pair.label for pair in second]
    changed = sum(a != b for a, b in zip(first, second, strict=True))
    assert 0.2 < changed / len(written) < 0.9
    turned = [a.label for a, b in zip(first, second, strict=True) if a.premise == b.hypothesis]
    assert set(turned) == {"contradiction"}
    assert both == list(llm_pairs(2, seed=3)) != list(llm_pairs(2, seed=6))
    assert list(llm_pairs(0, seed=5)) == []


def test_every_statement_has_wordings_of_each_effect_and_some_reports_are_kept_back() -> None:
    learned, kept_back = (statement_reports(kept_back=back) for back in (False, True))
    reports = (*learned, *kept_back)
    assert len({report.id for report in reports}) == len(reports) > 400
    assert 0.1 < len(kept_back) / len(reports) < 0.2
    statements = [statement for report in reports for statement in report.statements]
    assert all(each.same and each.opposite and each.open for each in statements)


def test_statements_are_drawn_with_all_three_labels_and_only_once() -> None:
    pairs = list(statement_pairs(2000, seed=1))
    assert min(Counter(pair.label for pair in pairs).values()) > 300
    assert len(set(texts_of(pairs))) == len(pairs)
    ways: dict[str, set[str]] = {}
    for report in statement_reports(kept_back=False):
        for statement in report.statements:
            same = {statement.text, *statement.same}
            for way in same:
                ways.setdefault(way, set()).update(same)
    for pair in pairs[:300]:
        if pair.label == "entailment":
            assert any(way.rstrip(".") in pair.premise for way in ways[pair.hypothesis])
