"""Tables on judges hold the numbers they are made of, and say what is not known."""

from typing import Any

from rich.console import Console, RenderableType

from histoeval.judges.check import CriterionVerdict
from histoeval.judges.panel import RequestEstimate
from histoeval.view.terminal.judge import (
    criteria_table,
    estimate_table,
    steadiness_tables,
    usage_table,
    verdict_table,
    without_difference,
)

ALPHA = {"value": 0.81, "low": 0.7, "high": 0.9, "reason": None}


def shown(table: RenderableType, width: int = 160) -> str:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_criteria_are_shown_with_their_spread_and_other_metrics_are_not() -> None:
    def metric(**parts: float) -> dict[str, Any]:
        return {"systems": {"ours": {"parts": parts}}}

    summary = {
        "metrics": {
            "judge_rubric4": metric(clarity=2.5, clarity_spread=0.25, spread=0.1),
            "bleu": metric(precision=9.9),
        }
    }
    text = shown(criteria_table(summary, "judge_rubric4"))
    assert text.split()[-3:] == ["2.50", "(spread", "0.25)"]
    assert "9.9" not in text


def test_criteria_are_rows_and_systems_are_columns_and_sameness_is_told() -> None:
    def metric(**means: float) -> dict[str, Any]:
        parts = {name: {"parts": {"clarity": mean}} for name, mean in means.items()}
        return {"metrics": {"judge_rubric4": {"systems": parts}}}

    table = shown(criteria_table(metric(good=4.0, bad=3.5), "judge_rubric4"))
    assert table.split()[-3:] == ["clarity", "4.00", "3.50"]
    assert "criterion  good   bad" in table
    assert without_difference(metric(good=4.0, bad=3.5), "judge_rubric4") == ""
    assert without_difference(metric(good=4.0), "judge_rubric4") == ""
    unanswered: dict[str, Any] = {"systems": {"good": {"parts": {}}, "bad": {"parts": {}}}}
    assert without_difference({"metrics": {"judge_rubric4": unanswered}}, "judge_rubric4") == ""
    alike = metric(only=4.0) | {"judge": {"all_pairs_alike": True}}
    assert "All pairs have the same scores" in without_difference(alike, "judge_rubric4")
    told = without_difference(metric(good=4.0, bad=4.0), "judge_rubric4")
    assert "`histoeval judge check`" in told
    nothing_read: dict[str, Any] = {"good": {"parts": {}}, "bad": {"parts": {}}}
    unread = {"metrics": {"judge_rubric4": {"systems": nothing_read}}}
    assert without_difference(unread, "judge_rubric4") == ""


def test_agreement_is_shown_with_its_interval_or_why_there_is_none() -> None:
    told = {"alpha": ALPHA, "mean_spread": 0.2, "identical": 0.75, "pairs": 40, "mean_shift": -0.1}
    none = told | {"alpha": {"value": None, "low": None, "high": None, "reason": "one rater only"}}
    found = {
        "repeats": {"m": {"a": told}},
        "order": {"m": {"a": told}},
        "between_judges": {"a": none},
    }
    repeats, order, judges = map(shown, steadiness_tables(found))
    assert "0.810 (0.700 to 0.900)" in repeats
    assert "shift" not in repeats
    assert "-0.100" in order
    assert "one rater only" in judges


def test_what_is_not_known_is_not_shown_as_nothing() -> None:
    used = dict.fromkeys(("requests", "cached", "retries", "tokens_in", "tokens_out"), 7)
    assert "unknown" in shown(
        usage_table({"m": used | {"seconds": 1, "cost": None, "currency": "X"}})
    )
    counts = {"pairs": 10, "questions": 20, "cached": 5, "tokens_in": 1234, "tokens_out": 99}
    about: dict[str, Any] = {"measured": False, "seconds": 300, "cost": 1.5, "currency": "EUR"}
    estimate = RequestEstimate(judge="m", **counts, **about)
    text = shown(estimate_table([estimate]))
    assert [word in text for word in ("~1,234", "5 min", "1.5000 EUR", " 15 ")] == [True] * 4


def test_a_verdict_says_what_a_judge_may_be_used_for() -> None:
    figures = {"answered": 1, "in_order": 0.95, "ordered_pairs": 60, "in_range": 0.8, "obeyed": 0}
    good = CriterionVerdict(criterion="clarity", may_be_used=True, **figures)
    text = shown(verdict_table("m", [good, good.model_copy(update={"may_be_used": False})]))
    assert "may be used" in text
    assert "may not" in text
    assert "95%" in text


def test_long_names_of_judges_fit_a_terminal_of_80_columns() -> None:
    """A panel of three, with the names that judges have."""
    models = ("Qwen/Qwen3-235B-A22B-Instruct", "fake-judge", "mistralai/Mistral-Large-2411")
    judges = [f"{model}@http://llm.hospital.example.org:8101/v1" for model in models]
    counts = ("requests", "cached", "retries", "tokens_in", "tokens_out")
    spent = {"seconds": 86_400, "cost": 123.4567, "currency": "EUR"}
    used = dict.fromkeys(counts, 1_234_567) | spent
    text = shown(usage_table(dict.fromkeys(judges, used)), 80)
    assert text.count("1,234,567") == 15
    assert len(text.splitlines()) < 14
    assert shown(usage_table({judges[1]: used}), 80).count(judges[1]) == 1
    parts = {"critical_finding_concordance": 3.5, "critical_finding_concordance_spread": 0.25}
    metrics = {
        f"judge_rubric4@{model}": {"systems": {"ours": {"parts": parts}}} for model in models
    }
    text = shown(criteria_table({"metrics": metrics}, "judge_rubric4"), 80)
    assert text.count("3.50 (spread 0.25)") == 3
    assert len(text.splitlines()) < 8
