"""A notebook shows scores with their marks, runs nothing, and never fails."""

from pathlib import Path

import pytest

import histoeval
from histoeval import Entity, EntityType, Pair, Relation, Report, Score, Signature
from histoeval.metrics.base import explain_pair
from histoeval.view.html import notebook
from tests.support.score_runs import CASES, Marking, make_score_run


def test_one_pair_is_shown_with_both_texts_and_lights_up_without_a_script() -> None:
    shown = Marking()(*CASES["breast-1"])._repr_html_()
    assert shown.count('<mark class="contradicted critical" data-mark="e1">') == 2
    assert "wrong laterality" in shown
    assert ':has([data-mark~="e1"]:is(:hover, :focus)) [data-mark~="e1"]' in shown
    assert "marking|kept:yes" in shown


def test_an_explanation_shows_its_texts_too_and_hostile_ones_do_no_harm() -> None:
    reference, candidate = CASES["odd-1"]
    found = explain_pair(Marking(), Pair(id="x", reference=reference, candidate=candidate))
    shown = found._repr_html_()
    assert '<mark class="matched" data-mark="m1">naevus</mark>' in shown
    assert "<script" not in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def test_results_show_their_errors_and_a_comparison_where_systems_differ(tmp_path: Path) -> None:
    run = make_score_run(tmp_path)
    pairs = [{"id": "x", "reference": "Left colon", "candidate": "Right colon"}]
    shown = histoeval.score(pairs, metrics=[Marking()])._repr_html_()
    assert "<caption>Errors in the reports</caption>" in shown
    assert "marking.findings" not in shown
    compared = histoeval.compare(run, metric="marking", resamples=20, permutations=20)
    assert "Where systems differ most" in compared._repr_html_()


def test_a_report_shows_its_entities_and_relations() -> None:
    entities = (
        Entity(text="carcinoma", start=0, end=9, type=EntityType.DIAGNOSIS),
        Entity(text="colon", start=13, end=18, type=EntityType.SITE),
    )
    report = Report(
        text="carcinoma of colon", entities=entities, relations=(Relation(head=0, tail=1),)
    )
    shown = report._repr_html_()
    assert (
        '<mark class="matched" data-mark="n1">carcinoma</mark><sup class="matched" data-mark="n1">'
        in shown
    )
    assert '<li data-mark="n1 n2">carcinoma → colon</li>' in shown


def test_what_cannot_be_drawn_is_shown_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(thing: object) -> str:
        raise RuntimeError("no <template>")

    monkeypatch.setattr(notebook, "notebook_html", broken)
    shown = Score(value=1, signature=Signature(metric="<x>"))._repr_html_()
    assert "<pre>&lt;x&gt; = 1.000</pre>" in shown
    assert "RuntimeError: no &lt;template&gt;" in shown
