"""What a tiny reader is trained with: passages to know by heart, and texts without annotation."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.report import Assertion, Report
from histoeval_research.corpus import AnnotatedPassage, write_corpus
from tests.support.report_words import make_report
from tests.support.tiny_corpus import PASSAGES, passage

CALM = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
SHAPE = {"width": 32, "layers": 1, "heads": 2, "dropout": 0.0}


def absent(given: AnnotatedPassage, *places: int) -> AnnotatedPassage:
    """The passage with some of its entities said not to be there."""
    entities = [
        entity.model_copy(update={"assertion": Assertion.ABSENT}) if place in places else entity
        for place, entity in enumerate(given.content.entities)
    ]
    content = Report(text=given.text, entities=tuple(entities), relations=given.content.relations)
    return given.model_copy(update={"content": content})


KNOWN = (
    *PASSAGES,
    absent(
        passage(
            "margins", "No evidence of [D:carcinoma] in [S:lymph nodes]; [S:lung]: [D:tumour]."
        ),
        0,
    ),
)
"""Passages with everything that a reader finds."""


class Bench(NamedTuple):
    """A folder with data and encoders, and the settings that name them."""

    folder: Path
    settings: dict[str, Any]


def write_bench(folder: Path, student: Path, teacher: Path) -> Bench:
    """Corpora, unlabelled reports and two encoders, and a recipe with all steps."""
    write_corpus(folder / "train.jsonl", KNOWN)
    write_corpus(
        folder / "dev.jsonl", [passage("dev", f"[D:carcinoma] {make_report(drawn(99), 30)}")]
    )
    reports = [{"id": f"r{n}", "text": make_report(drawn(n), 70)} for n in range(12)]
    reports.append({"id": "dev", "text": "The dev report itself."})
    (folder / "pool.jsonl").write_text("\n".join(map(json.dumps, reports)), "utf-8")
    step = {"epochs": 2, "batch": 8, "rate": 1e-3}
    adapt = step | {"length": 32}
    settings = {
        "train": folder / "train.jsonl",
        "dev": folder / "dev.jsonl",
        "unlabelled": [str(folder / "pool.jsonl")],
        "encoder": str(student),
        "teacher": str(teacher),
        "adapt": adapt,
        "adapt_teacher": adapt,
        "teach": step | {"seeds": [1, 2]},
        "windows": {"words": [20, 30], "most": 2},
        "distil": step,
        "fit": step,
        "shape": SHAPE,
    }
    return Bench(folder, settings)


def drawn(seed: int) -> random.Random:
    """A source of chance."""
    return random.Random(seed)


def calm_copy(encoder: Path, folder: Path) -> Path:
    """The encoder without dropout."""
    shutil.copytree(encoder, folder)
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | CALM), "utf-8")
    return folder
