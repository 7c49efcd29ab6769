"""The paper's recipe: cases, assumed answers, stand-ins, and its numbers beside ours."""

import io
import json
import tarfile
from pathlib import Path
from random import Random

import polars as pl
import pytest
from research.tests.support.edited_reports import MALIGNANT, HandReader, read

from histoeval.errors import InputError, Problem
from histoeval.pathgls.policy.policy import PAPER
from histoeval_research.experiments.edits.registry import perturb
from histoeval_research.experiments.measures import Measure
from histoeval_research.experiments.pathgls import (
    THEIRS,
    MeasuredCases,
    MemoDistance,
    assumed_answer,
    by_assumed_answers,
    drawn,
    figure_3b,
    paper,
    ranks,
    read_index,
    report_cases,
    table_1,
    table_2,
    table_3,
    template_report,
    tile_cases,
    verdicts_on,
)
from histoeval_research.experiments.perturb import PerturbedRow
from histoeval_research.experiments.tables import Draws

FEW = Draws(50)


class SharedWords:
    """1 less the share of words that two texts have in common; counts what it is asked."""

    identity = "shared words"

    def __init__(self) -> None:
        self.asked = 0

    def between(self, first: str, second: str) -> float | Problem:
        self.asked += 1
        return apart(first, second)

    def changed(self, first: str, second: str) -> tuple[str, ...]:
        return ("something",)


def apart(first: str, second: str) -> float:
    one, other = set(first.split()), set(second.split())
    return 1 - len(one & other) / len(one | other)


def versions() -> list[PerturbedRow]:
    edits, _ = perturb(read(MALIGNANT), "c")
    return [
        PerturbedRow(
            id=f"c/{edit.edit}", case="c", group=edit.group, edit=edit.edit, level=edit.level,
            report=edit.text, reference=MALIGNANT,
        )
        for edit in edits
    ]  # fmt: skip


def by(assumption: str, seed: int = 0) -> Measure:
    return by_assumed_answers(assumption, versions(), HandReader(), SharedWords(), seed)


def answers(assumption: str, row: PerturbedRow, count: int) -> set[str]:
    rows, reader = versions(), HandReader()
    return {assumed_answer(assumption, row, rows, reader, Random(n)) for n in range(count)}


def test_answers_that_are_true_make_stability_the_distance_to_the_truth() -> None:
    expected = [1 - apart(row.report or "", MALIGNANT) for row in versions()]
    assert by("truth").score(versions()) == [pytest.approx(value) for value in expected]


def test_a_model_that_repeats_itself_keeps_its_error() -> None:
    wrong = next(row for row in versions() if row.edit != "control" and row.level >= 4)
    for answer in answers("repeats", wrong, 3):
        assert apart(answer, wrong.report or "") < apart(answer, MALIGNANT)


def test_drawn_answers_are_versions_of_the_case_and_do_not_follow_the_level() -> None:
    found = answers("redrawn", versions()[0], 40)
    assert found <= {row.report for row in versions()}
    assert MALIGNANT in found
    assert len(found) > 2
    assert by("redrawn", 3).score(versions()) == by("redrawn", 3).score(versions())
    assert "answers=redrawn,seed=7|shared words" in by("redrawn", 7).signature


def test_no_two_texts_are_measured_twice() -> None:
    plain = SharedWords()
    memo = MemoDistance(plain)
    assert memo.between("a b", "b c") == memo.between("b c", "a b")
    assert plain.asked == 1


def a_folder_of_tiles(folder: Path, split: str = "test", tiles: int = 4) -> Path:
    image = pytest.importorskip("PIL.Image")
    folder.mkdir()
    rows = []
    with tarfile.open(folder / "shard.tar", "w") as shard:
        for n in range(tiles):
            file = io.BytesIO()
            image.new("RGB", (224, 224), (200, 120 + n, 180)).save(file, "PNG")
            member = tarfile.TarInfo(f"t{n}.png")
            member.size = file.tell()
            file.seek(0)
            shard.addfile(member, file)
            labels = {"organ": "colon", "concept": "colon adenocarcinoma", "split": split}
            labels |= {"benign_or_malignant": "malignant", "stain": "H&E" if n else "PAS"}
            rows.append(
                {"key": f"t{n}", "slide_or_patient": f"s{n}", "case_group": f"p{n}", **labels}
            )
    (folder / "index.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in rows), "utf-8")
    return folder


def test_a_sample_follows_ids_and_seed_only() -> None:
    names = [f"r{n}" for n in range(30)]
    one = drawn(names, names, 10)
    assert one == sorted(one, key=names.index)
    assert set(drawn(names[::-1], names[::-1], 10)) == set(one)
    assert drawn(names, names, 10, seed=1) != one
    assert drawn(names, names, 99) == names


def test_reports_keep_image_and_patient_and_bad_rows_are_counted(tmp_path: Path) -> None:
    table = tmp_path / "reports.csv"
    table.write_text("id,report,patient\na,Benign naevus.,p1\nb,,p2\nc,Lipoma.,p3\n", "utf-8")
    cases = report_cases(table, tmp_path / "work", None, 5)
    assert (cases.cases, cases.unusable) == (2, 1)
    rows = [json.loads(line) for line in cases.captions.read_text("utf-8").splitlines()]
    assert rows[0] == {"id": "a", "report": "Benign naevus.", "patient": "p1"}


def test_tiles_in_another_stain_are_left_out_and_the_others_get_a_report(tmp_path: Path) -> None:
    tiles = a_folder_of_tiles(tmp_path / "tiles")
    cases = tile_cases(tiles, "test", tmp_path / "work", 9)
    rows = [json.loads(line) for line in cases.captions.read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["t1", "t2", "t3"]
    assert rows[0]["report"] == template_report("colon", "colon adenocarcinoma", "malignant")
    assert all((tmp_path / "work" / "images" / row["image"]).is_file() for row in rows)
    with pytest.raises(InputError, match="no labelled H&E tile of the split external"):
        tile_cases(tiles, "external", tmp_path / "work", 9)
    with pytest.raises(InputError, match=r"no index\.jsonl"):
        read_index(tmp_path)


LEVELS = (("control", 0), ("rewording", 1), ("slip", 2), ("visual", 5), ("logic", 4))


def a_set(name: str = "tiles, test", lower: float = 0.0, seen: bool = True) -> MeasuredCases:
    rows = [
        {
            "id": f"{name}{n}/{group}",
            "case": f"{name}{n}",
            "cluster": f"p{n}",
            "group": group,
            "level": level,
            "bleu": 1 - level / 10,
            "logic": 0.2 if group == "logic" else 0.9,
            "stability_truth": 1 - level / 5,
            "stability_repeats": 0.95,
            "stability_redrawn": 0.6 - level / 20,
            "grounding": 0.8 - lower - level / 10 if seen else None,
        }
        for n in range(8)
        for group, level in LEVELS
    ]
    return MeasuredCases(name, "patch", pl.DataFrame(rows), {}, {})


def test_the_paper_is_quoted_as_it_stands() -> None:
    by_name = {row["ours"]: row for row in paper()["table1"]}
    assert by_name["grounding"]["visual_drop"] == 40.3
    assert by_name["logic"]["logic_drop"] == 26.4
    for row in paper()["table1"]:
        for group in ("visual", "logic"):
            drop = 100 * (1 - row[group] / row["control"])
            assert row[f"{group}_drop"] == pytest.approx(drop, abs=0.1)
    models = [model for block in paper()["table2"] for model in block["models"]]
    assert len(models) == 12
    for means in models:
        numbers = (means[name] for name in ("grounding", "logic", "stability"))
        total = sum(a * b for a, b in zip(numbers, PAPER.numbers, strict=True))
        assert means["trust"] == pytest.approx(total, abs=0.011)
    for gap in paper()["table3"]:
        assert gap["drop"] == pytest.approx(gap["inside"] - gap["outside"])
    assert paper()["figure3"]["lost"] == {"grounding": 13.6, "logic": 20.1, "stability": 5.5}


def test_table_one_has_a_row_for_each_measure_and_no_stability() -> None:
    found = {row["measure"]: row for row in table_1([a_set()], FEW)}
    assert list(found) == ["bleu", "logic", "grounding"]
    assert found["logic"]["logic"]["drop"].value == pytest.approx(100 * 0.7 / 0.9)
    assert found["logic"]["paper"]["logic_drop"] == 26.4


def test_a_stand_in_says_what_its_conduct_is() -> None:
    right, half, wrong = paper()["standin"]
    scores = a_set().scores
    assert set(verdicts_on(right, scores)["grounding"]) == {0.8}
    assert verdicts_on(wrong, scores)["grounding"].max() < 0.5  # type: ignore[operator]
    assert verdicts_on(half, scores, 1)["grounding"].n_unique() > 1
    assert verdicts_on(half, scores, 1).equals(verdicts_on(half, scores, 1))
    assert set(verdicts_on(wrong, scores)["stability"]) == {0.95}
    harmless = scores.filter(pl.col("level") < 4)
    assert len(verdicts_on(right, harmless)) == 8
    assert verdicts_on(wrong, harmless).is_empty(), "no grave error could be made"


def test_table_two_has_our_rows_before_the_papers() -> None:
    found = table_2([a_set()], draws=FEW)
    assert [row["source"] for row in found].index(THEIRS) == 3
    trust = [row["means"]["trust"].value for row in found]
    assert trust[0] == pytest.approx(0.4 * 0.8 + 0.3 * 0.9 + 0.3 * 0.95)
    assert trust[2] < 0.8


def test_table_three_is_what_is_lost_on_unseen_data() -> None:
    found = table_3(a_set(), a_set("tiles, external", 0.2), draws=FEW)
    ours = next(row for row in found if row["measure"] == "trust")
    assert ours["drop"].value == pytest.approx(0.4 * 0.2)
    assert [row["model"] for row in found if row["source"] == THEIRS] == ["LLaVA", "Quilt-LLaVA"]
    assert {row["source"] for row in table_3(a_set(), None, draws=FEW)} == {THEIRS}


def test_figure_three_names_assumption_and_dimensions() -> None:
    found = figure_3b([a_set()], FEW)
    whole = [bar for bar in found if not bar["without"]]
    assert [bar["answers"] for bar in whole] == ["redrawn", "repeats", "truth"]
    assert {bar["trust"] for bar in whole} == {"grounding + logic + stability"}
    assert whole[0]["paper"] == 0.71
    without = {bar["without"]: bar for bar in found if bar["answers"] == "redrawn"}
    assert without["logic"]["paper_lost_per_cent"] == 20.1


def test_trust_with_a_dimension_missing_has_no_number_of_the_paper_beside_it() -> None:
    found = figure_3b([a_set(seen=False)], FEW)
    assert {bar["trust"] for bar in found} == {"logic + stability"}
    assert (
        {bar["paper"] for bar in found} == {bar["paper_lost_per_cent"] for bar in found} == {None}
    )
    levels = {row["measure"]: row for row in ranks([a_set(seen=False)], FEW)}
    assert levels["trust_truth without grounding"]["paper"] is None
    assert levels["grounding"]["spearman"].reason


def test_ranks_hold_every_measure_and_trust_by_every_assumption() -> None:
    found = {row["measure"]: row for row in ranks([a_set()], FEW)}
    assert found["bleu"]["spearman"].value == pytest.approx(1.0)
    assert found["trust_redrawn"]["paper"] == 0.71
    assert found["bleu"]["paper"] is None
