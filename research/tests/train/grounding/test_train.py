"""Training a grounding model from tiles to the folder that is loaded without torch."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("PIL")

from benchmarks.random_models import ModelFolders
from histoeval.errors import InputError, ModelError
from histoeval.evaluate.grounding import evaluate_grounding
from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval_research.train.core.loop import TrainingSite
from histoeval_research.train.grounding import train as grounding
from histoeval_research.train.grounding.config import GroundingSettings
from histoeval_research.train.grounding.train import train_grounding
from tests.support.tiny_corpus import Learned
from tests.support.tiny_tiles import settings_of, write_tiles, write_trunk

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def told(
    tiny_models: ModelFolders, tiny_aligner: Learned, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    folder = write_tiles(tmp_path_factory.mktemp("tiles"))
    write_trunk(folder / "trunk.onnx")
    notes = "Of our own | making."
    return settings_of(folder, tiny_models.aligner, tiny_aligner.folder, notes=notes)


class WrittenError(Exception):
    """The model is trained, and what follows is not of interest."""


@pytest.fixture(scope="module")
def learned() -> list[dict[str, Any]]:
    return []


@pytest.fixture(scope="module")
def trained(
    told: dict[str, Any], learned: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    output = tmp_path_factory.mktemp("trained") / "grounding"
    write = grounding.write

    def write_and_remember(settings: Any, request: Any, matcher: Any, *more: Any) -> Any:
        learned.append({name: w.clone() for name, w in matcher.state_dict().items()})
        return write(settings, request, matcher, *more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grounding, "write", write_and_remember)
        train_grounding(GroundingSettings.model_validate(told), output, TrainingSite("cpu"))
    return output


@pytest.fixture(scope="module")
def encoder(trained: Path) -> BuiltinEncoder:
    return BuiltinEncoder(trained, threads=2)


def pictures(count: int) -> list[Any]:
    draws = np.random.default_rng(3)
    return [draws.integers(0, 255, (224, 224, 3), np.uint8) for _ in range(count)]


def test_the_folder_is_whole_and_says_what_it_has_seen(trained: Path) -> None:
    ours = {"image.onnx", "text.onnx", "tokenizer.json", "known.npz", "manifest.json"}
    assert ours | {"results.json", "README.md", "held_out.npz"} == {
        file.name for file in trained.iterdir()
    }
    results = json.loads((trained / "results.json").read_text("utf-8"))
    assert results["samples"]["organ"] == {"colon": 12, "liver": 12}
    card = (trained / "README.md").read_text("utf-8")
    assert "Of our own | making." in card
    assert "Serdar Balci" in card
    assert "melanosis coli (6)" in card
    assert str(trained.parent) not in card + json.dumps(results), "no word on where files lie"


def test_unseen_cases_are_told_apart_by_what_they_show(
    encoder: BuiltinEncoder, told: dict[str, Any]
) -> None:
    found = evaluate_grounding(encoder, Path(told["tiles"]), "test")["all tiles"]
    assert found["organ, tiles"]["top1"] > 0.9
    assert found["behaviour, tiles"]["within_organ"] > 0.9
    assert found["replaced, tiles"]["all"]["drop"] > 0.2


def test_vectors_do_not_depend_on_what_they_are_run_with(encoder: BuiltinEncoder) -> None:
    some = pictures(3)
    together = encoder.images(some)
    assert together.shape == (3, encoder.dimension)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert np.array_equal(together[1:2], encoder.images(some[1:2]))
    phrases = ["colon adenocarcinoma", "liver", ""]
    assert np.array_equal(encoder.texts(phrases)[::-1], encoder.texts(phrases[::-1]))
    assert encoder.images([]).shape == encoder.texts([]).shape == (0, encoder.dimension)


def test_what_was_learned_is_known_and_noise_is_not(
    encoder: BuiltinEncoder, told: dict[str, Any]
) -> None:
    (scope,) = encoder.phrase_scope(["melanosis coli"])
    assert scope.known
    assert scope.nearest == "melanosis coli"
    assert encoder.unknown_phrases(["melanosis coli"]) == [None]
    far = -encoder.known.centre[None] * 50
    (reason,) = encoder.unknown_images(far.astype(np.float32))
    assert reason is not None
    assert "H&E" in reason


def test_pictures_of_another_size_are_refused(encoder: BuiltinEncoder) -> None:
    with pytest.raises(InputError, match="224 x 224"):
        encoder.images([np.zeros((100, 224, 3), np.uint8)])


def test_a_changed_file_is_refused(trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(trained, folder)
    (folder / "known.npz").write_bytes(b"nothing")
    with pytest.raises(ModelError, match=r"known\.npz"):
        BuiltinEncoder(folder)


def stop_at(last: int, *, overwrite: bool = False) -> TrainingSite:
    def watch(step: int, steps: int, loss: float) -> None:
        if step >= last:
            raise KeyboardInterrupt

    return TrainingSite("cpu", overwrite, lambda _: nullcontext(watch))


@pytest.mark.release
@pytest.mark.usefixtures("trained")
def test_a_killed_training_that_resumes_equals_one_that_was_left_alone(
    told: dict[str, Any],
    learned: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings, output = GroundingSettings.model_validate(told), tmp_path / "grounding"
    in_a_fold, in_the_last_stage = 3 + 10, 3 + 12 + 12 + 20
    for last in (in_a_fold, in_the_last_stage):
        with pytest.raises(KeyboardInterrupt):
            train_grounding(settings, output, stop_at(last))
        assert [file.name for file in output.iterdir()] == ["checkpoint.pt"]
    seen: list[int] = []

    def write(settings: Any, request: Any, matcher: Any, *_: Any) -> None:
        learned.append(dict(matcher.state_dict()))
        raise WrittenError

    monkeypatch.setattr(grounding, "write", write)
    site = TrainingSite("cpu", watching=lambda _: nullcontext(lambda step, *_: seen.append(step)))
    with pytest.raises(WrittenError):
        train_grounding(settings, output, site)
    assert seen[-1] == 3 + 12 + 12 + 36
    assert seen[0] >= in_the_last_stage, "what was done is not done again"
    first, second = learned[0], learned[-1]
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_command_tells_every_figure(
    trained: Path, told: dict[str, Any], tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    from histoeval.cli.main import app

    output = tmp_path / "figures.json"
    given = ["--tiles", told["tiles"], "--model", str(trained), "--output", str(output)]
    done = CliRunner().invoke(app, ["evaluate", "grounding", *given])
    assert done.exit_code == 0, done.output
    assert "AUROC" in done.output
    found = json.loads(output.read_text("utf-8"))
    assert {"scope", "all tiles"} <= set(found["test"])
    assert found["phrases"]["count"] > 50


def test_no_probe_is_a_wording_of_the_bank() -> None:
    from histoeval.evaluate.grounding import probes
    from histoeval.evaluate.tile_labels import all_entries

    wordings = {phrase.lower() for entry in all_entries() for phrase in entry.phrases}
    asked = [phrase for _, phrase in probes()]
    assert not wordings & {phrase.lower() for phrase in asked}
