"""`histoeval experiment`, as people run it; the models are stand-ins."""

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from research.tests.experiments.test_pathgls import SharedWords, a_folder_of_tiles, apart
from research.tests.experiments.test_tables import verdicts
from research.tests.support.edited_reports import BENIGN, MALIGNANT, HandReader
from typer.testing import CliRunner, Result

from histoeval.errors import InputError, OutputError, SettingError
from histoeval_research.cli.experiment.run import experiment_app
from histoeval_research.experiments.measures import Found, Measure, MeasureSet
from histoeval_research.experiments.perturb import PerturbedRow, read_perturbed
from tests.support.fake_server import Call, Loopback, serving

ROWS = [
    {"id": f"r{n}", "report": MALIGNANT if n % 2 else BENIGN, "image": f"r{n}.png"}
    for n in range(6)
]


def shared(rows: Sequence[PerturbedRow]) -> list[Found]:
    """The share of words that a report has of the true one."""
    return [1 - apart(row.reference or "", row.report or "") for row in rows]


def levelled(rows: Sequence[PerturbedRow]) -> list[Found]:
    return [1 - row.level / 10 for row in rows]


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    words, levels = Measure("logic", "words", shared), Measure("stability", "levels", levelled)
    verb, cases = "cli.experiment.run", "experiments.pathgls"
    lacking = {"grounding": "no images here"}
    for name, value in {
        f"{verb}.load_reader": lambda _: HandReader(),
        f"{verb}.open_measures": lambda *_, **__: MeasureSet([words, levels], lacking),
        f"{cases}.load_reader": lambda _: HandReader(),
        f"{cases}.open_distance": lambda *_, **__: SharedWords(),
        f"{cases}.open_measures": lambda *_, more, **__: MeasureSet([words, *more], lacking),
    }.items():
        monkeypatch.setattr(f"histoeval_research.{name}", value)


def run(*arguments: object) -> Result:
    told = list(map(str, arguments))
    return CliRunner().invoke(experiment_app, told, env={"COLUMNS": "200", "TERM": "dumb"})


def quick(*arguments: object) -> Result:
    done = run(*arguments, "--resamples", 50)
    assert done.exit_code == 0, done.output
    return done


def text_of(file: Path) -> str:
    return file.read_text("utf-8")


def written(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def perturbed(tmp_path: Path) -> Path:
    output = tmp_path / "set.jsonl"
    done = run("perturb", written(tmp_path / "captions.jsonl", *ROWS), "--output", output)
    assert done.exit_code == 0, done.output
    return output


@pytest.fixture
def folder(tmp_path: Path, perturbed: Path) -> Path:
    quick("sensitivity", perturbed, "--output", tmp_path / "out")
    return tmp_path / "out"


def test_rows_that_cannot_be_used_end_in_one_and_none_at_all_in_two(tmp_path: Path) -> None:
    bad = {"id": "x", "report": ""}
    some, none = tmp_path / "some.jsonl", tmp_path / "none.jsonl"
    written(some, ROWS[0], bad)
    written(none, bad)
    assert run("perturb", some, "--output", tmp_path / "a.jsonl").exit_code == 1
    assert run("perturb", none, "--output", tmp_path / "b.jsonl").exit_code == 2


def test_the_input_is_never_written_over_and_half_a_model_is_refused(tmp_path: Path) -> None:
    source = written(tmp_path / "captions.jsonl", ROWS[0])
    assert isinstance(run("perturb", source, "--output", source).exception, OutputError)
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
    source = written(tmp_path / "captions.jsonl", ROWS[1])
    with serving(Loopback(say=contradicted)) as server:
        asked = ["--endpoint", server.url, "--model", "m"]
        first = run("perturb", source, "--output", tmp_path / "a.jsonl", *asked)
        assert first.exit_code == 0, first.output
        calls = len(server.calls)
        run("perturb", source, "--output", tmp_path / "b.jsonl", *asked)
    assert calls == len(server.calls) == 3
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    made = [row for row in read_perturbed(tmp_path / "a.jsonl").reports if row.by == "model"]
    assert {row.group for row in made} == {"rewording", "visual", "logic"}


def test_table_one_is_written_three_ways_each_time_alike(
    tmp_path: Path, perturbed: Path, folder: Path
) -> None:
    assert "| grounding | none |" in text_of(folder / "table1.md")
    assert "no images here" in text_of(folder / "table1.md")
    rows = csv.DictReader(text_of(folder / "table1.csv").splitlines())
    cells = {(row["measure"], row["group"]): row for row in rows}
    assert float(cells["stability", "visual"]["drop_value"]) > 0
    found = json.loads(text_of(folder / "table1.json"))
    assert found["lacking"] == {"grounding": "no images here"}
    assert found["signatures"]["logic"] == "words"
    quick("sensitivity", perturbed, "--output", tmp_path / "again")
    for file in sorted(folder.iterdir()):
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_the_hierarchy_and_the_ablation_are_written_and_drawn(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    quick("hierarchy", folder, "--output", folder, "--figure")
    rows = json.loads(text_of(folder / "hierarchy.json"))["found"]
    by_name = {row["measure"]: row for row in rows}
    assert by_name["stability"]["spearman"]["value"] == pytest.approx(1.0)
    assert "trust without grounding" in by_name
    quick("ablation", folder, "--output", folder, "--figure", "--weights", "0.2,0.4,0.4")
    (found,) = json.loads(text_of(folder / "figure3b.json"))["found"]
    assert found["dimensions"] == ["logic", "stability"]
    assert "all dimensions" in text_of(folder / "figure3b.md")
    for name in ("hierarchy", "figure3b"):
        assert text_of(folder / f"{name}.svg").startswith("<?xml")
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_holds_every_change_and_picture_and_needs_no_network(
    tmp_path: Path, perturbed: Path, folder: Path
) -> None:
    image = pytest.importorskip("PIL.Image")
    images, page = tmp_path / "images", tmp_path / "page.html"
    images.mkdir()
    image.new("RGB", (300, 200), (220, 150, 200)).save(images / "r1.png")
    (images / "r2.png").write_bytes(b"no picture")
    done = run("page", perturbed, folder, "--output", page, "--images", images)
    assert done.exit_code == 0, done.output
    text = text_of(page)
    assert text.count('<div class="case">') == 6
    assert "<ins>" in text
    assert "http:" not in text
    assert "https:" not in text
    assert text.count("data:image/jpeg;base64,") == 1
    assert "r3.png does not exist" in text
    assert str(tmp_path) not in text


def test_models_are_held_beside_each_other(tmp_path: Path) -> None:
    one = verdicts(tmp_path / "one", [0.9, 0.8, 0.9, 0.8])
    two = verdicts(tmp_path / "two", [0.5, 0.4, 0.5, 0.4])
    out = tmp_path / "out"
    quick("benchmark", f"quilt/m={one}", f"reg/m={two}", "--output", out)
    assert "| quilt | m | 0.85" in text_of(out / "table2.md")
    assert "stability is missing for 4 of 4" in text_of(out / "table2.md")
    quick("gap", f"m={one},{two}", "--output", out)
    assert "| m | trust | 0.850 | 0.450 | 0.400" in text_of(out / "table3.md")
    quick("variance", "--trust", one, "--trust", one, "--output", out)
    assert "| PathGLS | 0.0000" in text_of(out / "figure3a.md")
    assert isinstance(run("variance", "--output", out).exception, SettingError)


@pytest.mark.parametrize("verb", ["hierarchy", "benchmark"])
def test_what_is_not_there_is_named(verb: str, tmp_path: Path) -> None:
    given = f"{'a/b=' if verb == 'benchmark' else ''}{tmp_path / 'none'}"
    done = run(verb, given, "--output", tmp_path / "o")
    assert isinstance(done.exception, InputError)
    assert "none" in str(done.exception)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    rows = [{"id": f"r{n}", "report": MALIGNANT} for n in range(6)]
    return written(tmp_path / "reports.jsonl", *rows)


def test_one_command_writes_all_tables_with_the_papers_numbers(
    tmp_path: Path, reports: Path
) -> None:
    pytest.importorskip("matplotlib")
    out, told = tmp_path / "out", ("pathgls", "--output", tmp_path / "out", "--reports", reports)
    one = verdicts(tmp_path / "one", [0.8, 0.8, 0.8, 0.8])
    quick(*told, "--run", f"set/mine={one}", "--gap", f"mine={one},{one}")
    for name, said in {
        "table1": "0.67 (26.4 %)",
        "table2": "| ours | set | mine |",
        "table3": "| paper | LLaVA | trust | 0.801 | 0.737 | 0.064 |",
        "figure3a": "0.0000",
        "figure3b": "a reference in disguise",
        "hierarchy": "Gemini",
    }.items():
        assert said in text_of(out / f"{name}.md")
        assert list(csv.DictReader(text_of(out / f"{name}.csv").splitlines()))
    assert "no images here" in text_of(out / "table1.md")
    assert "stand-ins" in text_of(out / "table2.md")
    assert "| ours | mine | trust | 0.800 | 0.800" in text_of(out / "table3.md")
    assert (out / "figure3.png").read_bytes().startswith(b"\x89PNG")
    quick(*told)
    before = {file.name: file.read_bytes() for file in out.glob("*.*")}
    quick(*told)
    assert before == {file.name: file.read_bytes() for file in out.glob("*.*")}


def test_tiles_of_one_split_leave_table_three_to_the_paper(tmp_path: Path) -> None:
    tiles, out = a_folder_of_tiles(tmp_path / "tiles"), tmp_path / "out"
    done = quick("pathgls", "--output", out, "--tiles", tiles, "--sample", 2)
    assert "the tiles have no split external" in done.stderr
    rows = json.loads(text_of(out / "table3.json"))["found"]
    assert {row["source"] for row in rows} == {"paper"}
    refused = run("pathgls", "--output", out, "--tiles", tiles, "--public", "val")
    assert isinstance(refused.exception, SettingError)
    assert "it has: test" in str(refused.exception)
    assert isinstance(run("pathgls", "--output", out).exception, SettingError)


def test_without_matplotlib_the_tables_are_written_and_the_extra_is_named(
    tmp_path: Path, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    views = ("histoeval.view.figures", "histoeval_research.view.figures")
    for name in [name for name in sys.modules if name.startswith(views)]:
        monkeypatch.delitem(sys.modules, name)
    done = quick("pathgls", "--output", tmp_path / "out", "--reports", reports)
    assert "figure 3 is not drawn" in done.stderr
    assert "[figures]" in done.stderr
    assert not (tmp_path / "out" / "figure3.svg").exists()
