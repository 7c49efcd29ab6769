"""Counting, splitting and comparing annotated passages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from research.tests.support.annotated_passages import PASSAGE, TEXT, entity, passages

from histoeval.errors import ModelError, SettingError
from histoeval.report import Assertion, Entity, EntityType, Relation, Report
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.corpus import (
    annotator_agreement,
    corpus_statistics,
    split_by_report,
    token_counter,
)

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders


def plain(number: int, report: str, source: str) -> AnnotatedPassage:
    return AnnotatedPassage(
        id=str(number), source=source, report_id=report, content=Report(text="No tumour.")
    )


def with_entities(*entities: Entity, links: tuple[tuple[int, int], ...] = ()) -> AnnotatedPassage:
    relations = tuple(Relation(head=head, tail=tail) for head, tail in links)
    content = Report(text=TEXT, entities=entities, relations=relations)
    return PASSAGE.model_copy(update={"content": content})


def test_a_passage_is_counted_by_hand() -> None:
    counted = corpus_statistics([PASSAGE, plain(2, "case-1", "other")])
    total = counted.total
    assert (total.passages, len(total.reports)) == (2, 1)
    assert total.tokens == 13 + 2
    assert total.entities == Counter(diagnosis=1, grade=1, site=1, marker=1, result=2, finding=1)
    assert total.hare_entities == {
        "IHC Markers": 1,
        "IHC Modifier": 2,
        "Pathological Diagnosis": 1,
        "Anatomical Site": 1,
        "Diagnosis Descriptor": 1,
    }
    assert total.assertions[EntityType.FINDING, Assertion.ABSENT] == 1
    assert total.relations[EntityType.MARKER, EntityType.RESULT] == 2
    assert (total.relations.total(), total.relation_tokens) == (4, 4 * 13)
    assert (total.candidates, total.candidate_tokens) == (1, 13), "the necrosis and the breast"
    assert counted.sources["other"].passages == 1
    assert corpus_statistics([PASSAGE], len).total.tokens == len(TEXT)


REPORTS = st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abc")), min_size=1)


@given(REPORTS, st.integers(0, 5), st.randoms(use_true_random=False))
def test_no_report_is_split_and_the_order_does_not_matter(
    drawn: list[tuple[int, str]], seed: int, shuffler: object
) -> None:
    corpus = [plain(n, f"r{report}", source) for n, (report, source) in enumerate(drawn)]
    shares = {"train": 0.6, "dev": 0.2, "test": 0.2}
    parts = split_by_report(corpus, shares, seed)
    reports = [{passage.report_id for passage in part} for part in parts.values()]
    assert sum(map(len, reports)) == len(set.union(*reports))
    assert sorted(p.id for part in parts.values() for p in part) == sorted(p.id for p in corpus)
    again = split_by_report(reversed(corpus), shares, seed)
    assert {name: {p.id for p in part} for name, part in parts.items()} == {
        name: {p.id for p in part} for name, part in again.items()
    }


def test_every_source_is_spread_over_the_parts() -> None:
    corpus = [plain(n, f"r{n}", "ab"[n % 2]) for n in range(200)]
    parts = split_by_report(corpus, {"train": 0.8, "dev": 0.1, "test": 0.1})
    for name, expected in {"train": 80, "dev": 10, "test": 10}.items():
        for source, count in Counter(p.source for p in parts[name]).items():
            assert abs(count - expected) <= 1, source
    other = split_by_report(corpus, {"train": 0.8, "dev": 0.1, "test": 0.1}, seed=1)
    assert other["test"] != parts["test"]


def test_a_part_without_a_share_gets_nothing_and_shares_must_add_up() -> None:
    corpus = [plain(n, f"r{n}", "a") for n in range(10)]
    assert split_by_report(corpus, {"none": 0.0, "all": 1.0})["none"] == []
    with pytest.raises(SettingError, match=r"train 0\.8, test 0\.1"):
        split_by_report(corpus, {"train": 0.8, "test": 0.1})


@given(passages())
def test_everybody_agrees_with_themselves(passage: AnnotatedPassage) -> None:
    agreed = annotator_agreement([passage], [passage])
    assert agreed.passages == 1
    entities, relations = passage.content.entities, passage.content.relations
    assert agreed.all_exact.f1 == agreed.overlap.f1 == (1.0 if entities else 0.0)
    assert agreed.relations.f1 == (1.0 if relations else 0.0)
    assert agreed.assertion in (None, 1.0)


def test_a_grade_may_stand_for_the_papers_descriptor_and_no_annotator_comes_first() -> None:
    site, grade = PASSAGE.content.entities[0], PASSAGE.content.entities[2]
    descriptor = grade.model_copy(update={"type": EntityType.DESCRIPTOR})
    agreed = annotator_agreement([with_entities(site, grade)], [with_entities(site, descriptor)])
    assert (agreed.all_exact.f1, agreed.hare_exact.f1) == (1 / 2, 1)
    one = with_entities(*PASSAGE.content.entities[:3])
    there, back = annotator_agreement([one], [PASSAGE]), annotator_agreement([PASSAGE], [one])
    assert there.all_exact.f1 == back.all_exact.f1 == pytest.approx(6 / 10)


def test_two_annotators_are_compared_by_hand() -> None:
    diagnosis = entity(TEXT, "invasive carcinoma", EntityType.DIAGNOSIS)
    shorter = entity(TEXT, "carcinoma", EntityType.DIAGNOSIS)
    site = entity(TEXT, "Left breast", EntityType.SITE)
    marker = entity(TEXT, "ER", EntityType.MARKER)
    result = entity(TEXT, "positive", EntityType.RESULT)
    necrosis = entity(TEXT, "necrosis", EntityType.FINDING)
    absent = necrosis.model_copy(update={"assertion": Assertion.ABSENT})
    one = with_entities(diagnosis, site, marker, result, absent, links=((0, 1), (2, 3), (4, 1)))
    other = with_entities(shorter, site, marker, result, necrosis, links=((0, 1), (2, 3)))
    agreed = annotator_agreement([one], [other])
    assert agreed.all_exact.f1 == pytest.approx(4 / 5)
    assert agreed.hare_exact.f1 == pytest.approx(3 / 4)
    assert agreed.exact[EntityType.DIAGNOSIS].f1 == 0
    assert agreed.exact[EntityType.SITE].f1 == 1
    assert agreed.overlap.f1 == 1
    assert (agreed.asserted, agreed.assertion) == (1, 0.0)
    assert agreed.relations.f1 == pytest.approx(2 * 1 / (3 + 2))
    assert agreed.relations_between_agreed.f1 == pytest.approx(2 * 1 / (2 + 1))


def test_passages_that_do_not_match_are_named() -> None:
    changed = plain(1, "r", "s")
    agreed = annotator_agreement(
        [PASSAGE, changed, plain(2, "r", "s")],
        [PASSAGE, with_entities().model_copy(update={"id": "1"}), plain(3, "r", "s")],
    )
    assert agreed.passages == 1
    assert (agreed.only_one, agreed.only_other, agreed.other_text) == (["2"], ["3"], ["1"])


@pytest.mark.heavy
def test_tokens_may_be_those_of_a_model(tiny_models: ModelFolders, tmp_path: Path) -> None:
    count = token_counter(str(tiny_models.aligner))
    assert count("carcinoma of the breast") == 4
    assert count("") == 0
    with pytest.raises(ModelError, match="cannot be loaded"):
        token_counter(str(tmp_path))
