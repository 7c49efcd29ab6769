"""The paper's entity model: what it is taught, what it learns, and the folder it is left in."""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from histoeval.errors import InputError, ModelError, OutputError
from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.reader.tagging import read_tags
from histoeval.report import HARE_TYPES, EntityType
from histoeval.runtime.transformer import Runtime, Transformer
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.train.core.loop import TrainingSite
from histoeval_research.train.core.model_folder import sha256_of
from histoeval_research.train.hare_bench.bench import (
    IGNORE_INDEX,
    UntrainedClassifier,
    examples_of,
    label_names,
    tags_of,
    train_ner,
)
from histoeval_research.train.hare_bench.config import NerSettings
from tests.support.tiny_corpus import PASSAGES, Learned, passage

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy

CPU = Runtime("cpu", "float32")
OURS = label_names("all")
TAGS = tags_of(OURS)


class StoppedError(Exception):
    """Somebody has had enough."""


def settings_for(encoder: Path, corpus: Path, **changes: Any) -> NerSettings:
    told = {"encoder": str(encoder), "train": corpus, "dev": corpus, **changes}
    return NerSettings.model_validate(told)


@pytest.fixture(scope="module")
def untaught(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    beginning = UntrainedClassifier(
        str(tiny_models.aligner), "token-classification", TAGS, 40, seed=0
    )
    return beginning.make(tmp_path_factory.mktemp("untaught"), "cpu")


@pytest.fixture(scope="module")
def learned(tagger: Learned) -> Path:
    return tagger.folder


def entities_in(passage: AnnotatedPassage) -> list[tuple[int, int, EntityType]]:
    return [(entity.start, entity.end, entity.type) for entity in passage.content.entities]


def taught(
    model: Transformer, given: AnnotatedPassage, names: dict[EntityType, str] = OURS
) -> list[str]:
    """Each token of a passage with its tag, less those that nothing is learned from."""
    tags = tags_of(names)
    return [
        f"{token} {tags[label]}"
        for example in examples_of(given, model, names, tags)
        for token, label in zip(
            model.tokenizer.convert_ids_to_tokens(example.tokens),
            example.label,  # type: ignore[arg-type]
            strict=True,
        )
        if label != IGNORE_INDEX
    ]


def test_labels_are_those_that_the_reader_reads_back() -> None:
    tags = read_tags(TAGS)
    assert {tag.type for tag in tags[1:]} == set(EntityType)
    assert [tag.begins for tag in tags[1:3]] == [True, False]
    paper = tags_of(label_names("hare"))
    assert len(paper) == 11
    assert {tag.type for tag in read_tags(paper)} == {*HARE_TYPES, None} - {EntityType.GRADE}


def test_every_token_of_a_word_is_taught_the_tag_of_the_word(untaught: Transformer) -> None:
    given = passage("p", "[D:Zn carcinoma] of [S:breast].")
    assert taught(untaught, given) == [
        *["z B-diagnosis", "##n B-diagnosis", "carcinoma I-diagnosis"],
        *["of O", "breast B-site", ". O"],
    ]


def test_neighbours_of_one_type_are_told_apart(untaught: Transformer) -> None:
    given = passage("p", "[R:strongly] [R:positive] [T:stage]")
    assert taught(untaught, given) == ["strongly B-result", "positive B-result", "stage B-stage"]


def test_a_word_that_is_partly_an_entity_is_taught_as_one(untaught: Transformer) -> None:
    assert taught(untaught, passage("p", "non[D:carcinoma]"))[0].endswith("B-diagnosis")


def test_the_paper_has_grades_among_descriptors_and_no_stages(untaught: Transformer) -> None:
    given = passage("p", "[G:grade] [T:stage]")
    assert taught(untaught, given, label_names("hare")) == [
        "grade B-Diagnosis_Descriptor",
        "stage O",
    ]


def test_a_long_passage_is_learned_whole_and_every_word_once(untaught: Transformer) -> None:
    marked = " ".join(f"The [D:carcinoma] of the [S:left breast] is {n} cm." for n in range(30))
    given = passage("long", marked)
    examples = list(examples_of(given, untaught, OURS, TAGS))
    assert len(examples) > 5
    assert all(len(example.tokens) <= 40 for example in examples)
    plain = untaught.tokenizer.tokenize(given.text)
    found = taught(untaught, given)
    assert [token.split()[0] for token in found] == plain
    assert sum(token.endswith("B-diagnosis") for token in found) == 30
    assert sum(token.endswith("I-site") for token in found) == 30


def test_a_model_that_learned_its_passages_gives_them_back(learned: Path) -> None:
    reader = HuggingFaceReader(learned, None, runtime=CPU)
    reports = reader.read([given.text for given in PASSAGES])
    for given, report in zip(PASSAGES, reports, strict=True):
        assert [(e.start, e.end, e.type) for e in report.entities] == entities_in(given)


def test_the_results_say_what_was_done_and_how_well(learned: Path, tiny_corpus: Path) -> None:
    results = json.loads((learned / "results.json").read_text("utf-8"))
    assert results["scores"]["entities"] == {
        "precision": 1.0,
        "recall": 1.0,
        "f1": 1.0,
        "gold": 22,
        "found": 22,
    }
    assert results["scores"]["types"]["site"]["gold"] == 4
    assert results["request"]["settings"]["epochs"] == 40
    assert results["request"]["data"]["train"]["sha256"] == sha256_of(tiny_corpus)
    assert results["shared_reports"] == 3
    weights = (learned / "model.safetensors").read_bytes()
    assert results["weights"] == {"model.safetensors": hashlib.sha256(weights).hexdigest()}
    assert str(tiny_corpus.parent) not in (learned / "results.json").read_text("utf-8")


def test_the_card_tells_data_recipe_scores_weights_and_notes(learned: Path) -> None:
    card = (learned / "README.md").read_text("utf-8")
    results = json.loads((learned / "results.json").read_text("utf-8"))
    assert "| all types | 22 | 22 | 1.000 | 1.000 | 1.000 |" in card
    assert "\nWritten | by us.\n" in card
    assert results["weights"]["model.safetensors"] in card
    assert results["request"]["data"]["train"]["sha256"] in card
    assert "| rate | 0.005 |" in card
    assert "3 reports have passages in both parts" in card


def test_nothing_is_left_beside_the_model(learned: Path) -> None:
    assert [folder.name for folder in learned.parent.iterdir()] == ["ner"]
    assert not (learned / "checkpoint.pt").exists()


def test_a_finished_folder_is_not_trained_again_and_another_is_not_written_over(
    tagger: Learned, tiny_models: ModelFolders
) -> None:
    before = (tagger.folder / "model.safetensors").stat().st_mtime_ns
    settings = NerSettings.model_validate(tagger.settings)
    assert train_ner(settings, tagger.folder)["scores"]["entities"]["f1"] == 1.0
    faster = settings.model_copy(update={"rate": 1e-2})
    with pytest.raises(OutputError, match=r"another training \(different: rate\)"):
        train_ner(faster, tagger.folder)
    other = settings.model_copy(update={"encoder": str(tiny_models.entities)})
    with pytest.raises(OutputError, match=r"different: encoder\)"):
        train_ner(other, tagger.folder)
    assert (tagger.folder / "model.safetensors").stat().st_mtime_ns == before


def weights_after(settings: NerSettings, output: Path, stop_at: int | None = None) -> bytes:
    def watch(step: int, steps: int, loss: float) -> None:
        if step == stop_at:
            raise StoppedError

    train_ner(settings, output, TrainingSite("cpu", watching=lambda _: nullcontext(watch)))
    return (output / "model.safetensors").read_bytes()


def test_a_stopped_training_goes_on_to_the_same_weights(
    tiny_models: ModelFolders, tiny_corpus: Path, tmp_path: Path
) -> None:
    settings = settings_for(tiny_models.aligner, tiny_corpus, epochs=20, batch=1)
    stopped = tmp_path / "stopped"
    with pytest.raises(StoppedError):
        weights_after(settings, stopped, stop_at=40)
    assert [file.name for file in stopped.iterdir()] == ["checkpoint.pt"]
    assert [folder.name for folder in tmp_path.iterdir()] == ["stopped"], "no draft stays"
    other = settings.model_copy(update={"rate": 1e-4})
    with pytest.raises(OutputError, match="other data or settings"):
        weights_after(other, stopped)
    whole = weights_after(settings, tmp_path / "whole")
    assert weights_after(settings, stopped) == whole
    assert weights_after(settings.model_copy(update={"seed": 1}), tmp_path / "other") != whole


def test_a_training_killed_before_its_last_act_is_finished_by_the_next(
    tagger: Learned, tmp_path: Path
) -> None:
    output = tmp_path / "ner"
    shutil.copytree(tagger.folder, tmp_path / "ner.part")
    output.mkdir()
    (output / "checkpoint.pt").write_bytes(b"of no use any more")
    found = train_ner(NerSettings.model_validate(tagger.settings), output, TrainingSite("cpu"))
    assert found["scores"]["entities"]["f1"] == 1.0
    files = {file.name for file in tagger.folder.iterdir()}
    assert {file.name for file in output.iterdir()} == files
    assert [folder.name for folder in tmp_path.iterdir()] == ["ner"]


def test_overwriting_replaces_a_training_and_never_anything_else(
    tiny_models: ModelFolders, tiny_corpus: Path, tmp_path: Path
) -> None:
    settings = settings_for(tiny_models.aligner, tiny_corpus, epochs=1)
    train_ner(settings, tmp_path / "out", TrainingSite("cpu"))
    changed = settings.model_copy(update={"seed": 5})
    results = train_ner(changed, tmp_path / "out", TrainingSite("cpu", overwrite=True))
    assert results["request"]["settings"]["seed"] == 5
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work", "utf-8")
    for overwrite in (False, True):
        with pytest.raises(OutputError, match="not of a training"):
            train_ner(settings, tmp_path / "mine", TrainingSite("cpu", overwrite))
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_the_paper_types_are_judged_in_the_paper_types(
    tiny_models: ModelFolders, tiny_corpus: Path, tmp_path: Path
) -> None:
    settings = settings_for(tiny_models.aligner, tiny_corpus, types="hare", epochs=1)
    scores = train_ner(settings, tmp_path / "hare", TrainingSite("cpu"))["scores"]
    assert "grade" not in scores["types"]
    assert scores["types"]["descriptor"]["gold"] == 1
    assert scores["entities"]["gold"] == 22


def test_what_cannot_be_trained_is_said_before_anything_is_written(
    tiny_models: ModelFolders, tiny_corpus: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    with pytest.raises(ModelError, match="cannot load"):
        train_ner(settings_for(tmp_path, tiny_corpus), output, TrainingSite("cpu"))
    with pytest.raises(InputError, match="does not exist"):
        train_ner(settings_for(tiny_models.aligner, tmp_path / "none"), output, TrainingSite("cpu"))
    (tmp_path / "empty.jsonl").write_text("", "utf-8")
    with pytest.raises(InputError):
        train_ner(settings_for(tiny_models.aligner, tmp_path / "empty.jsonl"), output)
    assert not output.exists()
    assert not output.with_name("out.part").exists()
