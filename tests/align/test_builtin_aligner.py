"""The aligner without torch: the same vector for a phrase whatever it is run with."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
transformers = pytest.importorskip("transformers")

from histoeval.align.aligner import Aligner
from histoeval.align.builtin import BuiltinAligner, shortened
from histoeval.errors import ModelError
from tests.support.report_words import WORDS

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy

ODD = ["", " ", "\n\t", "[SEP] [PAD]", "İ\u0301ß乳", "half \ud800 letter", "a" * 5000, "\0", "🔬"]


@pytest.fixture(scope="module")
def folder(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tiny_models, tmp_path_factory.mktemp("builtin") / "aligner", channel=0.0)


@pytest.fixture(scope="module")
def with_channel(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tiny_models, tmp_path_factory.mktemp("channel") / "aligner", channel=0.6)


def write(tiny_models: ModelFolders, home: Path, channel: float) -> Path:
    """An aligner that has learned nothing."""
    from tokenizers import Tokenizer

    from histoeval_research.train.aligner.train import Embedder, write_aligner

    encoder = transformers.AutoModel.from_pretrained(tiny_models.aligner)
    encoder.pooler = None
    tokenizer = Tokenizer.from_file(str(tiny_models.aligner / "tokenizer.json"))
    model = Embedder(encoder, "mean")
    write_aligner(model, tokenizer, home, name="tiny", tokens=16, details={"a": 1}, channel=channel)
    return home


def phrases(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 14))) for _ in range(count)]


def test_vectors_are_equal_to_the_bit_in_any_order_batch_and_number_of_threads(
    folder: Path,
) -> None:
    some = phrases(120, 1)
    whole = BuiltinAligner(folder, threads=2).embed(some)
    one_by_one = BuiltinAligner(folder, threads=1)
    assert np.array_equal(whole, np.concatenate([one_by_one.embed([p]) for p in some]))
    order = random.Random(0).sample(range(len(some)), len(some))
    shuffled = BuiltinAligner(folder, threads=3).embed([some[place] for place in order])
    assert np.array_equal(shuffled, whole[order])


def test_they_are_what_torch_gives_but_for_the_rounding(
    folder: Path, tiny_models: ModelFolders
) -> None:
    from histoeval.align.huggingface import HuggingFaceEncoder
    from histoeval.runtime.transformer import Runtime

    some = phrases(40, 2)
    other = HuggingFaceEncoder(
        tiny_models.aligner, pooling="mean", most_tokens=16, runtime=Runtime("cpu")
    )
    alike = (BuiltinAligner(folder).embed(some) * other.embed(some)).sum(axis=1)
    assert alike.min() > 0.99


def test_it_is_an_aligner_with_rows_of_length_one_for_any_text(folder: Path) -> None:
    aligner = BuiltinAligner(folder)
    assert isinstance(aligner, Aligner)
    rows = aligner.embed(ODD)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(ODD)), abs=1e-5)
    assert aligner.embed([]).shape == (0, aligner.manifest.size)


def test_a_long_phrase_is_cut_and_closed() -> None:
    assert shortened([1, 5, 6, 7, 2], 4) == [1, 5, 6, 2]
    assert shortened([1, 5, 2], 4) == [1, 5, 2]


def test_beside_the_encoder_stands_what_rules_read_in_the_phrase(
    folder: Path, with_channel: Path
) -> None:
    plain, joined = BuiltinAligner(folder), BuiltinAligner(with_channel)
    some = ["left breast", "right breast", "breast", *ODD]
    rows = joined.embed(some)
    assert rows.shape == (len(some), joined.size)
    assert joined.size > joined.manifest.size == plain.size
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(some)), abs=1e-5)
    one, other = plain.embed(some[:2]), rows[:2]
    assert float(other[0] @ other[1]) < float(one[0] @ one[1])
    first = rows[0, : plain.size] / np.linalg.norm(rows[0, : plain.size])
    assert np.allclose(first, one[0], atol=1e-6)


def test_the_identity_says_which_channel_was_read(folder: Path, with_channel: Path) -> None:
    assert "/channel1-" in BuiltinAligner(with_channel).identity
    assert "channel" not in BuiltinAligner(folder).identity


def test_an_aligner_of_another_channel_is_refused(with_channel: Path, tmp_path: Path) -> None:
    shutil.copytree(with_channel, tmp_path, dirs_exist_ok=True)
    manifest = json.loads((tmp_path / "aligner.json").read_text("utf-8"))
    manifest["channel"]["version"] = 99
    (tmp_path / "aligner.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(ModelError, match="version 99 of the channel"):
        BuiltinAligner(tmp_path)


def test_a_folder_that_was_changed_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(ModelError, match=r"tokenizer\.json is not the file that aligner\.json"):
        BuiltinAligner(tmp_path)
