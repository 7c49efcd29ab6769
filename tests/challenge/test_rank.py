"""Teams ranked on the ids of the truth, by the policy."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from histoeval.challenge import check_predictions, init_challenge, rank_teams
from histoeval.challenge.standings import ChallengeRanking, read_ranking
from histoeval.errors import InputError, SettingError
from histoeval.run.score import score_source
from tests.support.challenges import TRUTH, a_challenge, changed, rows, set_rules, team, write_json

WORDY = {id_: f"{text} Deeper levels were examined." for id_, text in TRUTH.items()}


def three(tmp_path: Path) -> list[Path]:
    """A perfect team, a wordy one, and one that is mostly wrong."""
    teams: dict[str, Mapping[str, object]] = {"perfect": TRUTH, "wordy": WORDY, "wrong": changed(6)}
    return [team(tmp_path, name, reports) for name, reports in teams.items()]


def ranking(folder: Path, files: list[Path], **more: Any) -> ChallengeRanking:
    return rank_teams(folder, files, engine="inline", **more).ranking


def order(found: ChallengeRanking) -> list[str]:
    return [each.team for each in found.teams]


def test_teams_are_in_order_with_intervals_places_and_tiers(tmp_path: Path) -> None:
    found = ranking(a_challenge(tmp_path), three(tmp_path))
    assert order(found) == ["perfect", "wordy", "wrong"]
    assert [each.place for each in found.teams] == [1, 2, 3]
    best, _, last = found.teams
    assert best.score.value == pytest.approx(1)
    assert best.score.low == pytest.approx(1)
    assert (best.place_low, best.place_high) == (1, 1)
    assert last.score.low < last.score.value < last.score.high  # type: ignore[operator]
    assert last.tier > best.tier
    assert sum(last.place_shares) == pytest.approx(1)
    assert all(best.metrics[name].place == 1 for name in ("rouge_l", "bleu_4"))
    assert {duel.one for duel in found.duels} == {"perfect", "wordy"}


def test_a_team_with_few_perfect_cases_does_not_win_or_is_excluded(tmp_path: Path) -> None:
    few = team(tmp_path, "few", dict(list(TRUTH.items())[:2]))
    found = ranking(a_challenge(tmp_path), [few, team(tmp_path, "wordy", WORDY)])
    assert order(found) == ["wordy", "few"]
    assert found["few"].score.value == pytest.approx(2 / 8)
    assert (found["few"].scored, found["few"].missing) == (2, 6)
    assert "few the most (6 of 8)" in found.notes[0]
    folder = tmp_path / "challenge"
    set_rules(folder, missing="exclude")
    found = ranking(folder, [few, team(tmp_path, "wordy", WORDY)])
    assert order(found) == ["wordy"]
    assert found.unranked[0].team == "few"
    assert "lacks 6 of 8 cases" in found.unranked[0].reason
    with pytest.raises(InputError, match="no team can be ranked: few lacks 6"):
        ranking(folder, [few])


def test_a_report_that_a_metric_cannot_score_is_a_fault_by_its_id(tmp_path: Path) -> None:
    german = {**TRUTH, "case-2.tiff": "Magenbiopsie, die Schleimhaut ist nicht entzündet."}
    files = [team(tmp_path, "german", german), team(tmp_path, "wordy", WORDY)]
    folder = a_challenge(tmp_path, metrics={"rouge_l": 1, "rubric_offline": 1})
    (fault,) = ranking(folder, files)["german"].faults
    assert (fault.id, fault.code) == ("case-2.tiff", "not_scored")
    assert "German" in fault.reason
    set_rules(folder, metrics={"rouge_l": 1, "rubric_offline": 1}, missing="exclude")
    (out,) = ranking(folder, files).unranked
    assert (out.scored, out.missing) == (7, 1)
    assert out.faults == (fault,)


def test_an_encoding_that_was_guessed_is_noted(tmp_path: Path) -> None:
    accented = json.dumps(rows({**TRUTH, "case-2.tiff": "Café au lait."}), ensure_ascii=False)
    file = tmp_path / "latin.json"
    file.write_bytes(accented.encode("cp1252"))
    folder = a_challenge(tmp_path)
    (note,) = check_predictions(folder, file).notes
    assert "not UTF-8; read as" in note
    assert f"latin: {note}" in ranking(folder, [file]).notes


def test_only_an_explicit_rule_ranks_on_what_all_teams_share(tmp_path: Path) -> None:
    few = team(tmp_path, "few", dict(list(TRUTH.items())[:2]))
    folder = a_challenge(tmp_path, cases="shared")
    found = ranking(folder, [few, team(tmp_path, "wordy", WORDY)])
    assert (order(found)[0], found.cases) == ("few", 2)
    assert "few has the fewest, 2" in found.notes[0]
    other = team(tmp_path, "other", dict(list(TRUTH.items())[3:]))
    with pytest.raises(InputError, match="no id has a report of every team"):
        ranking(folder, [few, other])


def test_a_list_of_cases_is_what_counts(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path, cases="some.txt")
    (folder / "some.txt").write_text("\n".join(list(TRUTH)[6:]), "utf-8")
    found = ranking(folder, three(tmp_path))
    assert found.cases == 2
    assert found["wrong"].score.value == pytest.approx(1), "its wrong reports are not listed"
    assert [each.place for each in found.teams] == [1, 1, 3], "equal teams share a place"


def test_a_team_whose_file_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    broken = tmp_path / "teams" / "broken.json"
    files = three(tmp_path)
    broken.write_text("nothing", "utf-8")
    found = ranking(a_challenge(tmp_path), [*files, broken])
    assert len(found.teams) == 3
    assert found.unranked[0].team == "broken"
    assert "cannot be read" in found.unranked[0].reason
    with pytest.raises(InputError, match="does not exist"):
        ranking(tmp_path / "challenge", [tmp_path / "typo.json"])


def test_every_case_without_a_score_has_its_own_reason(tmp_path: Path) -> None:
    most = {id_: text for id_, text in TRUTH.items() if id_ != "case-1.tiff"}
    spoilt = team(tmp_path, "spoilt", {**most, "case-2.tiff": ""})
    found = rank_teams(a_challenge(tmp_path), [spoilt], engine="inline")
    assert found.ranking["spoilt"].score.value == pytest.approx(6 / 8)
    assert [fault.id for fault in found.ranking["spoilt"].faults] == ["case-2.tiff", "case-1.tiff"]
    reasons = {case["id"]: case["reason"] for case in found.cases()}
    assert "there is no report for 'case-1.tiff'" in reasons["case-1.tiff"]
    assert "report is empty (row 1)" in reasons["case-2.tiff"]
    assert reasons["case-3.tiff"] is None


@pytest.mark.parametrize(
    ("ties", "places"), [("min", (2, 2, 2)), ("dense", (2, 2, 2)), ("average", (2.5, 2, 3))]
)
def test_the_places_of_teams_that_share_one_agree_with_it(
    tmp_path: Path, ties: str, places: tuple[float, float, float]
) -> None:
    folder = a_challenge(tmp_path, ties=ties)
    files = [team(tmp_path, "best", TRUTH)]
    files += [team(tmp_path, name, changed(4)) for name in ("one", "same")]
    _, *sharing = rank_teams(folder, files).ranking.teams
    assert [(each.place, each.place_low, each.place_high) for each in sharing] == [places] * 2


def test_subgroups_have_tables_of_their_own_and_cases_without_one_are_told(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path)
    found = ranking(folder, three(tmp_path))
    assert (found.subgroups["breast"], found.notes) == (2, ())
    breast = found["wrong"].subgroups["breast"]
    assert breast.score.value == pytest.approx(0.5, abs=0.05), "the first is wrong, the last right"
    assert breast.place == 3
    (folder / "subgroups.csv").write_text("id,subgroup\ncase-1.tif,breast\ncase-2.tiff,gut\n")
    [note] = ranking(folder, three(tmp_path)).notes
    assert "no subgroup for 7 of 8 cases, 'case-1.tiff' the first" in note


def test_each_metric_is_left_out_once(tmp_path: Path) -> None:
    found = ranking(a_challenge(tmp_path), three(tmp_path))
    assert set(found.without) == {"rouge_l", "bleu_4"}
    assert found.without["bleu_4"].tau == pytest.approx(1)
    assert found["wordy"].metrics["bleu_4"].place_without == 2
    set_rules(tmp_path / "challenge", metrics={"rouge_l": 1})
    alone = ranking(tmp_path / "challenge", three(tmp_path)[2:])
    assert (alone.without, alone.duels) == ({}, ())
    assert (alone.teams[0].place, alone.teams[0].tier) == (1, 1)


def test_cases_of_one_patient_are_resampled_together(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path, groups="patients.csv")
    lines = [f"{id_},{at // 2}" for at, id_ in enumerate(TRUTH)]
    (folder / "patients.csv").write_text("\n".join(["id,case", *lines]), "utf-8")
    found = ranking(folder, three(tmp_path))
    assert (found.cases, found.groups) == (8, 4)


@pytest.mark.parametrize("combine", ["mean-then-rank", "rank-then-mean"])
def test_the_order_of_files_changes_nothing(tmp_path: Path, combine: str) -> None:
    folder = a_challenge(tmp_path, combine=combine)
    files = three(tmp_path)
    one, other = ranking(folder, files), ranking(folder, files[::-1])
    assert one.teams == other.teams
    assert one.stability == other.stability


def test_the_best_of_several_references_counts_or_their_mean(tmp_path: Path) -> None:
    truth = {id_: [text, "Nothing alike."] for id_, text in TRUTH.items()}
    init_challenge(tmp_path / "c", write_json(tmp_path / "t.json", rows(truth)))
    scores = []
    for how in ("best", "mean"):
        set_rules(tmp_path / "c", references=how, metrics={"rouge_l": 1})
        scores.append(ranking(tmp_path / "c", [team(tmp_path, "a", TRUTH)]).teams[0].score.value)
    assert scores[0] == pytest.approx(1)
    assert scores[1] == pytest.approx(0.5, abs=0.1)


def watched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of pairs that are scored, run by run."""
    asked: list[int] = []

    def counted(source: Any, *more: Any, **named: Any) -> Any:
        asked.append(sum(1 for _ in source.rows()))
        return score_source(source, *more, **named)

    monkeypatch.setattr("histoeval.challenge.scoring.score_source", counted)
    return asked


def test_nothing_is_scored_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = watched(monkeypatch)
    folder, out, files = a_challenge(tmp_path), tmp_path / "out", three(tmp_path)
    whole = ranking(folder, files, output=out)
    assert asked == [8 + 8 + 6], "what `wrong` has right, `perfect` has too"
    assert ranking(folder, files, output=out) == whole
    assert len(asked) == 1
    copy = team(tmp_path, "copy", {**TRUTH, "case-1.tiff": "Breast: carcinoma."})
    ranking(folder, [*files, copy], output=out)
    assert asked[1:] == [1]
    set_rules(folder, metrics={"chrf": 1})
    ranking(folder, files, output=out)
    assert asked[2:] == [22], "other metrics are other scores"


def test_a_stopped_run_loses_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, out, files = a_challenge(tmp_path), tmp_path / "out", three(tmp_path)
    expected = ranking(folder, files, output=out)
    (scored,) = (out / "scores").iterdir()
    lines = (scored / "scores.jsonl").read_bytes().splitlines(keepends=True)
    (scored / "scores.jsonl").write_bytes(b"".join(lines[:10]) + lines[10][:20])
    (scored / "summary.json").unlink()
    asked = watched(monkeypatch)
    assert ranking(folder, files, output=out) == expected
    assert asked == [12]


def test_files_say_the_same_as_the_ranking(tmp_path: Path) -> None:
    found = rank_teams(a_challenge(tmp_path), three(tmp_path), engine="inline")
    found.write(tmp_path / "out")
    assert read_ranking(tmp_path / "out") == found.ranking
    with (tmp_path / "out" / "ranking.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["team"] for line in lines] == order(found.ranking)
    assert float(lines[1]["rouge_l"]) == found.ranking["wordy"].metrics["rouge_l"].mean.value
    with (tmp_path / "out" / "cases.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 24
    text = json.dumps(found.ranking.model_dump(mode="json"))
    assert not any(report in text for report in TRUTH.values())


def test_a_damaged_ranking_and_an_empty_list_of_teams_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ranking.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="not a ranking"):
        read_ranking(tmp_path)
    with pytest.raises(InputError, match="no team to rank: give a file"):
        ranking(a_challenge(tmp_path), [])


def test_teams_whose_files_have_the_same_name_are_called_with_their_folder(tmp_path: Path) -> None:
    files = [write_json(tmp_path / name / "predictions.json", rows(TRUTH)) for name in "ab"]
    found = ranking(a_challenge(tmp_path), files)
    assert order(found) == ["a/predictions", "b/predictions"]
    with pytest.raises(InputError, match="two teams would be called a/predictions: rename"):
        ranking(tmp_path / "challenge", [files[0], files[0]])


def test_the_policy_turns_a_metric_round_and_must_fit_it(tmp_path: Path) -> None:
    files = three(tmp_path)
    found = ranking(a_challenge(tmp_path, metrics={"rouge_l": {"direction": "down"}}), files)
    assert order(found)[0] == "wrong", "less is better here"
    assert found.metrics["rouge_l"].worst == 1
    for rule, why in (
        ({"rouge_l": {"worst": 1, "best": 0}}, "but more is better"),
        ({"bertscore": 1}, "cannot run here: bertscore needs"),
    ):
        set_rules(tmp_path / "challenge", metrics=rule)
        with pytest.raises(SettingError, match=why):
            ranking(tmp_path / "challenge", files)
