"""Equation (2), what it is taken over, and when it cannot be told."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from histoeval.errors import Problem
from histoeval.nli.entailer import NliPair
from histoeval.pathgls.logic.score import DEFAULT_TOP, Top, equation_2, logic_of, signature_of
from histoeval.pathgls.logic.specimen import specimens_of
from histoeval.pathgls.logic.statements import MAX_PAIRS, pairs_of, sentence_pairs, statements_of
from histoeval.pathgls.results import Logic
from histoeval.report import Assertion, Entity, EntityType, Report
from tests.support.logic_reports import FixedEntailer, cases, read

TRUE = (
    "Malignant glands infiltrate the muscularis propria. Lymphovascular invasion is not "
    "identified. Necrosis is present. The diagnosis is adenocarcinoma of the sigmoid colon."
)
WRONG = TRUE + " Lymphovascular invasion is present."
shares = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def logic(text: str, model: FixedEntailer | None = None, top: Top = DEFAULT_TOP) -> Logic:
    found = logic_of(read(text), model or FixedEntailer(), top=top)
    assert isinstance(found, Logic)
    return found


@settings(max_examples=40)
@given(shares, st.data())
def test_equation_2_by_a_plain_loop(p: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(p)))
    left, total = list(p), 0.0
    for _ in range(k):
        highest = max(left)
        left.remove(highest)
        total += highest
    assert equation_2(p, k) == pytest.approx(1 - total / k, abs=1e-9)


@pytest.mark.parametrize("k", [0, 3])
def test_equation_2_refuses_more_or_fewer_pairs_than_there_are(k: int) -> None:
    with pytest.raises(ValueError, match="2 pairs"):
        equation_2([0.1, 0.2], k)


@pytest.mark.parametrize(
    ("top", "pairs", "k"),
    [
        (Top(share=0.3), 1, 1),
        (Top(share=0.3), 10, 3),
        (Top(share=0.3), 11, 4),
        (Top(share=1.0), 7, 7),
        (Top(number=3), 2, 2),
        (Top(number=3), 20, 3),
        (Top(share=0.3, number=3), 60, 3),
        (Top(share=0.3, number=3), 4, 2),
    ],
)
def test_k_is_never_more_than_there_are(top: Top, pairs: int, k: int) -> None:
    assert top.of(pairs) == k


@pytest.mark.parametrize("wrong", [{}, {"share": 0.0}, {"share": 1.5}, {"number": 0}])
def test_a_k_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Top.model_validate(wrong)


def test_a_report_that_agrees_with_itself_has_the_highest_value() -> None:
    found = logic(TRUE)
    assert found.value == 1.0
    assert found.contradictions == ()


def test_a_contradiction_by_rule_counts_as_certain_and_is_shown_with_both_places() -> None:
    found = logic(WRONG, top=Top(number=1))
    assert found.value == 0.0
    (worst,) = found.contradictions
    assert worst.source == "rule:presence"
    assert (worst.first.text, worst.second.text) == (
        "Lymphovascular invasion is not identified.",
        "Lymphovascular invasion is present.",
    )
    assert worst.first.start < worst.second.start


def test_a_model_is_asked_both_ways_and_the_lower_answer_counts() -> None:
    one_way = FixedEntailer(0.0, adenocarcinoma=0.99)
    assert logic(TRUE, one_way, top=Top(number=1)).value > 0.9
    assert any("adenocarcinoma" not in pair.hypothesis for pair in one_way.judged)


@pytest.mark.parametrize("k", [1, 2, 3, 50])
def test_what_is_not_asked_the_other_way_round_could_not_have_counted(k: int) -> None:
    said = {"adenocarcinoma": 0.9, "glands": 0.7, "Lymphovascular": 0.8, "Necrosis": 0.85}
    some, every = FixedEntailer(0.2, **said), FixedEntailer(0.2, **said)
    value = logic(TRUE, some, top=Top(number=k)).value
    held = [p for s in specimens_of(read(TRUE))[0] for p in pairs_of(statements_of(s))]
    forth = every.judge([NliPair(p.first.passage.text, p.second.text) for p in held])
    back = every.judge([NliPair(p.second.passage.text, p.first.text) for p in held])
    lower = [min(a.contradiction, b.contradiction) for a, b in zip(forth, back, strict=True)]
    rare = [p * 0.04 / 0.96 * 2 / (p * 0.04 / 0.96 * 2 + 1 - p) for p in lower]
    assert not any(p.opposed for p in held)
    assert value == pytest.approx(1 - sum(sorted(rare)[-k:]) / min(k, len(rare)), abs=1e-9)
    whole = [p for s in specimens_of(read(TRUE))[0] for p in sentence_pairs(s)]
    assert len(some.judged) <= len(every.judged) + 2 * len(whole)


def test_a_pair_of_which_only_one_way_is_known_is_never_among_the_highest() -> None:
    """The margins are at odds by nine tenths, so the other pairs had not to be asked both ways."""
    text = (
        "The margins are widely clear. The margins are very close. There is no nuclear atypia. "
        "The diagnosis is squamous cell carcinoma of the skin."
    )
    model = FixedEntailer(0.0, squamous=0.99, margins=0.95)
    found = logic(text, model, top=Top(number=1))
    (worst,) = found.contradictions
    assert (worst.first.text, worst.second.text) == (
        "The margins are widely clear.",
        "The margins are very close.",
    )
    assert found.value == pytest.approx(1 - worst.probability)
    assert found.value == pytest.approx(1 / 10.5, abs=0.01)


@pytest.mark.parametrize(
    ("text", "probability", "share"),
    [
        (TRUE, 0.9, 0.04),
        ("There is no nuclear atypia. The diagnosis is squamous cell carcinoma.", 0.8, 0.4),
    ],
    ids=["nothing opposed", "look opposed to the diagnosis"],
)
def test_a_model_counts_for_less(text: str, probability: float, share: float) -> None:
    """By Bayes' rule, where models learned from pairs of which a third are contradictions."""
    found = logic(text, FixedEntailer(probability), top=Top(number=1))
    odds = probability / (1 - probability) * (share / (1 - share)) / (1 / 2)
    assert found.value == pytest.approx(1 / (1 + odds), abs=1e-6)
    assert all(each.source == "nli" for each in found.contradictions)


@pytest.mark.parametrize("text", ["", "See comment.", "\n\n", "\U0001f52c"])
def test_a_report_without_a_statement_has_a_reason_and_no_number(text: str) -> None:
    found = logic_of(read(text), FixedEntailer())
    assert isinstance(found, Problem)
    assert found.code == "too_few_statements"


def test_one_statement_that_no_rule_objects_to_is_consistent_by_rules_alone() -> None:
    model = FixedEntailer(1.0)
    found = logic("Skin of the scalp: nodular basal cell carcinoma.", model)
    assert (found.value, found.pairs, model.judged) == (1.0, 0, [])
    assert "rules alone" in found.notes[0]


def test_the_items_of_a_synoptic_report_are_read_after_its_procedure() -> None:
    report = (
        "Procedure: Sigmoid resection\nTumor Site: Sigmoid colon\n"
        "Histologic Type: Adenocarcinoma\nMargins: Uninvolved\n"
        "Lymph Nodes: 3/18\nStage: pT3 {n}"
    )
    assert logic(report.format(n="pN1b")).value > 0.5
    assert logic(report.format(n="pN0")).value < 0.5


def test_the_signature_pins_the_model_the_rules_and_k() -> None:
    signature = logic(TRUE).signature
    assert signature == signature_of(FixedEntailer(), DEFAULT_TOP)
    assert "nli:fixed" in signature
    assert "rules:" in signature
    assert signature != signature_of(FixedEntailer(), Top(number=5))


def test_logic_falls_by_a_quarter_on_errors_and_not_on_rewording() -> None:
    rows = cases()[1::4]
    true = [logic(case.true, FixedEntailer(0.3)).value for case in rows]
    wrong = [logic(case.wrong, FixedEntailer(0.3)).value for case in rows]
    reworded = [logic(case.reworded, FixedEntailer(0.3)).value for case in rows]
    assert sum(wrong) <= 0.74 * sum(true)
    assert sum(reworded) >= 0.95 * sum(true)


def test_the_same_report_has_the_same_logic_to_the_bit() -> None:
    assert logic(WRONG, FixedEntailer(0.4)) == logic(WRONG, FixedEntailer(0.4))


def test_a_megabyte_is_bounded_in_pairs_and_in_time_and_says_so() -> None:
    sentence = "Lymphovascular invasion is present in slide {n:05d} of the tumour with necrosis. "
    text, entities = "", []
    for n in range(12_500):
        words = sentence.format(n=n)
        for name in ("Lymphovascular invasion", "necrosis") if n < 1_000 else ():
            at = len(text) + words.index(name)
            entities.append(
                Entity(
                    text=name,
                    start=at,
                    end=at + len(name),
                    type=EntityType.FINDING,
                    assertion=Assertion.PRESENT,
                )
            )
        text += words
    model = FixedEntailer(0.1)
    began = time.process_time()
    found = logic_of(Report(text=text, entities=tuple(entities)), model)
    assert time.process_time() - began < 40
    assert isinstance(found, Logic)
    assert found.notes
    assert len(model.judged) <= 2 * MAX_PAIRS


def test_a_place_of_a_contradiction_says_what_is_stated_there() -> None:
    """A name alone, as in "Margins" and "Closest margin", does not say what cannot be true."""
    text = "Skin: melanoma. Margins are free. The closest margin is involved, as is the fat."
    (found,) = logic(text).contradictions
    assert found.first.text == "Margins are free."
    assert found.second.text == "The closest margin is involved"
    for span in (found.first, found.second):
        assert text[span.start : span.end] == span.text


@pytest.mark.parametrize("probability", [0.4, 0.5, 0.6, 0.9])
def test_a_low_value_is_never_without_the_pair_that_lowered_it(probability: float) -> None:
    text = "Liver, biopsy: no fibrosis. Cirrhosis is present."
    found = logic(text, FixedEntailer(0.0, fibrosis=probability, cirrhosis=probability))
    assert bool(found.contradictions) == (found.value < 0.7)
    assert all(each.is_likely == (each.probability > 0.5) for each in found.contradictions)
