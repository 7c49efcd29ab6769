"""The NLI model without torch: the same answer for a pair whatever it is run with."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
transformers = pytest.importorskip("transformers")

from histoeval.errors import ModelError
from histoeval.nli.builtin import BuiltinEntailer, pair_tokens
from histoeval.nli.entailer import Entailment, NliPair, probabilities
from tests.support.report_words import WORDS

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy

ODD = ["", " ", "\n\t", "[SEP] [PAD]", "half \ud800 letter", "a" * 5000, "\0", "mass " * 900]


@pytest.fixture(scope="module")
def model(tiny_models: ModelFolders) -> object:
    from histoeval_research.train.nli.train import CrossEncoder

    torch.manual_seed(0)
    encoder = transformers.AutoModel.from_pretrained(tiny_models.aligner)
    encoder.pooler = None
    return CrossEncoder(encoder).eval()


@pytest.fixture(scope="module")
def folder(
    model: object, tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    from tokenizers import Tokenizer

    from histoeval_research.train.nli.train import write_entailer

    home = tmp_path_factory.mktemp("nli") / "model"
    tokenizer = Tokenizer.from_file(str(tiny_models.aligner / "tokenizer.json"))
    write_entailer(model, tokenizer, home, name="tiny", tokens=32, details={"a": 1})  # type: ignore[arg-type]
    return home


def some_pairs(count: int, seed: int) -> list[NliPair]:
    chance = random.Random(seed)

    def text() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 12)))

    return [NliPair(text(), text()) for _ in range(count)]


def test_answers_are_equal_to_the_bit_in_any_order_batch_and_number_of_threads(
    folder: Path,
) -> None:
    pairs = some_pairs(60, 1)
    whole = BuiltinEntailer(folder, threads=2).judge(pairs)
    alone = BuiltinEntailer(folder, threads=1)
    assert whole == [alone.judge([pair])[0] for pair in pairs]
    order = random.Random(0).sample(range(len(pairs)), len(pairs))
    shuffled = BuiltinEntailer(folder, threads=3).judge([pairs[place] for place in order])
    assert shuffled == [whole[place] for place in order]


def test_they_are_what_torch_gives_but_for_the_rounding(folder: Path, model: object) -> None:
    entailer = BuiltinEntailer(folder)
    for pair in some_pairs(20, 2):
        tokens, kinds = pair_tokens(entailer._tokenizer, pair, entailer.manifest)
        rows = torch.tensor([tokens]), torch.tensor([kinds]), torch.ones(1, len(tokens)).long()
        with torch.inference_mode():
            wanted = model(*rows)[0].softmax(-1).tolist()  # type: ignore[operator]
        assert list(entailer.judge([pair])[0]) == pytest.approx(wanted, abs=0.03)


def test_any_text_gets_three_probabilities_that_sum_to_one(folder: Path) -> None:
    pairs = [NliPair(one, two) for one in ODD for two in ODD]
    for found in BuiltinEntailer(folder).judge(pairs):
        assert sum(found) == pytest.approx(1)
        assert min(found) >= 0
    assert BuiltinEntailer(folder).judge([]) == []


def test_premise_and_hypothesis_are_not_the_same_to_it(folder: Path) -> None:
    there, back = BuiltinEntailer(folder).judge(
        [NliPair("left breast", "no"), NliPair("no", "left breast")]
    )
    assert there != back


def test_of_a_long_pair_the_ends_are_cut_and_the_hypothesis_is_kept(folder: Path) -> None:
    entailer = BuiltinEntailer(folder)
    limits = entailer.manifest.model_copy(update={"hypothesis_tokens": 6})
    long = "left right " * 40
    tokens, kinds = pair_tokens(entailer._tokenizer, NliPair(long, "no tumour"), limits)
    short, _ = pair_tokens(entailer._tokenizer, NliPair("", "no tumour"), limits)
    assert len(tokens) == limits.tokens
    assert tokens[-len(short) + 1 :] == short[1:]
    tokens, kinds = pair_tokens(entailer._tokenizer, NliPair(long, long), limits)
    assert (len(tokens), sum(kinds)) == (limits.tokens, 6 + 1)


def test_the_likeliest_answer_gives_its_name() -> None:
    assert Entailment(0.1, 0.2, 0.7).label == "contradiction"
    assert Entailment(0.4, 0.4, 0.2).label == "entailment"
    assert probabilities([1000.0, 1000.0, -1000.0]) == pytest.approx((0.5, 0.5, 0.0))


def test_a_folder_that_was_changed_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    content = json.loads((tmp_path / "nli.json").read_text("utf-8"))
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(ModelError, match=r"tokenizer\.json is not the file that nli\.json"):
        BuiltinEntailer(tmp_path)
    (tmp_path / "nli.json").write_text(json.dumps(content | {"hypothesis_tokens": 30}), "utf-8")
    with pytest.raises(ModelError, match="no room for the premise"):
        BuiltinEntailer(tmp_path)
