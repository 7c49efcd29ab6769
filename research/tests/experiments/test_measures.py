"""The measures of the experiments with the shipped models, and grounding with a stand-in."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks import sensitivity
from histoeval.errors import OutputError, Problem, SettingError
from histoeval.metrics.registry import create
from histoeval.report import Entity, EntityType, Report
from histoeval.run.models import Models
from histoeval_research.experiments.measures import (
    Found,
    Measure,
    MeasureSet,
    MeasureTask,
    ReaderStates,
    by_grounding,
    by_metric,
    measure_file,
    open_measures,
    read_scored,
)
from histoeval_research.experiments.perturb import PerturbedRow, PerturbedSet, read_perturbed
from histoeval_research.experiments.tables import read_graded

TRUE = (
    "Sections show sheets of atypical squamous cells with keratin pearls and necrosis. There is no "
    "vascular invasion. The diagnosis is squamous cell carcinoma."
)
ILLOGICAL = f"{TRUE} Vascular invasion is present. The lesion is benign, without malignancy."
REWORDED = TRUE.replace("Sections show", "Seen are").replace("There is no", "No")


def write(path: Path, rows: Sequence[PerturbedRow]) -> PerturbedSet:
    path.write_bytes(b"".join(row.line() for row in rows))
    return read_perturbed(path)


def test_the_shipped_models_see_a_contradiction_and_not_other_words(tmp_path: Path) -> None:
    rows = [
        PerturbedRow(
            id=f"a/{group}", case="a", group=group, edit=group, level=level, report=text,
            reference=TRUE,
        )
        for group, level, text in (
            ("control", 0, TRUE), ("rewording", 1, REWORDED), ("logic", 4, ILLOGICAL)
        )
    ]  # fmt: skip
    perturbed = write(tmp_path / "set.jsonl", rows)
    bench = open_measures(perturbed, ["bleu", "bertscore"], Models())
    assert bench.lacking["grounding"] == "the set names no images"
    assert "histoeval-reader" in bench.signatures["bertscore"]
    control, reworded, illogical = MeasureTask(bench).work(perturbed.reports)
    assert control.scores["bleu"] == pytest.approx(1.0)
    assert control.scores["bertscore"] == pytest.approx(1.0, abs=1e-4)
    logic = [row.scores["logic"] or 0.0 for row in (control, reworded, illogical)]
    assert logic[2] < 0.8 * logic[0]
    assert logic[2] < 0.8 * logic[1]


def test_a_metric_without_a_best_value_cannot_tell_drops() -> None:
    class Endless:
        name, higher_is_better, range = "endless", True, (0.0, float("inf"))

    with pytest.raises(SettingError, match="endless"):
        by_metric(Endless())  # type: ignore[arg-type]
    assert by_metric(create("bleu")).name == "bleu"


class Pink:
    """Patches and phrases by one colour: pink pictures bear out what is called carcinoma."""

    identity, size = "pink", 224

    def images(self, patches: list[np.ndarray]) -> np.ndarray:
        rows = np.array([[patch[..., 0].mean() > patch[..., 2].mean(), 1.0] for patch in patches])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def texts(self, phrases: list[str]) -> np.ndarray:
        rows = np.array([["carcinoma" in p, 0.1 + (len(p) % 7) / 9] for p in phrases], np.float64)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


class Diagnoses:
    """Everything before the full stop is the diagnosis."""

    identity, reads_relations = "diagnoses", True

    def read(self, texts: list[str]) -> list[Report]:
        entities = [
            Entity(text=text[:-1], start=0, end=len(text) - 1, type=EntityType.DIAGNOSIS)
            for text in texts
        ]
        return [Report(text=t, entities=(e,)) for t, e in zip(texts, entities, strict=True)]


def test_grounding_looks_at_the_image_of_the_row(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    chance = np.random.default_rng(0)
    pixels = np.clip(chance.normal((200, 90, 150), 25, (256, 256, 3)), 0, 255).astype(np.uint8)
    image.fromarray(pixels).save(tmp_path / "a.png")
    rows = [
        PerturbedRow(id=str(n), case="a", group="g", report=text, reference=text, image=name)
        for n, (text, name) in enumerate(
            [
                ("Squamous cell carcinoma.", "a.png"),
                ("Leiomyoma.", "a.png"),
                ("Leiomyoma.", "b.png"),
                ("Leiomyoma.", None),
            ]
        )
    ]
    bench = MeasureSet(by_grounding(Diagnoses(), Pink(), tmp_path))  # type: ignore[arg-type]
    assert list(bench.signatures) == ["grounding"]
    true, foreign, gone, without = MeasureTask(bench).work(rows)
    assert true.scores["grounding"] > foreign.scores["grounding"]  # type: ignore[operator]
    assert None not in true.scores.values()
    assert list(gone.errors) == ["grounding", "grounding_raw"]
    assert gone.errors["grounding"].startswith("missing_image")
    assert without.errors["grounding"].startswith("no_image")


class Lengths:
    """A measure that falls with the length of a report, and breaks on a word."""

    def __init__(self) -> None:
        self.asked = 0
        self.set = MeasureSet([Measure("logic", "short", self.score)])

    def score(self, rows: Sequence[PerturbedRow]) -> list[Found]:
        self.asked += len(rows)
        texts = [row.report or "x" for row in rows]
        return [Problem("broken", "cannot") if "break" in t else 1 / len(t) for t in texts]


def perturbed(path: Path, count: int = 40) -> PerturbedSet:
    rows = [
        PerturbedRow(
            id=f"c{n}/{edit}", case=f"c{n}", group=edit, edit=edit, level=level,
            report="word " * (level + 1) + ("break" if n == 3 else ""), reference="word",
        )
        for n in range(count)
        for level, edit in ((0, "control"), (4, "logic"))
    ]  # fmt: skip
    return write(path, rows)


def test_measured_rows_are_kept_and_a_stopped_run_goes_on(tmp_path: Path) -> None:
    source, folder = perturbed(tmp_path / "set.jsonl"), tmp_path / "out"
    rows = measure_file(source, folder, Lengths().set)
    whole = (folder / "scores.jsonl").read_bytes()
    assert len(rows) == 80
    assert read_scored(folder) == rows
    assert rows[6].scores == {"logic": None}
    assert "broken" in rows[6].errors["logic"]
    (folder / "scores.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:50]) + b'{"i')
    lengths = Lengths()
    assert measure_file(source, folder, lengths.set) == rows
    assert lengths.asked == 30
    assert (folder / "scores.jsonl").read_bytes() == whole
    with pytest.raises(OutputError):
        measure_file(perturbed(tmp_path / "two.jsonl", 3), folder, Lengths().set)


def test_levels_are_joined_to_verdicts_by_id(tmp_path: Path) -> None:
    source = perturbed(tmp_path / "set.jsonl", 2)
    folder = tmp_path / "trust"
    folder.mkdir()
    lines: list[dict[str, object]] = [
        {"id": row.id, "row": 1, "grounding": None, "logic": 0.9 - row.level / 8, "trust": None,
         "stability": 0.5, "route": "review", "evidence": {}, "errors": []}
        for row in source.reports
    ]  # fmt: skip
    (folder / "trust.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    scores = read_graded(folder, source.path)
    assert scores.select("level", "logic").rows()[:2] == [(0, 0.9), (4, 0.4)]
    with pytest.raises(SettingError, match="--perturbed"):
        read_graded(folder)


def test_the_readers_states_match_a_text_to_itself_and_say_what_was_seen() -> None:
    encoder = ReaderStates()
    short, long = encoder.tokens(["Squamous cell carcinoma.", "carcinoma " * 2000])
    assert short.states.shape[0] == len(short.special)
    assert short.special[[0, -1]].all()
    assert not short.special[1:-1].any()
    assert short.seen == 1.0
    assert 0 < long.seen < 0.5
    assert "histoeval-reader" in encoder.identity


def test_the_benchmark_has_captions_that_are_true_reworded_and_foreign(tmp_path: Path) -> None:
    (table,) = sensitivity.measure(["--shared", str(tmp_path)])
    assert "not there" in table.rows[0][0], "the data are not"
    labels = ("colon adenoma benign", "liver carcinoma malignant", "skin melanoma malignant")
    tiles = [
        {"key": name, "organ": organ, "diagnosis": name, "concept": name, "case_group": name}
        | {"benign_or_malignant": kind}
        for organ, name, kind in map(str.split, (*labels, "bone cyst benign"))
    ]
    rows = list(sensitivity.captioned(tiles, tiles))
    assert len(rows) == 16
    assert rows[0].report == "Colon, biopsy: adenoma."
    for row in rows:
        assert (row.group == "visual") == (row.level == 5)
        if row.edit == "another_organ":
            assert row.report != row.reference
