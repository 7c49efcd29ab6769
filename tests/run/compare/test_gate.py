"""A new run against a baseline: the language of conditions, new errors, cases that got worse."""

import json
from pathlib import Path
from typing import Any

import pytest

import histoeval
from histoeval.errors import InputError, SettingError
from histoeval.run.compare.conditions import Bound, Condition, read_condition, read_conditions
from histoeval.run.compare.gate import Gate
from histoeval.run.stored import read_comparison
from tests.support.score_runs import Marking

LEFT, RIGHT = "Left breast: carcinoma, grade 2.", "Right breast: carcinoma, grade 2."
WRONG_GRADE = "Left breast: carcinoma, grade 3."
IDS = [f"c{number}" for number in range(8)]


def scored(folder: Path, candidates: dict[str, str], **more: Any) -> Path:
    """A run in which every candidate is the reference, unless another is given."""
    records = [
        {"id": id_, "reference": LEFT, "candidate": candidates.get(id_, LEFT)}
        for id_ in more.pop("ids", IDS)
    ]
    histoeval.score(records, metrics=[Marking(), "bleu"], output=folder, **more)
    return folder


def gate(tmp_path: Path, before: dict[str, str], after: dict[str, str], *fail_if: str) -> Gate:
    old, new = scored(tmp_path / "old", before), scored(tmp_path / "new", after)
    return judged(old, new, *fail_if)


def judged(old: Path, new: Path, *fail_if: str, **more: Any) -> Gate:
    settings: dict[str, Any] = {"metric": "marking", "resamples": 200, "permutations": 200} | more
    found = histoeval.compare(new, baseline=old, fail_if=fail_if, **settings).gate
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("condition", "fails"),
    [
        ("marking drop > 0.06", True),
        ("marking drop > 0.07", False),
        ("marking drop > 0.06 with p < 0.05", False),
        ("marking drop > 6 %", True),
        ("marking drop > 7 %", False),
        ("marking rise > 0", False),
        ("marking < 0.9", True),
        ("marking < 0.85", False),
        ("new critical errors > 0", True),
        ("new critical errors > 2", False),
        ("new major errors > 0", False),
        ("critical errors of marking > 1", True),
        ("major errors > 0", True),
        ("errors > 0", False),
        ("missing > 0", False),
    ],
)
def test_conditions_are_met_or_not(tmp_path: Path, condition: str, fails: bool) -> None:
    # Before, the side of one case and the grade of another are wrong; after, those of two more.
    before = {"c0": RIGHT, "c1": WRONG_GRADE}
    after = before | {"c2": RIGHT, "c3": RIGHT}
    found = gate(tmp_path, before, after, condition)
    assert found.passed is not fails, found.conditions


def test_the_cases_that_got_worse_come_with_their_new_errors(tmp_path: Path) -> None:
    before = {"c1": WRONG_GRADE, "c4": RIGHT}
    after = {"c1": RIGHT, "c2": WRONG_GRADE, "c3": "", "c4": RIGHT}
    found = gate(tmp_path, before, after, "new critical errors > 0", "errors > 0")
    assert [case.id for case in found.worse] == ["c3", "c1", "c2"]
    lost, changed, wrong = found.worse
    assert (lost.before, lost.after, lost.reason) == (1.0, None, "empty_text")
    assert (changed.before, changed.after) == (0.75, 0.75)
    assert [each.severity for each in changed.new_errors] == ["critical"]
    assert "'Right' for 'Left'" in changed.new_errors[0].message
    assert [each.severity for each in wrong.new_errors] == ["major"]
    assert [each.cases for each in found.failed] == [("c1",), ("c3",)]


def test_ids_that_are_gone_are_missing_and_no_errors(tmp_path: Path) -> None:
    old = scored(tmp_path / "old", {})
    new = scored(tmp_path / "new", {}, ids=IDS[:6])
    found = judged(old, new, "missing > 1", "missing > 25 %", "errors > 0")
    assert [each.failed for each in found.conditions] == [True, False, False]
    assert found.conditions[0].cases == ("c6", "c7")
    assert any("lacks 2" in note for note in found.notes)
    filled = judged(old, new, "marking drop > 0.2", missing="worst")
    assert filled.failed[0].cases == ("c6", "c7"), "what made it worse"


def test_each_system_is_compared_with_its_namesake(tmp_path: Path) -> None:
    def two(folder: Path, a: str, b: str) -> Path:
        records = [{"id": id_, "reference": LEFT, "a": a, "b": b} for id_ in IDS]
        histoeval.score(records, metrics=[Marking()], candidate=("a", "b"), output=folder)
        return folder

    old, new = two(tmp_path / "old", LEFT, RIGHT), two(tmp_path / "new", RIGHT, LEFT)
    found = judged(old, new, "marking drop > 0")
    failed = {each.system: each.failed for each in found.conditions}
    assert failed == {"new:a": True, "new:b": False}
    assert not found.notes
    records = [{"id": id_, "reference": LEFT, "a": LEFT} for id_ in IDS]
    histoeval.score(records, metrics=[Marking()], candidate="a", output=tmp_path / "only")
    [note] = judged(old, tmp_path / "only", "missing > 0").notes
    assert "no new run has b, which the baseline has" in note
    with pytest.raises(InputError, match="has no system called 'candidate'"):
        judged(old, scored(tmp_path / "other", {}), "marking drop > 0")


def test_scores_made_in_different_ways_are_never_compared_silently(tmp_path: Path) -> None:
    old, new = scored(tmp_path / "old", {}), scored(tmp_path / "new", {})
    summary = json.loads((old / "summary.json").read_text("utf-8"))
    summary["metrics"]["marking"]["signature"] = "marking|kept:no|histoeval:0.0.1"
    (old / "summary.json").write_text(json.dumps(summary), "utf-8")
    with pytest.raises(InputError, match=r"kept: no and yes; histoeval: 0.0.1 and"):
        judged(old, new, "marking drop > 0")
    by_another = judged(old, new, "bleu drop > 0", metric="bleu")
    assert by_another.passed
    assert "new errors were not looked for" in by_another.notes[0]
    (old / "summary.json").unlink()
    assert any(note.startswith("WARNING: it is not known") for note in judged(old, new).notes)


def test_other_references_under_the_same_ids_are_noticed(tmp_path: Path) -> None:
    old, new = scored(tmp_path / "old", {}), tmp_path / "new"
    histoeval.score(
        [{"id": id_, "reference": RIGHT, "candidate": RIGHT} for id_ in IDS],
        metrics=[Marking(), "bleu"],
        output=new,
    )
    assert any("8 ids have another reference" in note for note in judged(old, new).notes)


def test_what_cannot_be_judged_is_refused(tmp_path: Path) -> None:
    old, new = scored(tmp_path / "old", {}), scored(tmp_path / "new", {})
    with pytest.raises(SettingError, match="did you mean 'marking'"):
        judged(old, new, "markng drop > 0")
    with pytest.raises(SettingError, match=r"did you mean .marking\.findings."):
        judged(old, new, "marking.finding < 0")
    with pytest.raises(SettingError, match="bleu does not list errors"):
        judged(old, new, "new errors of bleu > 0", metric="bleu")
    with pytest.raises(SettingError, match="baseline="):
        histoeval.compare(old, new, fail_if="errors > 0")


def test_a_share_of_a_mean_of_0_is_refused(tmp_path: Path) -> None:
    nothing = dict.fromkeys(IDS, "none of it")
    with pytest.raises(SettingError, match="baseline is 0"):
        gate(tmp_path, nothing, nothing, "bleu drop > 1 %")


def test_a_gate_is_written_and_read_back(tmp_path: Path) -> None:
    old, new = scored(tmp_path / "old", {}), scored(tmp_path / "new", {"c2": RIGHT})
    settings: dict[str, Any] = {"metric": "marking", "resamples": 200, "permutations": 200}
    found = histoeval.compare(new, baseline=old, fail_if="new critical errors > 0", **settings)
    file = found.write(tmp_path / "out")
    content = json.loads(file.read_text("utf-8"))
    assert content["gate"]["passed"] is False
    assert content["gate"]["worse"][0]["id"] == "c2"
    assert read_comparison(tmp_path / "out").gate == found.gate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "concordance drop > 0.01 with p < 0.05",
            ("drop", Bound(">", 0.01), "concordance", "", Bound("<", 0.05)),
        ),
        ("bleu RISE>=5% WITH P<=.1", ("rise", Bound(">=", 5, True), "bleu", "", Bound("<=", 0.1))),
        ("hare:threshold=0.5 < .8", ("mean", Bound("<", 0.8), "hare:threshold=0.5", "", None)),
        ("bleu > -1e-3", ("mean", Bound(">", -0.001), "bleu", "", None)),
        ("new critical errors > 0", ("new errors", Bound(">", 0), "", "critical", None)),
        ("new errors >= 3", ("new errors", Bound(">=", 3), "", "", None)),
        (
            "Major errors of rubric_offline > 10",
            ("report errors", Bound(">", 10), "rubric_offline", "major", None),
        ),
        ("errors > 0", ("errors", Bound(">", 0), "", "", None)),
        ("  missing   >  1 % ", ("missing", Bound(">", 1, True), "", "", None)),
    ],
)
def test_reading_conditions(text: str, expected: tuple[str, Bound, str, str, Bound | None]) -> None:
    found = read_condition(text)
    assert (found.what, found.limit, found.metric, found.severity, found.p) == expected


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("", "a metric", "^"),
        ("bleu", "was expected here", "    ^"),
        ("concordance dropp > 1", "did you mean 'drop'", "            ^^^^^"),
        ("concordance drop < 1", "> or >=", "                 ^"),
        ("new critcal errors > 0", "did you mean 'critical'", "    ^^^^^^^"),
        ("bleu drop > 0,5", "decimals have a point", "            ^^^"),
        ("bleu drop > nan", "is not a number", "            ^^^"),
        ("errors > -1", "not below 0", "         ^^"),
        ("bleu < 5 %", "nothing more", "         ^"),
        ("bleu drop > 1 and p < 0.05", "a test is `with p < 0.05`", "              ^^^"),
        ("bleu drop > 1 wth p < 0.05", "did you mean 'with'", "              ^^^"),
        ("bleu drop > 1 with p < 0", "above 0", "                     ^"),
        ("> 3", "begins with", "^"),
        ("😀 droop > 3", "did you mean 'drop'", "   ^^^^^"),
        ("bleu \x1b[31m > 3", "drop, rise", "     ^^^^^"),
    ],
)
def test_what_is_not_understood_is_pointed_at(text: str, reason: str, place: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_condition(text)
    message, _, pointer = str(caught.value).split("\n")
    assert reason in message
    assert pointer == f"  {place}"
    assert "\x1b" not in str(caught.value)


def test_rounding_neither_meets_nor_breaks_a_limit() -> None:
    assert not Bound(">", 0.01).is_met(0.81 - 0.80)
    assert Bound(">=", 0.01).is_met(0.81 - 0.80)
    assert not Bound("<", 0.8).is_met(0.8)
    assert Bound(">", 5, percent=True).is_met(0.051)


def test_one_condition_may_be_given_without_a_list() -> None:
    assert read_conditions("errors > 0") == [Condition("errors > 0", "errors", Bound(">", 0))]
