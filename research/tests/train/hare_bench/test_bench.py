"""The paper's models: what they are taught, what they learn, and the folders they are left in."""

import hashlib
import json
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from benchmarks.random_models import ModelFolders
from histoeval.errors import InputError, ModelError, OutputError
from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.reader.tagging import read_tags, relation_label
from histoeval.report import HARE_RELATION_TYPES, HARE_TYPES, RELATION_TYPES, EntityType
from histoeval.runtime.transformer import Runtime, Transformer
from histoeval_research.corpus import AnnotatedPassage, write_corpus
from histoeval_research.train.core.loop import TrainingSite
from histoeval_research.train.core.model_folder import sha256_of
from histoeval_research.train.hare_bench.bench import (
    IGNORE_INDEX,
    LABELS,
    MARKERS,
    EntityPair,
    UntrainedClassifier,
    examples_of,
    label_names,
    pairs_of,
    sample,
    score_relations,
    tags_of,
    train_ner,
    train_relations,
)
from histoeval_research.train.hare_bench.config import NerSettings, RelationSettings
from tests.support.tiny_corpus import PASSAGES, Learned, passage

pytestmark = pytest.mark.heavy

CPU = Runtime("cpu", "float32")
SITE = TrainingSite("cpu")
OURS = label_names("all")
TAGS = tags_of(OURS)
KIND = (EntityType.MARKER, EntityType.RESULT)


def told(encoder: Path, corpus: Path, **changes: Any) -> dict[str, Any]:
    return {"encoder": str(encoder), "train": corpus, "dev": corpus, **changes}


def ner_settings(encoder: Path, corpus: Path, **changes: Any) -> NerSettings:
    return NerSettings.model_validate(told(encoder, corpus, **changes))


def relation_settings(encoder: Path, corpus: Path, **changes: Any) -> RelationSettings:
    return RelationSettings.model_validate(told(encoder, corpus, **changes))


def results_in(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "results.json").read_text("utf-8"))
    return found


# --- what an entity model is taught -----------------------------------------------------------


@pytest.fixture(scope="module")
def untaught(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    encoder = str(tiny_models.aligner)
    beginning = UntrainedClassifier(encoder, "token-classification", TAGS, 40, seed=0)
    return beginning.make(tmp_path_factory.mktemp("untaught"), "cpu")


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


@pytest.mark.parametrize(
    ("marked", "tokens"),
    [
        (
            "[D:Zn carcinoma] of [S:breast].",
            "z B-diagnosis/##n B-diagnosis/carcinoma I-diagnosis/of O/breast B-site/. O",
        ),
        (
            "[R:strongly] [R:positive] [T:stage]",
            "strongly B-result/positive B-result/stage B-stage",
        ),
    ],
    ids=["every token has the tag of its word", "neighbours of one type are told apart"],
)
def test_every_word_is_taught(untaught: Transformer, marked: str, tokens: str) -> None:
    assert taught(untaught, passage("p", marked)) == tokens.split("/")


def test_a_word_that_is_partly_an_entity_is_taught_as_one(untaught: Transformer) -> None:
    assert taught(untaught, passage("p", "non[D:carcinoma]"))[0].endswith("B-diagnosis")


def test_the_paper_has_grades_among_descriptors_and_no_stages(untaught: Transformer) -> None:
    found = taught(untaught, passage("p", "[G:grade] [T:stage]"), label_names("hare"))
    assert found == ["grade B-Diagnosis_Descriptor", "stage O"]


def test_a_long_passage_is_learned_whole_and_every_word_once(untaught: Transformer) -> None:
    marked = " ".join(f"The [D:carcinoma] of the [S:left breast] is {n} cm." for n in range(30))
    given = passage("long", marked)
    examples = list(examples_of(given, untaught, OURS, TAGS))
    assert len(examples) > 5
    assert all(len(example.tokens) <= 40 for example in examples)
    found = taught(untaught, given)
    assert [token.split()[0] for token in found] == untaught.tokenizer.tokenize(given.text)
    assert sum(token.endswith("B-diagnosis") for token in found) == 30
    assert sum(token.endswith("I-site") for token in found) == 30


# --- what it learns, and its folder -----------------------------------------------------------


def test_the_results_say_what_was_done_and_how_well(tagger: Learned, tiny_corpus: Path) -> None:
    results = results_in(tagger.folder)
    rates = dict.fromkeys(("precision", "recall", "f1"), 1.0)
    assert results["scores"]["entities"] == rates | {"gold": 22, "found": 22}
    assert results["scores"]["types"]["site"]["gold"] == 4
    assert results["request"]["settings"]["epochs"] == 40
    assert results["request"]["data"]["train"]["sha256"] == sha256_of(tiny_corpus)
    assert results["shared_reports"] == 3
    weights = (tagger.folder / "model.safetensors").read_bytes()
    assert results["weights"] == {"model.safetensors": hashlib.sha256(weights).hexdigest()}
    card = (tagger.folder / "README.md").read_text("utf-8")
    for words in (
        "| all types | 22 | 22 | 1.000 | 1.000 | 1.000 |",
        "\nWritten | by us.\n",
        results["weights"]["model.safetensors"],
        results["request"]["data"]["train"]["sha256"],
        "| rate | 0.005 |",
        "3 reports have passages in both parts",
    ):
        assert words in card
    assert str(tiny_corpus.parent) not in card + json.dumps(results), "no word on where files lie"
    assert [folder.name for folder in tagger.folder.parent.iterdir()] == ["ner"]
    assert not (tagger.folder / "checkpoint.pt").exists()


def weights_after(settings: NerSettings, output: Path, stop_at: int | None = None) -> bytes:
    def watch(step: int, steps: int, loss: float) -> None:
        if step == stop_at:
            raise KeyboardInterrupt

    train_ner(settings, output, TrainingSite("cpu", watching=lambda _: nullcontext(watch)))
    return (output / "model.safetensors").read_bytes()


def test_a_stopped_training_goes_on_to_the_same_weights(
    tiny_models: ModelFolders, tiny_corpus: Path, tmp_path: Path
) -> None:
    settings = ner_settings(tiny_models.aligner, tiny_corpus, epochs=20, batch=1)
    stopped = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        weights_after(settings, stopped, stop_at=40)
    assert [file.name for file in stopped.iterdir()] == ["checkpoint.pt"]
    assert [folder.name for folder in tmp_path.iterdir()] == ["stopped"], "no draft stays"
    with pytest.raises(OutputError, match="other data or settings"):
        weights_after(settings.model_copy(update={"rate": 1e-4}), stopped)
    whole = weights_after(settings, tmp_path / "whole")
    assert weights_after(settings, stopped) == whole
    assert weights_after(settings.model_copy(update={"seed": 1}), tmp_path / "other") != whole


def test_the_paper_types_are_judged_in_the_paper_types(
    tiny_models: ModelFolders, tiny_corpus: Path, tmp_path: Path
) -> None:
    settings = ner_settings(tiny_models.aligner, tiny_corpus, types="hare", epochs=1)
    scores = train_ner(settings, tmp_path / "hare", SITE)["scores"]
    assert "grade" not in scores["types"]
    assert scores["types"]["descriptor"]["gold"] == 1
    assert scores["entities"]["gold"] == 22


def test_what_cannot_be_trained_is_said_before_anything_is_written(
    tiny_models: ModelFolders, tiny_corpus: Path, tmp_path: Path
) -> None:
    empty, plain = tmp_path / "empty.jsonl", tmp_path / "plain.jsonl"
    empty.write_text("", "utf-8")
    write_corpus(plain, [passage("p", "[M:ER] is [R:positive]")])
    encoder, output = tiny_models.aligner, tmp_path / "out"
    with pytest.raises(ModelError, match="cannot load"):
        train_ner(ner_settings(tmp_path, tiny_corpus), output, SITE)
    with pytest.raises(InputError, match="does not exist"):
        train_ner(ner_settings(encoder, tmp_path / "none"), output, SITE)
    with pytest.raises(InputError):
        train_ner(ner_settings(encoder, empty), output)
    with pytest.raises(InputError, match="no relations of the types to be learned"):
        train_relations(relation_settings(encoder, plain), output, SITE)
    assert {path.name for path in tmp_path.iterdir()} == {"empty.jsonl", "plain.jsonl"}


# --- relations --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unrelated(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    encoder, task = str(tiny_models.aligner), "sequence-classification"
    beginning = UntrainedClassifier(encoder, task, LABELS, 64, seed=0, markers=MARKERS)  # type: ignore[arg-type]
    return beginning.make(tmp_path_factory.mktemp("unrelated"), "cpu")


@pytest.fixture(scope="module")
def relater(
    plain_encoder: Path, tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    output = tmp_path_factory.mktemp("learned") / "relations"
    recipe = {"epochs": 40, "rate": 5e-3, "batch": 21, "warm_up": 0.1, "negatives": 9}
    train_relations(relation_settings(plain_encoder, tiny_corpus, **recipe), output, SITE)
    return output


def decoded(model: Transformer, pair: EntityPair) -> str:
    return str(model.tokenizer.decode(pair.tokens, skip_special_tokens=False))


def test_the_labels_and_markers_are_those_that_the_reader_knows(unrelated: Transformer) -> None:
    assert relation_label(LABELS) == 1
    ids = unrelated.tokenizer.convert_tokens_to_ids(list(MARKERS))
    assert len(set(ids)) == 4
    assert unrelated.tokenizer.unk_token_id not in ids
    rows = unrelated.model.get_input_embeddings().num_embeddings
    assert rows == len(unrelated.tokenizer) > max(ids)


def test_pairs_are_those_whose_types_can_be_related_marked_whichever_comes_first(
    unrelated: Transformer,
) -> None:
    pairs = pairs_of(PASSAGES[:1], unrelated, RELATION_TYPES)
    assert Counter((str(pair.kind[0]), pair.related) for pair in pairs) == {
        ("diagnosis", True): 2,
        ("marker", True): 2,
        ("marker", False): 2,
    }
    assert len(list(pairs_of(PASSAGES[:1], unrelated, HARE_RELATION_TYPES))) == 5
    sites = pairs_of(PASSAGES[:1], unrelated, {(EntityType.DIAGNOSIS, EntityType.SITE)})
    assert [decoded(unrelated, pair) for pair in sites] == [
        "[CLS] [E2] left breast [/E2] shows [E1] invasive ductal carcinoma [/E1], high grade. "
        "er is positive and pr negative. [SEP]"
    ]


def test_a_pair_too_far_apart_has_no_tokens_and_none_is_truncated(unrelated: Transformer) -> None:
    filler = "It measures 3 cm. " * 12
    far = passage("far", f"[M:ER] is seen. {filler}It is [R:positive].", (0, 1))
    near = passage("near", f"{filler}[M:ER] is [R:positive]. {filler}", (0, 1))
    lost, shown = pairs_of([far, near], unrelated, {KIND})
    assert lost.related
    assert lost.tokens == ()
    assert len(shown.tokens) <= unrelated.most_tokens == 64
    assert "[E1] er [/E1] is [E2] positive [/E2]" in decoded(unrelated, shown)


FLAGS = st.lists(st.booleans(), max_size=40)


@given(FLAGS, st.sampled_from([0.0, 1.0, 2.5, 3.0]), st.integers(0, 3))
def test_a_sample_has_all_positives_and_so_many_negatives(
    flags: list[bool], negatives: float, seed: int
) -> None:
    pairs = [EntityPair(KIND, flag, (n,)) for n, flag in enumerate(flags)]
    chosen = sample(pairs, negatives, str(seed))
    positives = [place for place in chosen if flags[place]]
    assert len(positives) == sum(flags)
    assert len(set(chosen)) == len(chosen)
    wanted = round(negatives * sum(flags))
    assert len(chosen) - len(positives) == min(wanted, len(flags) - sum(flags))
    assert chosen == sample(pairs, negatives, str(seed))


def test_models_that_learned_the_passages_give_entities_and_relations_back(
    relater: Path, tagger: Learned
) -> None:
    reader = HuggingFaceReader(tagger.folder, relater, runtime=CPU)
    for known, report in zip(PASSAGES, reader.read([p.text for p in PASSAGES]), strict=True):
        found = {(relation.head, relation.tail) for relation in report.relations}
        assert found == {(relation.head, relation.tail) for relation in known.content.relations}
        entities = [[(e.start, e.end, e.type) for e in r.entities] for r in (report, known.content)]
        assert entities[0] == entities[1]


def test_the_results_have_sampled_and_all_pairs_and_the_card_says_how_the_paper_counts(
    relater: Path,
) -> None:
    results = results_in(relater)
    scores = results["scores"]
    assert scores["sampled"]["f1"] == scores["all"]["f1"] == scores["sampled_micro"] == 1.0
    assert set(scores["types"]) == {"diagnosis-grade", "diagnosis-site", "marker-result"}
    assert scores["types"]["marker-result"]["gold"] == 7
    # 12 are related; 2 + 3 + 2 markers with others' results, 2 diagnoses with the other's site
    assert results["samples"] == {"train": 12 + 9, "dev": 12 + 9}
    card = (relater / "README.md").read_text("utf-8")
    assert "| sampled pairs | 12 | 12 | 1.000 | 1.000 | 1.000 |" in card
    assert "as the HARE paper counts, their F1 is 1.000" in card
    assert "| negatives | 9.0 |" in card


def test_scores_are_counted_by_hand(relater: Path) -> None:
    model = Transformer(relater, "sequence-classification", CPU)
    right = list(pairs_of(PASSAGES, model, RELATION_TYPES))
    positives = [pair for pair in right if pair.related]
    negatives = [pair for pair in right if not pair.related]
    lost = EntityPair(KIND, True, ())
    wrong = [EntityPair(pair.kind, False, pair.tokens) for pair in positives[:2]]
    pairs = [*positives, *negatives, *wrong, lost]
    scores = score_relations(model, pairs, [0, 1, len(right), -1])
    assert scores["all"]["precision"] == pytest.approx(12 / 14)
    assert scores["all"]["recall"] == pytest.approx(12 / 13)
    assert scores["sampled"]["precision"] == pytest.approx(2 / 3)
    assert scores["sampled"]["recall"] == pytest.approx(2 / 3)
    assert scores["sampled_micro"] == pytest.approx(2 / 4)
