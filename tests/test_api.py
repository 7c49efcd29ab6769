"""The front door: one pair, many, metrics as objects, and whatever holds texts."""

from pathlib import Path
from typing import Any

import polars
import pytest

import histoeval
from histoeval import (
    Endpoint,
    HistoEvalError,
    InputError,
    Models,
    Pair,
    Score,
    SettingError,
)
from histoeval.align.builtin import BuiltinAligner
from histoeval.metric import Metric
from histoeval.reader.builtin import BuiltinReader
from histoeval.run.models import load_metrics
from tests.support.fake_server import Loopback, serving
from tests.support.judge_pairs import make_pair

REFERENCE = "Left breast, core biopsy: invasive ductal carcinoma, grade 2. ER positive."
CANDIDATE = "Right breast, core biopsy: invasive ductal carcinoma, grade 2. ER positive."


def test_a_metric_scores_one_pair_as_installed() -> None:
    score = histoeval.load("concordance")(REFERENCE, CANDIDATE)
    assert 0 < float(score) < 1
    assert str(score) == f"concordance = {score.value:.3f} (0 to 1)"
    assert "<b>concordance = " in score._repr_html_()


def test_models_are_loaded_once_and_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    concordance = histoeval.load("concordance")

    def again(*_: object, **__: object) -> None:
        raise AssertionError("loaded again")

    monkeypatch.setattr(BuiltinReader, "__init__", again)
    monkeypatch.setattr(BuiltinAligner, "__init__", again)
    hare: Any = histoeval.load("hare")
    assert hare.reader is concordance.reader  # type: ignore[attr-defined]
    assert histoeval.load("rubric_offline").unavailable_reason() is None
    histoeval.score(REFERENCE, CANDIDATE, metrics="concordance")


def test_settings_stand_in_the_name_or_beside_it() -> None:
    by_name, by_keyword = histoeval.load("bleu:order=2"), histoeval.load("bleu", order=2)
    assert by_name.name == by_keyword.name == "bleu:order=2"
    assert by_name.signature == by_keyword.signature
    with pytest.raises(SettingError, match="not the name of one metric"):
        histoeval.load("bleu,chrf")


def test_explain_gives_the_evidence() -> None:
    score = histoeval.explain(REFERENCE, CANDIDATE)
    assert score.evidence["errors"][0]["kind"] == "wrong_laterality"
    assert isinstance(score, histoeval.Explanation)
    assert 1 - sum(part.cost for part in score.breakdown) == pytest.approx(score.value)
    assert "without this error: " in str(score)
    assert histoeval.explain("a b c d", "a b c d", histoeval.load("bleu")).value == pytest.approx(
        100
    )


def test_contradictions_of_one_report() -> None:
    logic = histoeval.contradictions(f"{REFERENCE} No malignancy is seen.")
    assert logic.contradictions
    with pytest.raises(InputError, match="needs a statement"):
        histoeval.contradictions("Colon.")


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (("a b", "a c"), {}),
        ((), {"references": "a b", "candidates": "a c"}),
        ((["a b"], ["a c"]), {}),
        ((), {"references": ["a b"], "candidates": {"mine": ["a c"]}}),
        (([{"reference": "a b", "candidate": "a c"}],), {}),
        ((polars.DataFrame({"reference": ["a b"], "candidate": ["a c"]}),), {}),
    ],
)
def test_texts_lists_records_and_frames_go_in(
    arguments: tuple[Any, ...], settings: dict[str, Any]
) -> None:
    (row,) = histoeval.score(*arguments, metrics="rouge_1", **settings)
    assert row.scores["rouge_1"].value == 0.5


def test_files_go_in(tmp_path: Path) -> None:
    (tmp_path / "true.txt").write_text("a b\nc\n", "utf-8")
    (tmp_path / "mine.txt").write_text("a c\nc\n", "utf-8")
    files = str(tmp_path / "true.txt"), str(tmp_path / "mine.txt")
    for found in (
        histoeval.score(*files, metrics="rouge_1"),
        histoeval.score(list(files), metrics="rouge_1"),
    ):
        assert [row.scores["rouge_1"].value for row in found] == [0.5, 1.0]


def test_metrics_are_names_and_objects() -> None:
    mine = histoeval.load("rouge_1")
    found = histoeval.score("a b", "a c", metrics=["chrf", mine, "bleu"])
    assert list(found.summary["metrics"]) == ["chrf", "rouge_1", "bleu"]
    with pytest.raises(SettingError, match="two metrics are called 'rouge_1'"):
        histoeval.score("a b", "a c", metrics=["rouge_1", mine])
    with pytest.raises(SettingError, match="is not a metric"):
        load_metrics([3])


@pytest.mark.parametrize("name", ["bleu", "concordance", "rubric_offline"])
@pytest.mark.parametrize(
    ("reference", "candidate", "why"),
    [
        ("ER positive.", "", r"candidate is empty \(pair 1\)"),
        (" \n", "ER positive.", "reference is empty"),
        ("ER positive.", None, "candidate is missing"),
    ],
)
def test_a_text_that_is_empty_has_no_score(
    name: str, reference: Any, candidate: Any, why: str
) -> None:
    metric = histoeval.load(name)
    with pytest.raises(HistoEvalError, match=why):
        metric(reference, candidate)
    with pytest.raises(InputError, match=why):
        histoeval.explain(reference, candidate, metric)
    good = "ER positive."
    both = metric.compute(predictions=[good, candidate], references=[good, reference])
    assert both.mean == metric(good, good).value
    assert [problem.code for problem in both.problems] != []


def test_a_frame_is_no_list_of_texts() -> None:
    frame = polars.DataFrame({"reference": ["a b"], "candidate": ["a c"]})
    with pytest.raises(SettingError, match="references is of type DataFrame; give a text or a"):
        histoeval.score(frame, ["a b", "a c"], metrics="rouge_1")
    columns: Any = frame["reference"], frame["candidate"]
    (row,) = histoeval.score(*columns, metrics="rouge_1")
    assert row.scores["rouge_1"].value == 0.5


def test_the_old_create_has_the_shipped_models() -> None:
    with pytest.warns(DeprecationWarning, match="now histoeval.load"):
        create = histoeval.create
    (score,) = create("concordance").score([Pair(id="1", reference="ER+.", candidate="ER+.")])
    assert isinstance(score, Score)


def test_rows_without_reports_under_attack_name_arguments_of_python() -> None:
    (row,) = histoeval.trust(["Left breast: carcinoma. No necrosis."])
    (why,) = (error.message for error in row.errors if error.code == "no_attacked_reports")
    assert "--" not in why
    assert "vlm=Endpoint(url=...)" in why


def test_one_text_is_extracted_as_a_list_of_one() -> None:
    text = "Left breast: invasive carcinoma."
    assert histoeval.extract(text).reports == histoeval.extract([text]).reports


def test_metrics_are_listed_with_what_they_need() -> None:
    listed = {metric.name: metric for metric in histoeval.list_metrics()}
    assert listed["bertscore"].needs == "an encoder"
    runnable = {metric.name for metric in histoeval.list_metrics(runnable=True)}
    assert {"concordance", "bleu"} <= runnable
    assert not {"bertscore", "judge_rubric4"} & runnable


def test_a_metric_without_its_model_says_what_to_give() -> None:
    metric: Metric = histoeval.load("bertscore")
    with pytest.raises(SettingError, match=r"name models=Models\(encoder=\.\.\.\)"):
        metric("a", "b")


def test_judges_need_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HISTOEVAL_JUDGE_ENDPOINT", raising=False)
    with pytest.raises(SettingError, match="pass llm=Endpoint"):
        histoeval.judge("a", "b")
    one, other = Endpoint(model="m", device="cpu"), Endpoint(model="n", device="cuda")
    for wrong, why in (([one, other], "the same device"), ([], "is no judge")):
        with pytest.raises(SettingError, match=why):
            histoeval.judge("a", "b", llm=wrong)


def test_judges_are_named_by_endpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HISTOEVAL_CACHE", str(tmp_path / "cache"))
    pairs = [make_pair(number) for number in range(3)]
    with serving(Loopback()) as server:
        llm = [Endpoint(url=server.url, model="one"), Endpoint(url=server.url, model="two")]
        found = histoeval.judge(pairs, llm=llm, beside="rouge_1")
    assert len(found) == 3
    assert set(found[pairs[0].id].scores) >= {"judge_rubric4", "judge_rubric4@one", "rouge_1"}
    assert len(found.summary["usage"]) == 2


def test_failures_carry_the_reason() -> None:
    with pytest.raises(HistoEvalError, match="neither report states anything"):
        histoeval.load("concordance")("x", "y")


def test_models_may_be_objects() -> None:
    reader: Any = load_metrics("hare")[0]
    made: Any = histoeval.load("hare", models=Models(reader=reader.reader, aligner="lexical"))
    assert made.reader is reader.reader


def test_only_metrics_that_read_english_refuse_other_languages() -> None:
    pair = {"reference": "Haut: Karzinom, knotig", "candidate": "Haut: Karzinom, ulzeriert, G2"}
    metrics = "concordance,rubric_offline,hare,bleu,rouge_l,chrf"
    (refused,) = histoeval.score([pair], metrics=metrics).rows
    assert {error.metric for error in refused.errors} == {"concordance", "rubric_offline", "hare"}
    assert {error.code for error in refused.errors} == {"not_english"}
    assert set(refused.scores) == {"bleu", "rouge_l", "chrf"}
    (asked,) = histoeval.score([pair], metrics=metrics, models=Models(language="any")).rows
    assert asked.errors == ()
    with pytest.raises(InputError, match="written in German"):
        histoeval.contradictions("Haut: Basalzellkarzinom. Kein Anhalt für Malignität.")
