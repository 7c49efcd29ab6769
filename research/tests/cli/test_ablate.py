"""`histoeval ablate`, as people run it, and its readers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from histoeval.cli.main import app
from histoeval.concordance.compare import PARTS
from histoeval.errors import InputError, SettingError
from histoeval.report import Entity, EntityType, Relation, Report
from histoeval_research.experiments.ablate import CachingReader, Kept, SureReader
from tests.support.rating_sheets import rows, write


def run(*arguments: object) -> Result:
    told = ["ablate", *map(str, arguments), "--resamples", "50", "--permutations", "20"]
    return CliRunner().invoke(app, told, env={"COLUMNS": "200", "TERM": "dumb"})


def found_by(folder: Path, *arguments: object) -> Any:
    result = run(*arguments, "--output", folder)
    assert result.exit_code == 0, result.output
    return json.loads((folder / "agreement.json").read_text("utf-8"))


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    table = rows(16)
    for number, row in enumerate(table):
        row["reference"] = f"{row['organ']}: invasive ductal carcinoma, grade {1 + number % 3}."
        if number % 3:
            row["candidate"] = row["reference"].replace("invasive ductal ", "")
    return write(tmp_path / "sheet.csv", table)


def test_table_seven_and_the_parts_of_concordance_are_one_table(
    sheet: Path, tmp_path: Path
) -> None:
    content = found_by(tmp_path / "out", sheet)
    names = [row["metric"] for row in content["metrics"]]
    assert {"hare, all", "hare, above 0.7", "hare, inverted"} <= set(names)
    assert sum(name.startswith("hare") for name in names) == 9
    assert {f"concordance without {part}" for part in PARTS} <= set(names)
    rivals = {(row["one"], row["other"]) for row in content["ranking"]["rivals"]}
    assert ("concordance", f"concordance without {PARTS[0]}") in rivals
    assert ("hare, above 0.7", "hare, inverted") in rivals


def test_above_the_threshold_is_what_hare_itself_says(sheet: Path, tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text('[[grid]]\nmetric = "hare"\nmode = "paper"\nthreshold = 0.7\n', "utf-8")
    content = found_by(tmp_path / "out", sheet, "--of", "hare", "--grid", grid)
    figures = {row["metric"]: row["pearson"] for row in content["metrics"]}
    assert figures["hare:mode=paper:threshold=0.7"] == figures["hare, above 0.7"]


TABLE = [
    {"metric": "meteor", "matchers": ["exact", "exact+stem"], "alpha": [0.5, 0.9]},
    {"metric": "bleu"},
]
AS_TOML = (
    '[[grid]]\nmetric = "meteor"\nmatchers = ["exact", "exact+stem"]\nalpha = [0.5, 0.9]\n'
    '[[grid]]\nmetric = "bleu"\n'
)


@pytest.mark.parametrize(
    ("name", "text"), [("grid.toml", AS_TOML), ("grid.json", json.dumps({"grid": TABLE}))]
)
def test_every_combination_of_a_grid_is_a_row(
    sheet: Path, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    content = found_by(tmp_path / "out", sheet, "--grid", tmp_path / name)
    assert [row["metric"] for row in content["metrics"]] == [
        "meteor:matchers=exact:alpha=0.5",
        "meteor:matchers=exact:alpha=0.9",
        "meteor:matchers=exact+stem:alpha=0.5",
        "meteor:matchers=exact+stem:alpha=0.9",
        "bleu",
    ]
    assert content["metrics"][0]["signature"].startswith("meteor|")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[grid", "neither TOML"),
        ("a = 1", "no grid"),
        ("[[grid]]\nthreshold = 1", "needs a metric"),
        ('[[grid]]\nmetric = "blue"', "no metric 'blue'"),
        ('[[grid]]\nmetric = "hare"\nthreshold = 7', "threshold"),
        (None, "cannot be read"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(
    sheet: Path, tmp_path: Path, text: str | None, told: str
) -> None:
    grid = tmp_path / "grid.toml"
    if text is not None:
        grid.write_text(text, "utf-8")
    result = run(sheet, "--grid", grid)
    assert isinstance(result.exception, InputError)
    assert told in str(result.exception)


def test_what_cannot_be_taken_apart_is_refused(sheet: Path) -> None:
    assert isinstance(run(sheet, "--of", "bleu").exception, SettingError)


REPORT = Report(
    text="carcinoma grade two margin",
    entities=(
        Entity(text="carcinoma", start=0, end=9, type=EntityType.DIAGNOSIS, score=0.9),
        Entity(text="grade two", start=10, end=19, type=EntityType.GRADE, score=0.5),
        Entity(text="margin", start=20, end=26, type=EntityType.SITE, score=0.8),
    ),
    relations=(Relation(head=0, tail=1, score=0.95), Relation(head=0, tail=2, score=0.6)),
)


class Fixed:
    identity, reads_relations = "fixed", True

    def __init__(self, sure_of_phrases: bool = False) -> None:
        self.sure_of_phrases = sure_of_phrases
        self.read_texts: list[str] = []

    def read(self, texts: Sequence[str]) -> list[Report]:
        self.read_texts += texts
        return [REPORT for _ in texts]


@pytest.mark.parametrize(
    ("entities", "relations", "of_phrases", "kept", "linked"),
    [
        ("all", "all", False, ["carcinoma", "grade two", "margin"], ["grade two", "margin"]),
        ("sure", "all", False, ["carcinoma", "margin"], ["margin"]),
        ("sure", "sure", False, ["carcinoma", "margin"], []),
        ("all", "sure", False, ["carcinoma", "grade two", "margin"], ["grade two"]),
        ("all", "unsure", False, ["carcinoma", "grade two", "margin"], ["margin"]),
        ("unsure", "unsure", False, ["grade two"], []),
        # of two words, with 0.5 for both, each has 0.71
        ("sure", "all", True, ["carcinoma", "grade two", "margin"], ["grade two", "margin"]),
    ],
)
def test_entities_and_relations_are_kept_by_how_sure_they_are(
    entities: Kept, relations: Kept, of_phrases: bool, kept: list[str], linked: list[str]
) -> None:
    reader = SureReader(CachingReader(Fixed(of_phrases)), 0.7, entities, relations)
    (report,) = reader.read([REPORT.text])
    assert [entity.text for entity in report.entities] == kept
    assert [report.entities[relation.tail].text for relation in report.relations] == linked
    assert all(report.entities[r.head].text == "carcinoma" for r in report.relations)
    expected = f"fixed+entities:{entities}+relations:{relations}+threshold:0.7"
    assert (reader.identity, reader.reads_relations) == (expected, True)


def test_a_text_is_read_once() -> None:
    fixed = Fixed()
    reader = CachingReader(fixed)
    assert reader.read(["a", "b", "a"]) == reader.read(["a", "b", "a"])
    assert fixed.read_texts == ["a", "b"]
