"""Pairs from statements that language models wrote with others of known effect."""

from __future__ import annotations

from collections import Counter

from histoeval_research.train.nli.pairs import statement_pairs, statement_reports


def test_every_statement_has_wordings_of_each_effect() -> None:
    reports = (*statement_reports(kept_back=False), *statement_reports(kept_back=True))
    assert len({each.id for each in reports}) == len(reports) > 400
    for report in reports:
        for statement in report.statements:
            assert statement.same
            assert statement.opposite
            assert statement.open


def test_no_network_learns_from_the_reports_that_are_kept_back() -> None:
    learned = {each.id for each in statement_reports(kept_back=False)}
    assert learned.isdisjoint(each.id for each in statement_reports(kept_back=True))


def test_pairs_are_drawn_with_all_three_labels_and_only_once() -> None:
    pairs = list(statement_pairs(2000, seed=1))
    labels = Counter(pair.label for pair in pairs)
    assert min(labels.values()) > 300
    assert len({(pair.premise, pair.hypothesis) for pair in pairs}) == len(pairs)


def test_what_is_the_same_stands_with_the_statement_in_the_premise() -> None:
    wordings: dict[str, set[str]] = {}
    for report in statement_reports(kept_back=False):
        for each in report.statements:
            ways = {each.text, *each.same}
            for way in ways:
                wordings.setdefault(way, set()).update(ways)
    for pair in statement_pairs(300, seed=2):
        if pair.label == "entailment":
            assert any(way.rstrip(".") in pair.premise for way in wordings[pair.hypothesis])
