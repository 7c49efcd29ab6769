"""Labelled windows come back from their files as they were, up to the rounding of shares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from histoeval.reader.links import LEVELS
from histoeval.reader.tagging import ASSERTIONS, TAGS, TokenSpan, spans_of
from histoeval.report import EntityType
from histoeval_research.train.reader.examples import (
    ReaderExample,
    collate,
    linkable,
    load_examples,
    save_examples,
)
from tests.support.tiny_corpus import PASSAGES, passage

pytestmark = pytest.mark.heavy

TEXTS = [*PASSAGES, passage("none", "Nothing to see here."), passage("one", "[D:tumour]")]


def example_of(number: int) -> ReaderExample:
    """Words as tokens, entities of one word, and shares drawn by chance."""
    draw = np.random.default_rng(number)
    report = TEXTS[number].content
    length = len(report.text)
    spans = [TokenSpan(e.start, e.end - 1, EntityType(e.type)) for e in report.entities]
    example = linkable(report, spans, draw.integers(0, 30_000, length).tolist())
    example.tag_shares = draw.dirichlet(np.ones(len(TAGS)), length).astype(np.float16)
    example.assertion_shares = draw.random((length, len(ASSERTIONS)), dtype=np.float32)
    example.related = draw.random(len(example.pairs), dtype=np.float32)
    return example


@pytest.fixture
def examples() -> list[ReaderExample]:
    return [example_of(number) for number in range(len(TEXTS))]


def test_examples_come_back_as_they_were(examples: list[ReaderExample], tmp_path: Path) -> None:
    save_examples(tmp_path / "part.npz", examples)
    found = load_examples(tmp_path / "part.npz")
    assert len(found) == len(examples)
    for before, after in zip(examples, found, strict=True):
        for name in ("tokens", "tags", "spans", "pairs", "kinds", "codes", "tag_shares"):
            assert np.array_equal(getattr(before, name), getattr(after, name)), name
            assert getattr(before, name).shape == getattr(after, name).shape, name
        assert np.allclose(before.related, after.related, atol=1e-3)
        assert np.allclose(before.assertion_shares, after.assertion_shares, atol=1e-3)
        assert spans_of(after.tags.tolist()) == spans_of(before.tags.tolist())


def test_they_can_be_learned_from_as_before(examples: list[ReaderExample], tmp_path: Path) -> None:
    save_examples(tmp_path / "part.npz", examples)
    before = collate(examples, 0, "cpu")
    after = collate(load_examples(tmp_path / "part.npz"), 0, "cpu")
    for name in ("tokens", "mask", "tags", "entities", "pairs", "kinds"):
        one, other = getattr(before, name), getattr(after, name)
        assert one.dtype == other.dtype
        assert torch.equal(one, other), name
    assert after.related.dtype == torch.float32
    assert torch.equal(before.codes, after.codes.long())
    assert int(after.codes.max()) < LEVELS


def test_a_file_is_whole_or_not_there(examples: list[ReaderExample], tmp_path: Path) -> None:
    save_examples(tmp_path / "part.npz", examples)
    assert [file.name for file in tmp_path.iterdir()] == ["part.npz"]
