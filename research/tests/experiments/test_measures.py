"""The measures of the experiments with the shipped models, and grounding with a stand-in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from histoeval.errors import Problem, SettingError
from histoeval.metrics.registry import create
from histoeval.report import Entity, EntityType, Report
from histoeval.run.models import Models
from histoeval_research.experiments.measures import (
    ByGrounding,
    ByMetric,
    PerturbedRow,
    read_perturbed,
)
from histoeval_research.experiments.sensitivity import measured, open_bench

TRUE = (
    "Sections show sheets of atypical squamous cells with keratin pearls and necrosis. There is no "
    "vascular invasion. The diagnosis is squamous cell carcinoma."
)
ILLOGICAL = f"{TRUE} Vascular invasion is present. The lesion is benign, without malignancy."
REWORDED = TRUE.replace("Sections show", "Seen are").replace("There is no", "No")


def a_set(path: Path) -> Path:
    rows = [
        PerturbedRow(
            id=f"a/{group}", case="a", group=group, edit=group, level=level, report=text,
            reference=TRUE,
        )
        for group, level, text in (
            ("control", 0, TRUE), ("rewording", 1, REWORDED), ("logic", 4, ILLOGICAL)
        )
    ]  # fmt: skip
    path.write_bytes(b"".join(row.line() for row in rows))
    return path


def test_the_shipped_models_see_a_contradiction_and_not_other_words(tmp_path: Path) -> None:
    path = a_set(tmp_path / "set.jsonl")
    bench = open_bench(path, ["bleu", "bertscore"], Models())
    assert bench.lacking["grounding"] == "the set names no images"
    control, reworded, illogical = measured(read_perturbed(path), bench)
    assert control.scores["bleu"] == pytest.approx(1.0)
    assert control.scores["bertscore"] == pytest.approx(1.0, abs=1e-4)
    logic = [row.scores["logic"] for row in (control, reworded, illogical)]
    assert all(each is not None and 0 <= each <= 1 for each in logic)
    assert logic[2] < 0.8 * logic[0]  # type: ignore[operator]
    assert "histoeval-reader" in bench.signatures["bertscore"]


def test_the_benchmark_says_that_it_is_skipped_where_the_data_are_not(tmp_path: Path) -> None:
    from benchmarks.sensitivity import measure

    (told,) = measure(["--shared", str(tmp_path)])
    assert "not there" in told.rows[0][0]


def test_captions_of_tiles_are_true_reworded_and_foreign() -> None:
    from benchmarks.sensitivity import captioned

    tiles = [
        {"key": f"k{n}", "organ": organ, "diagnosis": name, "concept": name,
         "benign_or_malignant": kind, "case_group": f"g{n}"}
        for n, (organ, name, kind) in enumerate(
            [("colon", "adenoma", "benign"), ("liver", "carcinoma", "malignant"),
             ("skin", "melanoma", "malignant"), ("bone", "cyst", "benign")]
        )
    ]  # fmt: skip
    rows = list(captioned(tiles, tiles))
    assert len(rows) == 16
    assert rows[0].report == "Colon, biopsy: adenoma."
    for row in rows:
        assert (row.group == "visual") == (row.level == 5)
        if row.edit == "another_organ":
            assert row.report != row.reference


def test_a_metric_without_a_best_value_cannot_tell_drops() -> None:
    class Endless:
        name, higher_is_better, range = "endless", True, (0.0, float("inf"))

    with pytest.raises(SettingError, match="endless"):
        ByMetric(Endless())  # type: ignore[arg-type]
    assert ByMetric(create("bleu")).name == "bleu"


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
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> Report:
        words = text.rstrip(".")
        entity = Entity(text=words, start=0, end=len(words), type=EntityType.DIAGNOSIS)
        return Report(text=text, entities=(entity,))


def test_grounding_looks_at_the_image_of_the_row(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    chance = np.random.default_rng(0)
    pixels = np.clip(chance.normal((200, 90, 150), 25, (256, 256, 3)), 0, 255).astype(np.uint8)
    image.fromarray(pixels).save(tmp_path / "a.png")
    by = ByGrounding(Diagnoses(), Pink(), tmp_path)  # type: ignore[arg-type]
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
    true, foreign, gone, without = by.measure(rows)
    assert not isinstance(true, Problem), true
    assert not isinstance(foreign, Problem), foreign
    assert true[0] > foreign[0]
    assert isinstance(gone, Problem)
    assert gone.code == "missing_image"
    assert isinstance(without, Problem)
    assert without.code == "no_image"
