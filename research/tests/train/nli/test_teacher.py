"""What a small network learns from labels, from pairs without one, and from a larger network."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from histoeval.errors import ModelError, SettingError
from histoeval.io.settings_files import read_settings
from histoeval_research.train.cards import card
from histoeval_research.train.core.loop import TrainingSite
from histoeval_research.train.nli import train as nli
from histoeval_research.train.nli.data import NO_CONTRADICTION, NO_ENTAILMENT, UNKNOWN, EncodedPairs
from histoeval_research.train.nli.model import CrossEncoder, answers_of, pair_loss
from histoeval_research.train.nli.train import NliSettings, nli_request, train_nli
from tests.support.report_words import WORDS

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy

SHARES = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]


def loss_of(
    labels: list[int], answers: list[list[float]] | None = None, share: float = 0.0
) -> float:
    """The loss of a network that gives SHARES, or rows of them."""
    logits = torch.tensor(SHARES[: len(labels)]).log()
    said = None if answers is None else torch.tensor(answers).log()
    return float(pair_loss(logits, torch.tensor(labels), said, share))


def test_without_a_teacher_the_loss_is_the_cross_entropy() -> None:
    assert loss_of([0, 1]) == pytest.approx(-(np.log(0.7) + np.log(0.3)) / 2)


def test_a_pair_that_is_no_contradiction_may_be_entailed_or_neutral() -> None:
    assert loss_of([NO_CONTRADICTION]) == pytest.approx(-np.log(0.9))
    both = loss_of([0, NO_CONTRADICTION])
    assert both == pytest.approx(-(np.log(0.7) + np.log(0.4)) / 2)


def test_a_pair_that_is_not_entailed_may_be_neutral_or_a_contradiction() -> None:
    assert loss_of([NO_ENTAILMENT]) == pytest.approx(-np.log(0.3))


def test_a_network_that_is_sure_of_a_contradiction_still_learns_that_there_is_none() -> None:
    logits = torch.tensor([[0.0, 0.0, 40.0]], requires_grad=True)
    pair_loss(logits, torch.tensor([NO_CONTRADICTION]), None, 0.0).backward()
    assert logits.grad is not None
    assert float(logits.grad[0, 2]) == pytest.approx(1, abs=1e-3)


def test_nothing_is_learned_of_an_unknown_label_without_a_teacher() -> None:
    assert loss_of([UNKNOWN]) == 0


def test_a_teacher_who_agrees_costs_nothing_and_weighs_its_share() -> None:
    assert loss_of([0], SHARES[:1], share=0.7) == pytest.approx(-0.3 * np.log(0.7))
    assert loss_of([0], SHARES[1:], share=1.0) == pytest.approx(_far(SHARES[1], SHARES[0]))


def test_of_an_unknown_label_only_the_teacher_is_heard() -> None:
    alone = loss_of([UNKNOWN], SHARES[1:], share=0.2)
    assert alone == pytest.approx(_far(SHARES[1], SHARES[0]))
    with_open = loss_of([NO_CONTRADICTION], SHARES[:1], share=0.2)
    assert with_open == pytest.approx(-0.8 * np.log(0.9))


def _far(one: list[float], other: list[float]) -> float:
    return float(sum(p * np.log(p / q) for p, q in zip(one, other, strict=True)))


class Counting:
    """Answers with the tokens of a pair, those of its hypothesis, and the first of all."""

    def eval(self) -> None:
        """It has no other way to be."""

    def __call__(self, tokens: Any, kinds: Any, mask: Any) -> Any:
        assert bool((tokens[mask == 0] == 9).all()), "padded as the teacher is used to"
        return torch.stack([mask.sum(1), kinds.sum(1), tokens[:, 0]], dim=1).float()


def test_answers_stand_in_the_order_of_the_pairs() -> None:
    lengths = [6, 3, 5, 3]
    encoded = EncodedPairs(
        np.concatenate([[place] * length for place, length in enumerate(lengths)]).astype("u2"),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.array([2, 1, 4, 1]),
        np.zeros(4, np.int64),
    )
    rows = torch.tensor([[6.0, 4, 0], [3, 2, 1], [5, 1, 2], [3, 2, 3]])
    model: Any = Counting()
    found = answers_of(model, encoded, "cpu", 9)
    assert found == pytest.approx(rows.log_softmax(-1).numpy())


@dataclass(frozen=True)
class Trained:
    """A training up to the weights that it would write."""

    weights: dict[str, Any]
    losses: list[float]


class WrittenError(Exception):
    """The network is trained, and what follows is not of interest."""


class StoppedError(Exception):
    """Somebody pulled the plug."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from benchmarks.random_models import Shape, make_models

    shape = Shape(hidden=48, layers=2, heads=2, seed=7)
    return make_models(tmp_path_factory.mktemp("large"), [" ".join(WORDS)] * 3, shape).aligner


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from benchmarks.random_models import Shape, make_models

    folder = tmp_path_factory.mktemp("foreign")
    return make_models(folder, ["une tumeur du sein gauche"], Shape(layers=1, heads=2)).aligner


@pytest.fixture(scope="module")
def told(
    tiny_models: ModelFolders, large: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("files")
    sides = ("left", "right")
    general = [
        {
            "source": "snli_test" if organ == "lung" else "snli_train",
            "premise": f"tumour of the {one} {organ}",
            "hypothesis": f"the {two} {organ}",
            "label": "entailment" if one == two else "contradiction",
        }
        for organ in ("lung", "breast", "kidney")
        for one in sides
        for two in sides
    ]
    names = [
        {"id": "C1", "name": "Lung Carcinoma", "synonyms": [], "parents": []},
        {"id": "C2", "name": "Squamous", "synonyms": ["Epidermoid"], "parents": ["C1"]},
        {"id": "C3", "name": "Adenocarcinoma", "synonyms": ["Glandular"], "parents": ["C1"]},
    ]
    text = "The left breast shows invasive carcinoma. No lymphovascular invasion is seen here."
    for name, rows in (("general", general), ("names", names), ("reports", [{"text": text}])):
        content = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(content, "utf-8")
    return {
        "general": str(folder / "general.jsonl"),
        "ontology": str(folder / "names.jsonl"),
        "reports": [str(folder / "reports.jsonl")],
        "encoder": str(tiny_models.aligner),
        "teacher": {"encoder": str(large), "epochs": 2, "batch": 16, "mixed": 20},
        "pairs": {"count": 12, "names": 10, "companions": 8, "dev": 3},
        "tokens": 48,
        "least_pieces": 1,
        "learning": {"epochs": 2, "batch": 16},
    }


def train(told: dict[str, Any], output: Path, stop_at: int | None = None) -> Trained:
    """Train up to the weights, or to the report of so many before it is stopped."""
    losses: list[float] = []
    weights: dict[str, Any] = {}

    def watch(step: int, steps: int, loss: float) -> None:
        losses.append(loss)
        if len(losses) == stop_at:
            raise StoppedError(f"{step} of {steps}")

    def write(model: CrossEncoder, *_: Any) -> None:
        weights.update({name: each.clone() for name, each in model.state_dict().items()})
        raise WrittenError

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(nli, "write", write)
        site = TrainingSite("cpu", watching=lambda _: nullcontext(watch))
        with pytest.raises(WrittenError):
            train_nli(NliSettings.model_validate(told), output, site)
    return Trained(weights, losses)


@pytest.fixture(scope="module")
def trained(told: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train(told, tmp_path_factory.mktemp("trained") / "nli")


def same(one: Trained, other: Trained) -> bool:
    return all(torch.equal(one.weights[name], other.weights[name]) for name in one.weights)


def test_a_small_network_learns_from_a_larger_one(
    told: dict[str, Any], trained: Trained, tmp_path: Path
) -> None:
    assert all(np.isfinite(trained.losses))
    assert not same(trained, train(told | {"teacher": None}, tmp_path / "alone"))
    small = trained.weights["encoder.embeddings.word_embeddings.weight"]
    assert small.shape[1] == 32, "the small one is what is written"


def test_the_card_names_the_teacher_and_the_pairs_without_a_label(told: dict[str, Any]) -> None:
    request = nli_request(NliSettings.model_validate(told))
    text = card("nli", {"request": request, "samples": {"pairs": 38}, "scores": {}})
    assert "the answers of a teacher built on `aligner`" in text
    assert "weighs 0.5 of the loss (20 pairs of a premise" in text
    assert "8 pairs of sentences of one true report" in text
    alone = nli_request(NliSettings.model_validate(told | {"teacher": None}))
    text = card("nli", {"request": alone, "samples": {"pairs": 38}, "scores": {}})
    assert "Cross-entropy over the three labels. With" in text


def test_a_training_stopped_under_its_teacher_resumes_there(
    told: dict[str, Any], trained: Trained, tmp_path: Path
) -> None:
    with pytest.raises(StoppedError):
        train(told, tmp_path / "nli", stop_at=1)
    assert (tmp_path / "nli" / "checkpoint.pt").exists()
    assert same(trained, train(told, tmp_path / "nli"))


def test_a_training_stopped_after_its_teacher_does_not_teach_it_again(
    told: dict[str, Any], trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoppedError):
        train(told, tmp_path / "nli", stop_at=2)
    monkeypatch.setattr(nli, "taught", lambda *_: pytest.fail("the teacher has answered"))
    assert same(trained, train(told, tmp_path / "nli"))


def test_a_teacher_with_other_word_pieces_is_refused(
    told: dict[str, Any], foreign: Path, tmp_path: Path
) -> None:
    teacher = told["teacher"] | {"encoder": str(foreign)}
    with pytest.raises(ModelError, match="cannot teach: it has other word pieces"):
        train(told | {"teacher": teacher, "least_pieces": None}, tmp_path / "nli")


def test_a_teacher_is_known_by_its_content_and_not_by_its_place(
    told: dict[str, Any], large: Path, foreign: Path
) -> None:
    request = nli_request(NliSettings.model_validate(told))
    assert str(large.parent) not in json.dumps(request)
    assert request["teacher"]["name"] == large.name
    teacher = told["teacher"] | {"encoder": str(foreign)}
    assert nli_request(NliSettings.model_validate(told | {"teacher": teacher})) != request


@pytest.mark.parametrize(("missing", "of"), [("ontology", "names"), ("reports", "companions")])
def test_pairs_need_the_files_that_they_are_made_from(
    told: dict[str, Any], tmp_path: Path, missing: str, of: str
) -> None:
    yaml = pytest.importorskip("yaml")
    file = tmp_path / "nli.yaml"
    file.write_text(yaml.safe_dump({k: v for k, v in told.items() if k != missing}), "utf-8")
    with pytest.raises(SettingError, match=f"pairs.{of} are made from `{missing}`"):
        read_settings(file, NliSettings)
