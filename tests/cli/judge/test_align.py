"""`histoeval judge align` as people use it: a judge's folder, tables of experts, mistakes."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from histoeval import align_judge
from histoeval.judges.alignment import read_alignment
from tests.support.fake_server import CRITERIA
from tests.support.judge_command import Here
from tests.support.judge_pairs import deserved
from tests.support.paths import ROOT, SHARED
from tests.support.tables import from_table

JUDGED = SHARED / "data/expert/judged_dev.jsonl"
TOPS = dict(zip(CRITERIA, (4, 3, 3, 4), strict=True))


def experts(
    here: Here, score: Callable[[int, str, int], object], name: str = "experts.csv", **more: Any
) -> None:
    """A table of experts who score by what the judge gives."""
    with (here.folder / name).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", *CRITERIA, *more])
        for number in range(30):
            given = dict(zip(CRITERIA, deserved(number), strict=True))
            cells = [score(number, each, given[each]) for each in CRITERIA]
            table.writerow([f"case-{number}", *cells, *more.values()])


def kinder(_: int, criterion: str, given: int) -> int:
    return min(TOPS[criterion], given + 1)


def test_a_strict_judge_is_aligned_and_the_file_is_applied(here: Here) -> None:
    here.judge()
    experts(here, kinder)
    outcome = here("judge", "align", "out", "experts.csv", "--output", "aligned", "--no-baseline")
    assert outcome.code == 0, outcome.err
    for heading in ("Agreement with experts", "closer", "expert 1", "differ most", "Cost"):
        assert heading in outcome.out
    found = read_alignment(here.folder / "aligned/alignment.yaml")
    assert (found.metric, found.judge) == ("judge_rubric4", "m")
    assert found.experts["name"] == "experts.csv"
    assert len(found.experts["sha256"]) == 64
    fitted = found.fitted["critical_finding_concordance"]
    assert fitted["pairs"] == 30
    assert fitted["after"]["mae"] < fitted["before"]["mae"]
    before = here.lines("scores.jsonl")
    applied = here.judge("--alignment", "aligned/alignment.yaml", output="again")
    assert applied.code == 0, applied.err
    assert len(here.server.calls) == 30  # from the cache
    for old, new in zip(before, here.lines("scores.jsonl", "again"), strict=True):
        parts, own = new["scores"]["judge_rubric4"]["parts"], old["scores"]["judge_rubric4"]
        for name in CRITERIA:
            assert parts[f"{name}_raw"] == own["parts"][name]
        assert parts["value_raw"] == pytest.approx(own["value"])
        assert new["scores"]["judge_rubric4"]["value"] > own["value"] or own["value"] == 1
    signature = here.read("summary.json", "again")["metrics"]["judge_rubric4"]["signature"]
    assert f"alignment:{found.identity}" in signature
    again = here("judge", "align", "again", "experts.csv", "--output", "b", "--no-baseline")
    assert again.code == 0
    assert read_alignment(here.folder / "b/alignment.yaml").criteria == found.criteria


def test_figures_and_disagreements_are_in_a_file_with_the_reasons(here: Here) -> None:
    here.judge()
    experts(here, lambda n, c, given: 1 if n == 7 else given)
    here("judge", "align", "out", "experts.csv", "--output", "aligned", "--no-baseline")
    content = json.loads((here.folder / "aligned/alignment.json").read_text("utf-8"))
    found = content["metrics"]["judge_rubric4"]
    gaps = found["disagreements"]
    assert {gap["id"] for gap in gaps} <= {"case-7"}
    sizes = [abs(gap["judge"] - gap["expert"]) for gap in gaps]
    assert sizes == sorted(sizes, reverse=True)
    assert all(gap["reason"] for gap in gaps)
    assert sum(map(sum, found["criteria"][0]["confusion"]["counts"])) == 30
    (used,) = found["usage"].values()
    assert used["requests"] == 30


def test_several_raters_in_rows_or_columns_are_averaged(here: Here) -> None:
    here.judge()
    with (here.folder / "ratings.csv").open("w", encoding="utf-8") as file:
        file.write("rater,id,system,factual_accuracy\n")
        for number in range(30):
            file.write(f"anna,case-{number},,1\nben,case-{number},,{1 + number % 3}\n")
    found = align_judge(
        here.folder / "out", here.folder / "ratings.csv", baseline=False, resamples=50
    )
    (only,) = found.judge.criteria
    assert only.criterion == "factual_accuracy"
    gap = next(gap for gap in found.judge.gaps if gap.id == "case-2")
    assert gap.expert == 2
    assert any("have not scored" in note for note in found.notes)
    assert len(found.to_dicts()) == 2


def test_rubric_offline_is_beside_it_and_can_be_aligned_itself(here: Here) -> None:
    here.judge("--beside", "rubric_offline")
    experts(here, kinder)
    beside = here("judge", "align", "out", "experts.csv")
    assert beside.code == 0, beside.err
    assert "rubric_offline" in beside.out
    alone = here(
        "judge", "align", "out", "experts.csv", "--metric", "rubric_offline", "--output", "c"
    )
    assert alone.code == 0, alone.err
    assert read_alignment(here.folder / "c/alignment.yaml").metric == "rubric_offline"


@pytest.mark.parametrize(
    ("odd", "said"),
    [(1_000_000_000, "is 1e+09, and scores go from 1 to 4"), ("🙂", "not a number")],
)
def test_a_cell_that_is_no_score_is_told_and_not_used(here: Here, odd: object, said: str) -> None:
    here.judge()
    experts(here, lambda n, c, given: odd if n == 7 else given)
    outcome = here("judge", "align", "out", "experts.csv", "--no-baseline")
    assert outcome.code == 0, outcome.err
    assert "cells of experts.csv that cannot be used: 4" in outcome.err
    assert said in outcome.err
    assert "expert 5" not in outcome.out
    experts(here, lambda n, c, given: given + 10)
    outcome = here("judge", "align", "out", "experts.csv", "--no-baseline")
    assert (outcome.code, "scores go from 1 to 4" in outcome.err) == (2, True)


def test_too_few_scores_are_told_and_nothing_is_changed(here: Here) -> None:
    here.judge()
    experts(here, lambda n, c, given: given if n < 5 else "")
    outcome = here("judge", "align", "out", "experts.csv", "--output", "few", "--no-baseline")
    assert outcome.code == 0, outcome.err
    assert "20 pairs" in " ".join(outcome.out.split())
    found = read_alignment(here.folder / "few/alignment.yaml")
    assert all(each.kind == "none" for each in found.criteria.values())
    assert "5 pairs" in found.fitted["factual_accuracy"]["not_fitted"]


@from_table
def test_mistakes_are_told(
    here: Here, content: str, arguments: tuple[str, ...], complaint: str
) -> None:
    here.judge()
    (here.folder / "experts.csv").write_text(content, "utf-8")
    outcome = here("judge", "align", "out", "experts.csv", "--no-baseline", *arguments)
    assert outcome.code == 2
    assert complaint in " ".join(outcome.err.split())


def test_a_folder_without_a_judge_is_refused(here: Here, tmp_path: Path) -> None:
    here("score", "pairs.csv", "--metrics", "bleu", "--output", "scored")
    experts(here, kinder)
    outcome = here("judge", "align", "scored", "experts.csv")
    assert outcome.code == 2
    assert "holds no judge's scores" in outcome.err


def test_the_commands_of_the_page_work(here: Here) -> None:
    page = (ROOT / "docs/judge.md").read_text("utf-8").partition("## Closer to experts")[2]
    block = page.partition("```console\n")[2].partition("```")[0]
    commands = [line.removeprefix("$ histoeval ") for line in block.splitlines()]
    assert len(commands) == 3
    experts(here, lambda n, c, given: 1 + n % TOPS[c])
    for command in commands:
        outcome = here(*command.split())
        assert outcome.code == 0, outcome.err
    for row in here.lines("scores.jsonl", "closer"):
        (found,) = row["scores"].values()
        assert "overall_equivalence_raw" in found["parts"]


@pytest.mark.release
@pytest.mark.skipif(not JUDGED.is_file(), reason="the scored pairs are not here")
def test_real_scores_are_aligned_no_worse_than_they_are(here: Here) -> None:
    """A fifth of the 540 pairs, by the offline rubric."""
    some = JUDGED.read_text("utf-8").splitlines()[::5]
    (here.folder / "some.jsonl").write_text("\n".join(some), "utf-8")
    here("score", "some.jsonl", "--metrics", "rubric_offline", "--output", "real")
    found = align_judge(here.folder / "real", here.folder / "some.jsonl", resamples=100)
    assert [each.criterion for each in found.judge.criteria] == list(CRITERIA)
    for each in found.judge.criteria:
        assert each.after is not None
        assert (each.before.kappa.value or 0) > 0.6
        assert (each.after.mae.value or 9) <= (each.before.mae.value or 0) + 0.05
