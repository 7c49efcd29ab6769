"""The Hugging Face reader and encoder, on tiny models that the tests make."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from histoeval.align.huggingface import HuggingFaceEncoder
from histoeval.errors import ModelError, SettingError
from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.report import HARE_RELATION_TYPES, Report
from histoeval.runtime.transformer import Runtime, Transformer
from tests.support.report_words import make_report

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy

CPU = Runtime(device="cpu")


@pytest.fixture(scope="module")
def texts() -> list[str]:
    source = random.Random(1)
    drawn = [make_report(source, source.randint(1, 40)) for _ in range(20)]
    return [*drawn, make_report(source, 450), drawn[0], "!?", "Tumeur bénigne 🙂 ER ++"]


@pytest.fixture(scope="module")
def reader(tiny_models: ModelFolders) -> HuggingFaceReader:
    return HuggingFaceReader(tiny_models.entities, tiny_models.relations, runtime=CPU)


@pytest.fixture(scope="module")
def reports(reader: HuggingFaceReader, texts: list[str]) -> list[Report]:
    return reader.read(texts)


def decisions(report: Report) -> tuple[list[tuple[int, int, str]], list[tuple[int, int]]]:
    spans = [(e.start, e.end, str(e.type)) for e in report.entities]
    return spans, [(r.head, r.tail) for r in report.relations]


def assert_alike(found: list[Report], expected: list[Report]) -> None:
    assert list(map(decisions, found)) == list(map(decisions, expected))
    scores = [[e.score for report in some for e in report.entities] for some in (found, expected)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)


def test_entities_are_slices_of_the_text_in_order_and_apart(
    reports: list[Report], texts: list[str]
) -> None:
    for report, text in zip(reports, texts, strict=True):
        assert report.text == text
        for entity in report.entities:
            assert text[entity.start : entity.end] == entity.text == entity.text.strip()
        ends = [0, *(entity.end for entity in report.entities)]
        assert all(e.start >= end for e, end in zip(report.entities, ends, strict=False))


def test_a_report_longer_than_the_model_is_read_to_its_end(reports: list[Report]) -> None:
    long = max(reports, key=lambda report: len(report.text))
    starts = [entity.start for entity in long.entities]
    assert max(starts) > len(long.text) * 0.9
    assert min(starts) < len(long.text) * 0.1


def test_relations_hold_between_compatible_types_only(reports: list[Report]) -> None:
    kinds = {report.relation_type(r) for report in reports for r in report.relations}
    assert sum(len(report.entities) for report in reports) > 100, "there is something to test with"
    assert sum(len(report.relations) for report in reports) > 10
    assert kinds <= HARE_RELATION_TYPES


@pytest.mark.parametrize("budget", [1, 700, 20_000])
def test_decisions_do_not_depend_on_batches_or_order(
    tiny_models: ModelFolders, texts: list[str], reports: list[Report], budget: int
) -> None:
    other = HuggingFaceReader(
        tiny_models.entities, tiny_models.relations, runtime=Runtime("cpu", token_budget=budget)
    )
    assert_alike(other.read(texts[::-1]), reports[::-1])


def test_each_candidate_pair_and_each_distinct_text_is_run_once(
    tiny_models: ModelFolders, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = HuggingFaceReader(tiny_models.entities, tiny_models.relations, runtime=CPU)
    seen: list[tuple[str, tuple[int, ...]]] = []
    original = Transformer._start

    def counting(self: Transformer, members: list[tuple[int, ...]], pick: object) -> object:
        seen.extend((self.task, member) for member in members)
        return original(self, members, pick)  # type: ignore[arg-type]

    monkeypatch.setattr(Transformer, "_start", counting)
    reader.read(texts)
    reader.read(texts[:5])
    assert len(seen) == len(set(seen))


def test_batches_of_a_gpu_lead_to_the_same_decisions(
    tiny_models: ModelFolders,
    texts: list[str],
    reports: list[Report],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steady shapes, chunks that are tokenised ahead and answers fetched at the end, on a CPU."""
    monkeypatch.setattr(Transformer, "_sent", lambda _, numbers: torch.from_numpy(numbers))
    monkeypatch.setattr("histoeval.reader.huggingface._CANDIDATES_ON_GPU", 7)
    runtime = Runtime(device="cpu", token_budget=2048)
    reader = HuggingFaceReader(tiny_models.entities, tiny_models.relations, runtime=runtime)
    for model in reader._models:
        model.on_gpu = True
    assert_alike(reader.read(texts), reports)


def test_a_reader_without_a_relation_model_finds_entities_only(
    tiny_models: ModelFolders, texts: list[str], reports: list[Report]
) -> None:
    reader = HuggingFaceReader(tiny_models.entities, None, runtime=CPU)
    alone = reader.read(texts[:5])
    assert [decisions(r)[0] for r in alone] == [decisions(r)[0] for r in reports[:5]]
    assert not any(report.relations for report in alone)


def test_what_is_no_reader_is_refused_with_advice(
    tiny_models: ModelFolders, tmp_path: Path
) -> None:
    for folder, advice in (
        (tiny_models.aligner, "not a token-classification model"),
        (tmp_path, "Give a folder that holds"),
    ):
        with pytest.raises(ModelError, match=advice):
            HuggingFaceReader(folder, None, runtime=CPU)


def test_the_identity_changes_with_the_weights(tiny_models: ModelFolders, tmp_path: Path) -> None:
    before = Transformer(tiny_models.aligner, "encoder", CPU)
    before.model.embeddings.word_embeddings.weight.data[3, 3] += 1
    before.model.save_pretrained(tmp_path / "aligner")
    before.tokenizer.save_pretrained(tmp_path / "aligner")
    after = Transformer(tmp_path / "aligner", "encoder", CPU)
    assert before.identity.startswith("aligner@")
    assert before.identity != after.identity
    assert after.identity == Transformer(tmp_path / "aligner", "encoder", CPU).identity


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_embeddings_are_those_of_the_model_alone(tiny_models: ModelFolders, pooling: str) -> None:
    import torch

    encoder = HuggingFaceEncoder(
        tiny_models.aligner,
        pooling=pooling,  # type: ignore[arg-type]
        runtime=CPU,
    )
    phrases = ["ductal carcinoma", "ER", "lymph nodes of the left breast", "ER"]
    found = encoder.embed(phrases)
    assert encoder.embed([]).shape == (0, 32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_models.aligner)
    model = transformers.AutoModel.from_pretrained(tiny_models.aligner).eval()
    for phrase, vector in zip(phrases, found, strict=True):
        with torch.no_grad():
            states = model(**tokenizer(phrase, return_tensors="pt")).last_hidden_state[0]
        expected = (states[0] if pooling == "cls" else states.mean(dim=0)).numpy()
        np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-5)


def test_a_model_that_gives_no_numbers_is_refused(tiny_models: ModelFolders) -> None:
    reader = HuggingFaceReader(tiny_models.entities, None, runtime=CPU)
    reader.tagger.model.classifier.bias.data[:] = float("nan")
    with pytest.raises(ModelError, match="not finite"):
        reader.read(["benign tumour"])


def without_pooler(whole: Transformer, folder: Path) -> Path:
    kept = {k: v for k, v in whole.model.state_dict().items() if "pooler" not in k}
    whole.model.save_pretrained(folder, state_dict=kept)
    whole.tokenizer.save_pretrained(folder)
    return folder


def test_weights_that_lack_are_refused_unless_the_task_does_not_use_them(
    tiny_models: ModelFolders, tmp_path: Path
) -> None:
    relater = Transformer(tiny_models.relations, "sequence-classification", CPU)
    cut = without_pooler(relater, tmp_path / "relations")
    with pytest.raises(ModelError, match=r"no weights for bert\.pooler"):
        Transformer(cut, "sequence-classification", CPU)
    cut = without_pooler(Transformer(tiny_models.aligner, "encoder", CPU), tmp_path / "encoder")
    assert len({Transformer(cut, "encoder", CPU).identity for _ in range(3)}) == 1


def test_what_labels_mean_is_part_of_the_identity(tiny_models: ModelFolders) -> None:
    readers = [
        HuggingFaceReader(tiny_models.entities, None, labels=labels, runtime=CPU)
        for labels in (None, {"IHC_Marker": "procedure"})
    ]
    assert readers[0].identity != readers[1].identity


def test_a_relation_model_with_finer_tokens_still_sees_both_markers(
    tiny_models: ModelFolders, tmp_path: Path, texts: list[str]
) -> None:
    relater = Transformer(tiny_models.relations, "sequence-classification", CPU)
    relater.model.save_pretrained(tmp_path / "fine")
    words = {t: i for t, i in relater.tokenizer.get_vocab().items() if len(t.strip("#")) == 1}
    special = {token: relater.tokenizer.get_vocab()[token] for token in ("[UNK]", "[CLS]", "[SEP]")}
    from tokenizers import BertWordPieceTokenizer

    letters = BertWordPieceTokenizer(vocab=words | special | {"[PAD]": 0}, lowercase=True)
    transformers.BertTokenizerFast(
        tokenizer_object=letters._tokenizer, model_max_length=512
    ).save_pretrained(tmp_path / "fine")
    reader = HuggingFaceReader(tiny_models.entities, tmp_path / "fine", runtime=CPU)
    longest = max(texts, key=len)
    (report,) = reader.read([longest])  # it would raise if a marked window did not fit
    assert report.entities[-1].end > len(longest) * 0.8


@pytest.mark.parametrize("device", ["cuda", "tpu", "nonsense"])
def test_a_device_that_is_not_here_is_a_plain_mistake(
    tiny_models: ModelFolders, device: str
) -> None:
    import torch

    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("it is here")
    with pytest.raises(SettingError, match=f"the device '{device}' cannot be used here"):
        Transformer(tiny_models.aligner, "encoder", Runtime(device=device))


def test_weights_that_were_cut_short_are_refused(tiny_models: ModelFolders, tmp_path: Path) -> None:
    shutil.copytree(tiny_models.aligner, tmp_path, dirs_exist_ok=True)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    with pytest.raises(ModelError, match="cannot load"):
        Transformer(tmp_path, "encoder", CPU)
