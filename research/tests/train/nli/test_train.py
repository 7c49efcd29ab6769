"""Training an NLI model from files of pairs, with a teacher and without, to the finished folder."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch")
import yaml

from benchmarks.random_models import ModelFolders, Shape, make_models
from histoeval.cli.main import app
from histoeval.errors import ModelError, SettingError
from histoeval.io.settings_files import read_settings
from histoeval.nli.builtin import BuiltinEntailer
from histoeval.nli.entailer import Entailment, NliPair, probabilities
from histoeval_research.train.core.loop import TrainingSite
from histoeval_research.train.nli import train as nli
from histoeval_research.train.nli.config import NliSettings
from histoeval_research.train.nli.tokens import (
    NO_CONTRADICTION,
    NO_ENTAILMENT,
    UNKNOWN,
    EncodedPairs,
)
from histoeval_research.train.nli.train import (
    CrossEncoder,
    answers_of,
    fit_reranker,
    nli_request,
    pair_loss,
    train_nli,
)
from tests.support.report_words import WORDS

pytestmark = pytest.mark.heavy

SHARES = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]


def far(one: list[float], other: list[float]) -> float:
    return float(sum(p * np.log(p / q) for p, q in zip(one, other, strict=True)))


@pytest.mark.parametrize(
    ("labels", "answers", "share", "expected"),
    [
        ([0, 1], None, 0.0, -(np.log(0.7) + np.log(0.3)) / 2),
        ([NO_CONTRADICTION], None, 0.0, -np.log(0.9)),
        ([0, NO_CONTRADICTION], None, 0.0, -(np.log(0.7) + np.log(0.4)) / 2),
        ([NO_ENTAILMENT], None, 0.0, -np.log(0.3)),
        ([UNKNOWN], None, 0.0, 0.0),
        ([0], SHARES[0], 0.7, -0.3 * np.log(0.7)),
        ([0], SHARES[1], 1.0, far(SHARES[1], SHARES[0])),
        ([UNKNOWN], SHARES[1], 0.2, far(SHARES[1], SHARES[0])),
        ([NO_CONTRADICTION], SHARES[0], 0.2, -0.8 * np.log(0.9)),
    ],
)
def test_what_is_known_of_a_pair_is_learned_and_a_teacher_weighs_its_share(
    labels: list[int], answers: list[float] | None, share: float, expected: float
) -> None:
    """Of a network that gives the shares; of an unknown label only the teacher is heard."""
    logits = torch.tensor(SHARES[: len(labels)]).log()
    said = None if answers is None else torch.tensor([answers]).log()
    assert float(pair_loss(logits, torch.tensor(labels), said, share)) == pytest.approx(expected)


def test_a_network_that_is_sure_of_a_contradiction_still_learns_that_there_is_none() -> None:
    logits = torch.tensor([[0.0, 0.0, 40.0]], requires_grad=True)
    pair_loss(logits, torch.tensor([NO_CONTRADICTION]), None, 0.0).backward()
    assert logits.grad is not None
    assert float(logits.grad[0, 2]) == pytest.approx(1, abs=1e-3)


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
    assert answers_of(model, encoded, "cpu", 9) == pytest.approx(rows.log_softmax(-1).numpy())


class WrittenError(Exception):
    """The model is trained, and what follows is not of interest."""


class Trained(NamedTuple):
    weights: dict[str, Any]
    losses: list[float]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = Shape(hidden=48, layers=2, heads=2, seed=7)
    return make_models(tmp_path_factory.mktemp("large"), [" ".join(WORDS)] * 3, shape).aligner


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    files: dict[str, list[Any]] = {"general": general, "written": general, "names": names}
    files["reports"] = [{"text": text}]
    for name, rows in files.items():
        content = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(content, "utf-8")
    return {
        "general": str(folder / "general.jsonl"),
        "test": str(folder / "written.jsonl"),
        "ontology": str(folder / "names.jsonl"),
        "reports": [str(folder / "reports.jsonl")],
        "encoder": str(tiny_models.aligner),
        "teacher": {"encoder": str(large), "epochs": 2, "batch": 16, "mixed": 20},
        "pairs": {"count": 12, "rest": 6, "names": 10, "companions": 8, "dev": 3},
        "tokens": 48,
        "least_pieces": 1,
        "learning": {"epochs": 2, "batch": 16},
        "notes": "Of our own | writing.",
    }


def train(told: dict[str, Any], output: Path, stop_at: int | None = None) -> Trained:
    """Train up to the weights, or to the report of so many before it is stopped."""
    losses: list[float] = []
    weights: dict[str, Any] = {}

    def watch(step: int, steps: int, loss: float) -> None:
        losses.append(loss)
        if len(losses) == stop_at:
            raise KeyboardInterrupt(f"{step} of {steps}")

    def write(model: CrossEncoder, *_: Any) -> None:
        weights.update({name: each.clone() for name, each in model.state_dict().items()})
        raise WrittenError

    site = TrainingSite("cpu", watching=lambda _: nullcontext(watch))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(nli, "write", write)
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


@pytest.mark.parametrize("epoch", [1, 2])
def test_a_training_stopped_under_its_teacher_or_after_it_resumes_there(
    told: dict[str, Any],
    trained: Trained,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    epoch: int,
) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(told, tmp_path / "nli", stop_at=epoch)
    assert (tmp_path / "nli" / "checkpoint.pt").exists()
    if epoch == 2:
        monkeypatch.setattr(nli, "taught", lambda *_: pytest.fail("the teacher has answered"))
    assert same(trained, train(told, tmp_path / "nli"))


@pytest.fixture(scope="module")
def folder(told: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("written") / "nli"
    train_nli(NliSettings.model_validate(told), output, TrainingSite("cpu"))
    return output


def test_the_folder_is_whole_and_says_what_it_is(folder: Path) -> None:
    results = json.loads((folder / "results.json").read_text("utf-8"))
    ours = {"encoder.onnx", "tokenizer.json", "nli.json", "results.json", "README.md"}
    assert {file.name for file in folder.iterdir()} == ours
    assert results["samples"]["pairs"] == 8 + 12 + 6 + 10
    assert set(results["scores"]) == {"SNLI test", "made pairs", "written pairs"}
    assert results["scores"]["SNLI test"]["whole"]["pairs"] == 4
    text = (folder / "README.md").read_text("utf-8")
    for words in (
        "Of our own | writing.",
        "learning.rate",
        "figures on made pairs below are of what was learned",
        "the answers of a teacher built on `aligner`",
        "weighs 0.5 of the loss (20 pairs of a premise",
        "8 pairs of sentences of one true report",
    ):
        assert words in text
    assert str(folder.parent) not in text + json.dumps(results), "no word on where files lie"
    (judged,) = BuiltinEntailer(folder).judge([NliPair("left lung", "right lung")])
    assert sum(judged) == pytest.approx(1)


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
    file = tmp_path / "nli.yaml"
    file.write_text(yaml.safe_dump({k: v for k, v in told.items() if k != missing}), "utf-8")
    with pytest.raises(SettingError, match=f"pairs.{of} are made from `{missing}`"):
        read_settings(file, NliSettings)


def test_the_command_finds_a_finished_training_and_measures_a_model(
    told: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "TERM": "dumb"})
        assert done.exit_code == 0, done.output
        return done.output

    config, figures = tmp_path / "nli.yaml", tmp_path / "figures.json"
    config.write_text(yaml.safe_dump(told), "utf-8")
    again = run("train", "nli", str(config), "--output", str(folder))
    assert "was finished before" in again
    files = ["--general", told["general"], "--pairs", told["test"], "--output", str(figures)]
    assert "calibration error" in run("evaluate", "nli", "--model", str(folder), *files)
    assert json.loads(figures.read_text("utf-8"))["SNLI test"]["whole"]["pairs"] == 4


KNOWN = [
    ("CD3 is positive.", "CD3 is negative.", "contradiction"),
    ("CD20 is positive.", "No CD20 expression.", "contradiction"),
    ("Desmin is negative.", "The cells express desmin.", "contradiction"),
    ("CD3 is positive.", "CD10 is negative.", "neutral"),
    ("CD20 is positive.", "Desmin is positive.", "neutral"),
    ("Desmin is negative.", "CD34 is positive.", "neutral"),
    ("CD3 is positive.", "The cells express CD3.", "entailment"),
    ("CD20 is positive.", "CD20 (+).", "entailment"),
    ("Desmin is negative.", "No staining for desmin.", "entailment"),
]


class Unsure:
    identity = "unsure"

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        return [Entailment(1 / 3, 1 / 3, 1 / 3) for _ in pairs]


def test_of_a_network_that_knows_nothing_terms_say_the_rest() -> None:
    reranker = fit_reranker(Unsure(), KNOWN)  # type: ignore[arg-type]
    for premise, hypothesis, label in KNOWN:
        heard = reranker.reranked(np.zeros(3), premise, hypothesis)
        assert probabilities(heard).label == label
    assert reranker == fit_reranker(Unsure(), KNOWN)  # type: ignore[arg-type]
