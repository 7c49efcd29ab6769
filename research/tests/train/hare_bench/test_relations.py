"""The paper's relation model: which pairs it is shown, what it learns, and how it is judged."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("transformers")

from histoeval.errors import InputError
from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.reader.tagging import relation_label
from histoeval.report import HARE_RELATION_TYPES, RELATION_TYPES, EntityType
from histoeval.runtime.transformer import Runtime, Transformer
from histoeval_research.corpus import write_corpus
from histoeval_research.train.core.loop import TrainingSite
from histoeval_research.train.hare_bench.bench import (
    LABELS,
    MARKERS,
    EntityPair,
    UntrainedClassifier,
    pairs_of,
    sample,
    score_relations,
    train_relations,
)
from histoeval_research.train.hare_bench.config import RelationSettings
from tests.support.tiny_corpus import PASSAGES, Learned, passage

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy

CPU = Runtime("cpu", "float32")
DEVICE = TrainingSite("cpu")
KIND = (EntityType.MARKER, EntityType.RESULT)


def settings_for(encoder: Path, corpus: Path, **changes: Any) -> RelationSettings:
    told = {"encoder": str(encoder), "train": corpus, "dev": corpus, **changes}
    return RelationSettings.model_validate(told)


@pytest.fixture(scope="module")
def untaught(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    folder = tmp_path_factory.mktemp("untaught")
    beginning = UntrainedClassifier(
        str(tiny_models.aligner), "sequence-classification", LABELS, 64, seed=0, markers=MARKERS
    )
    return beginning.make(folder, "cpu")


@pytest.fixture(scope="module")
def learned(
    plain_encoder: Path, tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A model that has learned all pairs by heart."""
    output = tmp_path_factory.mktemp("learned") / "relations"
    recipe = {"epochs": 40, "rate": 5e-3, "batch": 21, "warm_up": 0.1, "negatives": 9}
    train_relations(settings_for(plain_encoder, tiny_corpus, **recipe), output, DEVICE)
    return output


def told(model: Transformer, pair: EntityPair) -> str:
    return str(model.tokenizer.decode(pair.tokens, skip_special_tokens=False))


def test_the_labels_and_markers_are_those_that_the_reader_knows(untaught: Transformer) -> None:
    assert relation_label(LABELS) == 1
    ids = untaught.tokenizer.convert_tokens_to_ids(list(MARKERS))
    assert len(set(ids)) == 4
    assert untaught.tokenizer.unk_token_id not in ids
    rows = untaught.model.get_input_embeddings().num_embeddings
    assert rows == len(untaught.tokenizer) > max(ids)


def test_pairs_are_those_whose_types_can_be_related(untaught: Transformer) -> None:
    pairs = list(pairs_of(PASSAGES[:1], untaught, RELATION_TYPES))
    assert Counter((str(pair.kind[0]), pair.related) for pair in pairs) == {
        ("diagnosis", True): 2,
        ("marker", True): 2,
        ("marker", False): 2,
    }
    of_the_paper = list(pairs_of(PASSAGES[:1], untaught, HARE_RELATION_TYPES))
    assert len(of_the_paper) == 5


def test_both_entities_are_marked_whichever_comes_first(untaught: Transformer) -> None:
    pairs = list(pairs_of(PASSAGES[:1], untaught, {(EntityType.DIAGNOSIS, EntityType.SITE)}))
    assert [told(untaught, pair) for pair in pairs] == [
        "[CLS] [E2] left breast [/E2] shows [E1] invasive ductal carcinoma [/E1], high grade. "
        "er is positive and pr negative. [SEP]"
    ]


def test_a_pair_too_far_apart_has_no_tokens_and_none_is_truncated(untaught: Transformer) -> None:
    filler = "It measures 3 cm. " * 12
    far = passage("far", f"[M:ER] is seen. {filler}It is [R:positive].", (0, 1))
    near = passage("near", f"{filler}[M:ER] is [R:positive]. {filler}", (0, 1))
    lost, shown = pairs_of([far, near], untaught, {KIND})
    assert lost.related
    assert lost.tokens == ()
    assert len(shown.tokens) <= untaught.most_tokens == 64
    assert "[E1] er [/E1] is [E2] positive [/E2]" in told(untaught, shown)


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


def test_another_seed_draws_other_negatives() -> None:
    pairs = [EntityPair(KIND, n < 10, (n,)) for n in range(200)]
    assert sample(pairs, 1, "1") != sample(pairs, 1, "2")


def test_models_that_learned_the_passages_give_entities_and_relations_back(
    learned: Path, tagger: Learned
) -> None:
    reader = HuggingFaceReader(tagger.folder, learned, runtime=CPU)
    for known, report in zip(PASSAGES, reader.read([p.text for p in PASSAGES]), strict=True):
        found = {(relation.head, relation.tail) for relation in report.relations}
        assert found == {(relation.head, relation.tail) for relation in known.content.relations}
        assert [e.text for e in report.entities] == [e.text for e in known.content.entities]


def test_the_results_have_sampled_and_all_pairs_and_kinds(learned: Path) -> None:
    results = json.loads((learned / "results.json").read_text("utf-8"))
    scores = results["scores"]
    assert scores["sampled"]["f1"] == scores["all"]["f1"] == scores["sampled_micro"] == 1.0
    assert set(scores["types"]) == {"diagnosis-grade", "diagnosis-site", "marker-result"}
    assert scores["types"]["marker-result"]["gold"] == 7
    # 12 are related; 2 + 3 + 2 markers with others' results, 2 diagnoses with the other's site
    assert results["samples"] == {"train": 12 + 9, "dev": 12 + 9}


def test_scores_are_counted_by_hand(learned: Path) -> None:
    model = Transformer(learned, "sequence-classification", CPU)
    right = list(pairs_of(PASSAGES, model, RELATION_TYPES))
    positives = [pair for pair in right if pair.related]
    negatives = [pair for pair in right if not pair.related]
    lost = EntityPair(KIND, True, ())
    wrong = [EntityPair(pair.kind, False, pair.tokens) for pair in positives[:2]]
    scores = score_relations(model, [*positives, *negatives, *wrong, lost], [0, 1, len(right), -1])
    assert scores["all"]["precision"] == pytest.approx(12 / 14)
    assert scores["all"]["recall"] == pytest.approx(12 / 13)
    assert scores["sampled"]["precision"] == pytest.approx(2 / 3)
    assert scores["sampled"]["recall"] == pytest.approx(2 / 3)
    assert scores["sampled_micro"] == pytest.approx(2 / 4)


def test_the_card_says_how_the_paper_counts(learned: Path) -> None:
    card = (learned / "README.md").read_text("utf-8")
    assert "| sampled pairs | 12 | 12 | 1.000 | 1.000 | 1.000 |" in card
    assert "as the HARE paper counts, their F1 is 1.000" in card
    assert "| negatives | 9.0 |" in card


def test_a_corpus_without_relations_is_refused(tiny_models: ModelFolders, tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    write_corpus(file, [passage("p", "[M:ER] is [R:positive]")])
    with pytest.raises(InputError, match="no relations of the types to be learned"):
        train_relations(settings_for(tiny_models.aligner, file), tmp_path / "out", DEVICE)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.jsonl"]
