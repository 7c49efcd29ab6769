"""`histoeval experiment`, as people run it; the models are stand-ins."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from histoeval.errors import InputError, OutputError, SettingError
from histoeval_research.cli.experiment.run import experiment_app
from histoeval_research.experiments.measures import Found, PerturbedRow, read_perturbed
from histoeval_research.experiments.sensitivity import MeasureSet
from tests.support.edited_reports import BENIGN, MALIGNANT, HandReader
from tests.support.fake_server import Call, Loopback, serving

ROWS = [
    {"id": f"r{n}", "report": MALIGNANT if n % 2 else BENIGN, "image": f"r{n}.png"}
    for n in range(6)
]


class Shared:
    """The share of words that a report has of the true one."""

    name, signature = "logic", "shared words"

    def measure(self, rows: Sequence[PerturbedRow]) -> list[Found]:
        return [self._one(row) for row in rows]

    def _one(self, row: PerturbedRow) -> float:
        true, said = set((row.reference or "").split()), set((row.report or "").split())
        return len(true & said) / len(true | said)


class Levelled(Shared):
    name, signature = "stability", "levels"

    def _one(self, row: PerturbedRow) -> float:
        return 1 - row.level / 10


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("histoeval_research.cli.experiment.run.load_reader", lambda _: HandReader())
    bench = MeasureSet([Shared(), Levelled()], None, {"grounding": "no images here"})
    monkeypatch.setattr("histoeval_research.cli.experiment.run.open_bench", lambda *_: bench)


def run(*arguments: object) -> Result:
    told = list(map(str, arguments))
    return CliRunner().invoke(experiment_app, told, env={"COLUMNS": "200", "TERM": "dumb"})


def the_set(tmp_path: Path) -> Path:
    source, output = tmp_path / "captions.jsonl", tmp_path / "set.jsonl"
    source.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    done = run("perturb", source, "--output", output)
    assert done.exit_code == 0, done.output
    return output


def measured(tmp_path: Path) -> tuple[Path, Path]:
    perturbed, folder = the_set(tmp_path), tmp_path / "out"
    done = run("sensitivity", perturbed, "--output", folder, "--resamples", 50)
    assert done.exit_code == 0, done.output
    return perturbed, folder


def test_a_set_is_made_and_told_group_by_group(tmp_path: Path) -> None:
    rows = read_perturbed(the_set(tmp_path))
    assert {row.group for row in rows} >= {"control", "rewording", "visual", "logic"}


def test_rows_that_cannot_be_used_end_in_one_and_none_at_all_in_two(tmp_path: Path) -> None:
    source = tmp_path / "captions.jsonl"
    bad = {"id": "x", "report": ""}
    source.write_text(f"{json.dumps(ROWS[0])}\n{json.dumps(bad)}\n", "utf-8")
    assert run("perturb", source, "--output", tmp_path / "a.jsonl").exit_code == 1
    source.write_text(f"{json.dumps(bad)}\n", "utf-8")
    assert run("perturb", source, "--output", tmp_path / "b.jsonl").exit_code == 2


def test_the_input_is_never_written_over(tmp_path: Path) -> None:
    source = tmp_path / "captions.jsonl"
    source.write_text(f"{json.dumps(ROWS[0])}\n", "utf-8")
    assert isinstance(run("perturb", source, "--output", source).exception, OutputError)


def test_half_a_language_model_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "captions.jsonl"
    source.write_text(f"{json.dumps(ROWS[0])}\n", "utf-8")
    done = run("perturb", source, "--output", tmp_path / "o.jsonl", "--model", "m")
    assert isinstance(done.exception, SettingError)


def contradicted(call: Call) -> str:
    """What a model answers that puts a sentence in wherever it is asked."""
    after = "The tumour is benign. The diagnosis"
    told = {"before": "The diagnosis", "after": after}
    return json.dumps(told | {"report": MALIGNANT.replace("The diagnosis", after)})


def test_an_endpoint_edits_too_and_is_not_asked_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HISTOEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HISTOEVAL_JUDGE_KEY", raising=False)
    source = tmp_path / "captions.jsonl"
    source.write_text(f"{json.dumps(ROWS[1])}\n", "utf-8")
    with serving(Loopback(say=contradicted)) as server:
        asked = ["--endpoint", server.url, "--model", "m"]
        first = run("perturb", source, "--output", tmp_path / "a.jsonl", *asked)
        assert first.exit_code == 0, first.output
        calls = len(server.calls)
        run("perturb", source, "--output", tmp_path / "b.jsonl", *asked)
    assert calls == len(server.calls) == 3
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    made = [row for row in read_perturbed(tmp_path / "a.jsonl") if row.by == "model"]
    assert {row.group for row in made} == {"rewording", "visual", "logic"}


def test_table_one_is_written_three_ways_and_says_what_is_missing(tmp_path: Path) -> None:
    _, folder = measured(tmp_path)
    told = (folder / "table1.md").read_text("utf-8")
    assert "| grounding | none |" in told
    assert "no images here" in told
    with (folder / "table1.csv").open(encoding="utf-8") as file:
        cells = {(row["measure"], row["group"]): row for row in csv.DictReader(file)}
    assert float(cells["stability", "visual"]["drop_value"]) > 0
    found = json.loads((folder / "table1.json").read_text("utf-8"))
    assert found["lacking"] == {"grounding": "no images here"}
    assert found["signatures"]["logic"] == "shared words"


def test_two_runs_write_the_same_files(tmp_path: Path) -> None:
    perturbed, folder = measured(tmp_path)
    again = tmp_path / "again"
    run("sensitivity", perturbed, "--output", again, "--resamples", 50)
    for file in sorted(folder.iterdir()):
        assert file.read_bytes() == (again / file.name).read_bytes()


def test_the_hierarchy_and_the_ablation_are_told(tmp_path: Path) -> None:
    _, folder = measured(tmp_path)
    done = run("hierarchy", folder, "--output", folder, "--resamples", 50)
    assert done.exit_code == 0, done.output
    told = json.loads((folder / "hierarchy.json").read_text("utf-8"))["found"]
    by_name = {each["measure"]: each for each in told}
    assert by_name["stability"]["spearman"]["value"] == pytest.approx(1.0)
    assert "trust without grounding" in by_name
    done = run("ablation", folder, "--output", folder, "--resamples", 50)
    assert done.exit_code == 0, done.output
    (found,) = json.loads((folder / "figure3b.json").read_text("utf-8"))["found"]
    assert found["dimensions"] == ["logic", "stability"]


def test_figures_are_drawn_where_matplotlib_is(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    _, folder = measured(tmp_path)
    for verb, name in (("hierarchy", "hierarchy"), ("ablation", "figure3b")):
        done = run(verb, folder, "--output", folder, "--resamples", 50, "--figure")
        assert done.exit_code == 0, done.output
        assert (folder / f"{name}.svg").read_text("utf-8").startswith("<?xml")
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_holds_every_change_and_needs_no_network(tmp_path: Path) -> None:
    perturbed, folder = measured(tmp_path)
    page = tmp_path / "page.html"
    done = run("page", perturbed, folder, "--output", page)
    assert done.exit_code == 0, done.output
    text = page.read_text("utf-8")
    assert text.count('<div class="case">') == 6
    assert "<ins>" in text
    assert "http:" not in text
    assert "https:" not in text
    assert "no image" in text


def test_pictures_are_part_of_the_page(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    perturbed, folder = measured(tmp_path)
    images = tmp_path / "images"
    images.mkdir()
    image.new("RGB", (300, 200), (220, 150, 200)).save(images / "r1.png")
    (images / "r2.png").write_bytes(b"no picture")
    page = tmp_path / "page.html"
    done = run("page", perturbed, folder, "--output", page, "--images", images)
    assert done.exit_code == 0, done.output
    text = page.read_text("utf-8")
    assert text.count("data:image/jpeg;base64,") == 1
    assert "r3.png does not exist" in text
    assert str(tmp_path) not in text


def verdicts(folder: Path, values: Sequence[float], logic: Any = 0.9) -> Path:
    folder.mkdir()
    lines = [
        {"id": f"r{n}", "row": n + 1, "grounding": None, "logic": logic, "stability": value,
         "trust": None, "route": "review", "evidence": {}, "errors": []}
        for n, value in enumerate(values)
    ]  # fmt: skip
    (folder / "trust.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return folder


def test_models_are_held_beside_each_other(tmp_path: Path) -> None:
    one = verdicts(tmp_path / "one", [0.9, 0.8, 0.9, 0.8])
    two = verdicts(tmp_path / "two", [0.5, 0.4, 0.5, 0.4])
    out = tmp_path / "out"
    done = run("benchmark", f"quilt/m={one}", f"reg/m={two}", "--output", out, "--resamples", 50)
    assert done.exit_code == 0, done.output
    assert "| quilt | m | none | 0.90" in (out / "table2.md").read_text("utf-8")
    assert "grounding is missing for 4 of 4" in (out / "table2.md").read_text("utf-8")
    done = run("gap", f"m={one},{two}", "--output", out, "--resamples", 50)
    assert done.exit_code == 0, done.output
    assert "| m | stability | 0.850 | 0.450 | 0.400" in (out / "table3.md").read_text("utf-8")


def test_variance_is_told_for_trust_and_refused_for_nothing(tmp_path: Path) -> None:
    one, two = (verdicts(tmp_path / name, [0.9, 0.8, 0.9, 0.8]) for name in ("one", "two"))
    out = tmp_path / "out"
    done = run("variance", "--trust", one, "--trust", two, "--output", out, "--resamples", 50)
    assert done.exit_code == 0, done.output
    assert "| PathGLS | 0.0000" in (out / "figure3a.md").read_text("utf-8")
    assert isinstance(run("variance", "--output", out).exception, SettingError)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    for arguments in (
        ("hierarchy", tmp_path / "none", "--output", tmp_path / "o"),
        ("benchmark", f"a/b={tmp_path / 'none'}", "--output", tmp_path / "o"),
    ):
        done = run(*arguments)
        assert isinstance(done.exception, InputError)
        assert "none" in str(done.exception)
