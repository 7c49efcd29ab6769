"""A whole run: neither batch size nor order changes a bit of a score or of a mean."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

import histoeval
from tests.support import tiny_wordnet
from tests.support.report_words import make_report

METRICS = [
    *("bleu", "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_1", "rouge_2", "rouge_l"),
    *("rouge_l:stem=true", "chrf", "chrf:word_order=2"),
    *("meteor", "meteor:matchers=exact+stem", "meteor:matchers=exact"),
]

Scores = dict[tuple[str, str | None], Any]


def records() -> list[dict[str, Any]]:
    """Two systems, texts of many lengths, and a few rows that cannot be scored."""
    source = random.Random(23)
    made = []
    for number in range(75):
        reference = make_report(source, source.randint(1, 80))
        words = reference.split()
        made.append(
            {
                "id": f"case-{number}",
                "reference": reference if number % 20 else None,
                "candidate_short": " ".join(words[: source.randint(1, len(words))]),
                "candidate_other": make_report(source, source.randint(1, 80)),
            }
        )
    return made


def run(rows: list[dict[str, Any]], batch_size: int) -> tuple[Scores, dict[str, Any]]:
    results = histoeval.score(rows, metrics=METRICS, batch_size=batch_size)
    scores: Scores = {(row.id, row.system): row.scores for row in results.rows}
    return scores, results.summary["metrics"]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scores, dict[str, Any]]]:
    home = tmp_path_factory.mktemp("nltk")
    tiny_wordnet.write(home / "corpora" / "wordnet")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NLTK_DATA", str(home))
        yield run(records(), 256)


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_batch_size_and_order_change_neither_a_score_nor_a_mean(
    expected: tuple[Scores, dict[str, Any]], batch_size: int
) -> None:
    rows = records()
    assert run(rows, batch_size) == expected
    random.Random(batch_size).shuffle(rows)
    assert run(rows, batch_size) == expected


def test_the_scores_vary_so_that_this_proves_something(
    expected: tuple[Scores, dict[str, Any]],
) -> None:
    scores, summary = expected
    assert len(scores) == 150
    for name in METRICS:
        assert len({row[name].value for row in scores.values() if name in row}) > 50
        for system in summary[name]["systems"].values():
            assert (system["scored"], system["pairs"]) == (71, 75)
