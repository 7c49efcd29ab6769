"""Several encoders at both tasks, in one table."""

import json
from io import StringIO
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from rich.console import Console

pytest.importorskip("torch")

from benchmarks.random_models import ModelFolders
from histoeval_research.train.hare_bench.config import RelationRecipe, SelectSettings, TaggerRecipe
from histoeval_research.train.hare_bench.select import select, selection_markdown, selection_rows
from histoeval_research.view.model_tables import selection_table

pytestmark = pytest.mark.heavy


def score(f1: float, spread: float | None = None) -> dict[str, list[float | None]]:
    return {name: [f1, spread] for name in ("precision", "recall", "f1", "micro")}


def row(name: str, ner: float, relations: float, spread: float | None = None) -> dict[str, Any]:
    return {
        "name": name,
        "parameters": 22_700_000,
        "ner": score(ner, spread),
        "relations": score(relations, spread),
        "overall": {"f1": [(ner + relations) / 2, spread]},
    }


@pytest.fixture(scope="module")
def settings(tiny_models: ModelFolders, tiny_corpus: Path) -> SelectSettings:
    return SelectSettings(
        encoders={"one": str(tiny_models.aligner), "two": str(tiny_models.entities)},
        train=tiny_corpus,
        dev=tiny_corpus,
        seeds=(1, 2),
        ner=TaggerRecipe(epochs=2, rate=5e-3),
        relations=RelationRecipe(epochs=2, rate=5e-3),
    )


@pytest.fixture(scope="module")
def output(settings: SelectSettings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selection")
    select(settings, folder)
    return folder


def results_in(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "results.json").read_text("utf-8"))
    return found


def test_each_training_has_a_folder_and_the_table_their_means(output: Path) -> None:
    for line in results_in(output)["encoders"]:
        f1 = [
            results_in(output / line["name"] / f"ner-{seed}")["scores"]["entities"]["f1"]
            for seed in (1, 2)
        ]
        micro = [
            results_in(output / line["name"] / f"relations-{seed}")["scores"]["sampled_micro"]
            for seed in (1, 2)
        ]
        assert line["ner"]["f1"] == pytest.approx([mean(f1), stdev(f1)])
        assert line["relations"]["micro"] == pytest.approx([mean(micro), stdev(micro)])
        assert line["parameters"] > 1000


def test_finished_trainings_are_not_run_again(output: Path, settings: SelectSettings) -> None:
    def changed() -> dict[Path, int]:
        return {f: f.stat().st_mtime_ns for f in output.glob("*/*/model.safetensors")}

    before, told = changed(), results_in(output)
    assert len(before) == 8
    more = settings.model_copy(update={"encoders": {**settings.encoders, "bad": "/no/such"}})
    results = select(more, output)
    assert changed() == before
    assert results["encoders"][:2] == [
        {**line, **{k: {m: tuple(v) for m, v in line[k].items()} for k in MEASURES}}
        for line in told["encoders"]
    ]


MEASURES = ("ner", "relations", "overall")


def test_an_encoder_that_cannot_be_trained_keeps_its_row(
    settings: SelectSettings, tmp_path: Path
) -> None:
    only_bad = settings.model_copy(update={"encoders": {"bad": str(tmp_path)}})
    results = select(only_bad, tmp_path / "out")
    assert "cannot load" in results["encoders"][0]["failure"]
    markdown = (tmp_path / "out" / "results.md").read_text("utf-8")
    assert "| bad |  | none |" in markdown
    assert "bad was not trained: cannot load" in markdown


def test_the_best_of_each_column_is_bold() -> None:
    results = {"seeds": [1], "encoders": [row("a", 0.8, 0.95), row("b", 0.85, 0.9)]}
    lines = selection_markdown(results).splitlines()
    assert lines[0].startswith("| encoder | parameters | NER P | NER R | NER F1 | RE P |")
    assert lines[2] == (
        "| a | 22.7 M | 0.800 | 0.800 | 0.800 | **0.950** | **0.950** | **0.950** | **0.950** "
        "| **0.875** |"
    )
    assert lines[3].startswith("| b | 22.7 M | **0.850** | **0.850** | **0.850** | 0.900 |")


def test_several_seeds_have_their_deviation() -> None:
    results = {"seeds": [1, 2], "encoders": [row("a", 0.8, 0.95, 0.0123)]}
    assert selection_rows(results, str)[0][4] == "0.800 ±0.012"
    console = Console(width=200, file=StringIO())
    with console.capture() as captured:
        console.print(selection_table(results))
    shown = captured.get()
    assert "over 2 seeds" in shown
    assert "0.950 ±0.012" in shown
