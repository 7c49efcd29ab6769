"""What several tests of the bench need: passages, an encoder, and a model that learned them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.tiny_corpus import Learned, write_passages

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The passages, as a file."""
    return write_passages(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def plain_encoder(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder without dropout, which learns by heart in a second."""
    folder = tmp_path_factory.mktemp("plain") / "encoder"
    shutil.copytree(tiny_models.aligner, folder)
    file = folder / "config.json"
    calm = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | calm), "utf-8")
    return folder


@pytest.fixture(scope="session")
def tagger(
    plain_encoder: Path, tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Learned:
    """An entity model that has learned the passages by heart."""
    from histoeval_research.train.core.loop import TrainingSite
    from histoeval_research.train.hare_bench.bench import train_ner
    from histoeval_research.train.hare_bench.config import NerSettings

    output = tmp_path_factory.mktemp("learned") / "ner"
    data = {"encoder": str(plain_encoder), "train": tiny_corpus, "dev": tiny_corpus}
    recipe = {"epochs": 40, "rate": 5e-3, "warm_up": 0.1, "notes": "Written | by us."}
    settings = data | recipe
    train_ner(NerSettings.model_validate(settings), output, TrainingSite("cpu"))
    return Learned(output, settings)


@pytest.fixture(scope="session")
def tiny_aligner(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Learned:
    """An aligner that was trained on a few names, from its settings to its folder."""
    from research.tests.support.tiny_names import settings_of, write_names, write_opposites

    from histoeval_research.train.aligner.config import AlignerSettings
    from histoeval_research.train.aligner.train import train_aligner
    from histoeval_research.train.core.loop import TrainingSite

    folder = tmp_path_factory.mktemp("aligner")
    settings = settings_of(
        write_names(folder),
        tiny_models.aligner,
        opposites=str(write_opposites(folder)),
        least_pieces=1,
        notes="Of our own | writing.",
    )
    site = TrainingSite("cpu")
    train_aligner(AlignerSettings.model_validate(settings), folder / "aligner", site)
    return Learned(folder / "aligner", settings)
