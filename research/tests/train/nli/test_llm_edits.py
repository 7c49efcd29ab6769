"""Pairs from reports that language models wrote and edited."""

from __future__ import annotations

from typing import Any

import pytest

from histoeval.evaluate.probes import Edit, Effect, Probe
from histoeval.nli.entailer import LabelledPair
from histoeval.terms.plain import is_held_out
from histoeval_research.train.nli import pairs
from histoeval_research.train.nli.pairs import edit_pairs, edited_reports

KNEE = "Synovium of the left knee with chronic inflammation."
CRYSTALS = "Calcium pyrophosphate crystals are present."
INFECTION = "There is no infection."


def pairs_of(
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    kind: str,
    severity: int,
    change: str = "",
    reference: str = f"{KNEE} {CRYSTALS}",
) -> dict[tuple[str, str], str]:
    effect = Effect.HARMFUL if severity else Effect.HARMLESS
    edit = Edit(kind=kind, effect=effect, severity=severity, text=text, change=change)
    probe = Probe(id="k", reference=reference, edits=(edit,))
    monkeypatch.setattr(pairs, "edited_reports", lambda **_: (probe,))
    return {(pair.premise, pair.hypothesis): pair.label for pair in edit_pairs()}


def test_a_rewording_follows_and_is_followed_by_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    reworded = f"{KNEE} CPPD crystals are seen."
    assert pairs_of(monkeypatch, reworded, "synonym", 0) == {
        (f"{KNEE} {CRYSTALS}", reworded): "entailment",
        (reworded, f"{KNEE} {CRYSTALS}"): "entailment",
        (reworded, CRYSTALS): "entailment",
        (f"{KNEE} {CRYSTALS}", "CPPD crystals are seen."): "entailment",
    }


def test_a_report_with_a_statement_dropped_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pairs_of(monkeypatch, KNEE, "minor_dropped", 2) == {
        (f"{KNEE} {CRYSTALS}", KNEE): "entailment",
        (KNEE, f"{KNEE} {CRYSTALS}"): "neutral",
        (KNEE, CRYSTALS): "neutral",
    }


def test_a_report_with_a_statement_added_says_all_of_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    longer, added = f"{KNEE} {CRYSTALS} Giant cells are seen.", "Giant cells are seen."
    assert pairs_of(monkeypatch, longer, "harmful", 2, "giant cells added") == {
        (f"{KNEE} {CRYSTALS}", longer): "neutral",
        (longer, f"{KNEE} {CRYSTALS}"): "entailment",
        (f"{KNEE} {CRYSTALS}", added): "neutral",
    }


def test_a_wrong_statement_contradicts_the_report_either_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = "Synovium of the right knee with chronic inflammation."
    found = pairs_of(monkeypatch, f"{right} {CRYSTALS}", "wrong_side", 3)
    assert set(found.values()) == {"contradiction"}
    assert (f"{KNEE} {CRYSTALS}", right) in found
    assert (f"{right} {CRYSTALS}", KNEE) in found


def test_of_two_wrong_sentences_neither_is_learned_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "Synovium of the right knee, not inflamed at all. Urate crystals are present."
    found = pairs_of(monkeypatch, wrong, "harmful", 3)
    assert found == {
        (f"{KNEE} {CRYSTALS}", wrong): "contradiction",
        (wrong, f"{KNEE} {CRYSTALS}"): "contradiction",
    }


@pytest.mark.parametrize("change", ["doubt to certainty", "suspicion lost", "moved to part B"])
def test_nothing_is_learned_where_the_label_is_open(
    monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    assert not pairs_of(monkeypatch, f"{KNEE} Crystals may be present.", "harmful", 2, change)


@pytest.mark.parametrize(
    ("reference", "text", "change"),
    [
        (f"{KNEE} {INFECTION}", f"{KNEE} There is infection by cocci.", "infection added"),
        (f"{KNEE} {CRYSTALS}", f"{KNEE} No crystals.", "crystals dropped"),
    ],
)
def test_what_is_added_against_a_denial_is_not_called_open(
    monkeypatch: pytest.MonkeyPatch, reference: str, text: str, change: str
) -> None:
    assert not pairs_of(monkeypatch, text, "harmful", 3, change, reference)


@pytest.mark.parametrize(
    ("change", "labels"),
    [
        ("extranodal extension denied", {"contradiction"}),
        ("statement on crystals removed", {"entailment", "neutral"}),
    ],
)
def test_words_within_other_words_do_not_decide(
    monkeypatch: pytest.MonkeyPatch, change: str, labels: set[str]
) -> None:
    assert set(pairs_of(monkeypatch, KNEE, "harmful", 2, change).values()) == labels


def test_pairs_too_long_to_be_read_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    long = " ".join([KNEE] * 20)
    found = pairs_of(monkeypatch, f"{long} Urate crystals are seen.", "harmful", 2, reference=long)
    assert all(len(" ".join(pair).split()) <= 170 for pair in found)


@pytest.fixture(scope="module")
def learned() -> list[LabelledPair]:
    return list(edit_pairs())


def test_the_share_that_is_kept_back_is_never_learned_from(learned: list[LabelledPair]) -> None:
    kept, others = edited_reports(kept_back=True), edited_reports(kept_back=False)
    assert 0.2 < len(kept) / (len(kept) + len(others)) < 0.3
    assert all(is_held_out(each.id, 0.25) for each in kept)
    assert not {each.id for each in kept} & {each.id for each in others}
    texts = {text for pair in learned for text in (pair.premise, pair.hypothesis)}
    known = {each.reference for each in others}
    known |= {edit.text for each in others for edit in each.edits}
    unseen = {each.reference for each in kept} | {e.text for each in kept for e in each.edits}
    assert not texts & (unseen - known)
    assert len(unseen & known) < len(unseen) / 100


def test_shipped_edits_give_all_three_labels_and_no_pair_twice(learned: list[LabelledPair]) -> None:
    keys: list[Any] = [(pair.premise, pair.hypothesis) for pair in learned]
    assert len(keys) == len(set(keys))
    assert {pair.label for pair in learned} == {"entailment", "neutral", "contradiction"}
