"""`histoeval train nli`: a cross-encoder that tells entailment, neutral and contradiction."""

from collections.abc import Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from histoeval.errors import ModelError
from histoeval.nli.builtin import BuiltinEntailer, EntailerManifest, Reranker, limits_of
from histoeval.nli.entailer import LABELS, Entailer, LabelledPair, NliPair
from histoeval.nli.features.extract import extract_features, feature_names
from histoeval.reader.manifest import ENCODER
from histoeval_research.evaluate.nli import evaluate_nli
from histoeval_research.train.cards import card
from histoeval_research.train.core.encoder import TorchEncoder, cut_vocabulary, load_encoder
from histoeval_research.train.core.loop import (
    THIS_MACHINE,
    Checkpoint,
    Schedule,
    TrainingSite,
    TrainingStage,
    fit,
)
from histoeval_research.train.core.model_folder import (
    ModelFolder,
    by_name,
    encoder_name,
    request_of,
    versions,
    weights_of,
)
from histoeval_research.train.core.onnx_int8 import Unpadded, token_part, write_parts
from histoeval_research.train.nli.config import NliSettings, NliTeacher
from histoeval_research.train.nli.pairs import (
    BY_HAND,
    MADE,
    Labelled,
    made_pairs,
    negation_pairs,
    pairs_sha256,
    read_pairs,
    split_general,
    unlearned_pairs,
    written_statements,
)
from histoeval_research.train.nli.report_pairs import (
    changed_pairs,
    companion_pairs,
    ontology_pairs,
    reports_of,
    stranger_pairs,
)
from histoeval_research.train.nli.tokens import (
    NO_CONTRADICTION,
    NO_ENTAILMENT,
    UNKNOWN,
    EncodedPairs,
    encode_pairs,
    mixed_pairs,
)

ANSWERS = 3

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

_SPECIAL = {"[CLS]": "cls_token_id", "[SEP]": "sep_token_id", "[PAD]": "pad_token_id"}
_MOST_MISSING = 0.1  # share of the word pieces that a teacher may not have
_ANSWERED_AT_ONCE = 512


class CrossEncoder(nn.Module):  # type: ignore[misc]
    """An encoder with a small head on its first token and the mean of all."""

    def __init__(self, encoder: Any, dropout: float = 0.1) -> None:
        super().__init__()
        size = int(encoder.config.hidden_size)
        self.encoder = encoder
        self.tells_kinds = "token_type_ids" in signature(encoder.forward).parameters
        self.head = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(2 * size, size),
            nn.Tanh(),
            nn.Dropout(dropout),
            nn.Linear(size, ANSWERS),
        )

    def forward(self, tokens: Tensor, kinds: Tensor, mask: Tensor) -> Tensor:
        """Entailment, neutral, contradiction: a row of logits for each row of tokens."""
        more = {"token_type_ids": kinds} if self.tells_kinds else {}
        states = self.encoder(input_ids=tokens, attention_mask=mask, **more).last_hidden_state
        weights = mask.unsqueeze(-1).to(states.dtype)
        mean = (states * weights).sum(dim=1) / weights.sum(dim=1)
        return self.head(torch.cat([states[:, 0], mean], dim=-1)).float()


def pair_loss(logits: Tensor, labels: Tensor, answers: Tensor | None, share: float) -> Tensor:
    """The loss of a batch, with labels that are known, that are known not to be one, or unknown."""
    # `answers` are a teacher's log probabilities, and weigh `share` of the whole; all of it where
    # nothing else is known. Without a teacher, nothing is learned from pairs of unknown label.
    spread = nn.functional.log_softmax(logits, dim=-1)
    right = spread.gather(1, labels.clamp(min=0)[:, None])[:, 0]
    no_contradiction = torch.logsumexp(spread[:, :2], dim=-1)
    no_entailment = torch.logsumexp(spread[:, 1:], dim=-1)
    loss = -torch.where(labels == NO_CONTRADICTION, no_contradiction, right)
    loss = torch.where(labels == NO_ENTAILMENT, -no_entailment, loss)
    loss = torch.where(labels == UNKNOWN, 0.0, loss)
    if answers is None:
        return loss.mean()
    far = (answers.exp() * (answers - spread)).sum(dim=-1)
    shares = torch.where(labels == UNKNOWN, 1.0, share)
    return ((1 - shares) * loss + shares * far).mean()


def learned(
    encoder: TorchEncoder,
    encoded: EncodedPairs,
    schedule: Schedule,
    seed: int,
    stage: TrainingStage,
    *,
    padding: int = 0,
    answers: Floats | None = None,
    share: float = 0.0,
) -> CrossEncoder:
    """Train a cross-encoder on pairs; those of unknown label only from a teacher's answers."""
    # They come last, and without answers they are not looked at.
    torch.manual_seed(seed)
    model = CrossEncoder(encoder.model).to(encoder.device)
    device = torch.device(encoder.device)

    def loss(positions: Sequence[int]) -> Tensor:
        rows = _rows(encoded, positions, encoder.device, padding)
        labels = torch.from_numpy(encoded.labels[list(positions)]).to(device)
        said = None
        if answers is not None:
            said = torch.from_numpy(answers[list(positions)]).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            logits = model(*rows)
        return pair_loss(logits, labels, said, share)

    count = int((encoded.labels != UNKNOWN).sum()) if answers is None else len(encoded)
    fit(model, count, loss, schedule, seed=seed, stage=stage)
    return model  # type: ignore[no-any-return]


def _rows(
    encoded: EncodedPairs, positions: Sequence[int], device: str, padding: int
) -> list[Tensor]:
    return [torch.from_numpy(part).to(device) for part in encoded.padded(positions, padding)]


def taught(
    settings: NliTeacher,
    encoded: EncodedPairs,
    tokenizer: Any,
    tokens: int,
    seed: int,
    device: str | None,
    stage: TrainingStage,
) -> Floats:
    """What a teacher says of every pair, once it has learned from those that have a label."""
    encoder = load_encoder(settings.encoder, tokens, device)
    every = encoded.translated(_pieces(tokenizer, encoder))
    model = learned(encoder, every, settings, seed, stage, padding=encoder.padding)
    return answers_of(model, every, encoder.device, encoder.padding)


def _pieces(tokenizer: Any, encoder: TorchEncoder) -> NDArray[np.uint16]:
    known = encoder.fast.get_vocab()
    special = {piece: getattr(encoder.tokenizer, name) for piece, name in _SPECIAL.items()}
    unknown = encoder.tokenizer.unk_token_id
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    numbers = [special.get(piece, known.get(piece, unknown)) for piece, _ in pieces]
    missing = numbers.count(unknown)
    if missing > _MOST_MISSING * len(numbers):
        raise ModelError(
            f"{encoder.name} cannot teach: it has other word pieces than the encoder "
            f"({missing:,} of {len(numbers):,} are unknown to it); take a teacher with the same "
            "vocabulary, as all-mpnet-base-v2 has for all-MiniLM-L6-v2"
        )
    return np.array(numbers, np.uint16)


def answers_of(model: CrossEncoder, encoded: EncodedPairs, device: str, padding: int) -> Floats:
    answers = np.zeros((len(encoded), ANSWERS), np.float32)
    order = np.argsort(encoded.lengths, kind="stable")
    kind = torch.device(device).type
    model.eval()
    with torch.no_grad(), torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
        for first in range(0, len(order), _ANSWERED_AT_ONCE):
            places = order[first : first + _ANSWERED_AT_ONCE]
            logits = model(*_rows(encoded, places.tolist(), device, padding))
            answers[places] = nn.functional.log_softmax(logits, dim=-1).float().cpu().numpy()
    return answers


def write_entailer(
    model: CrossEncoder, tokenizer: Any, folder: Path, *, name: str, tokens: int, details: Any
) -> EntailerManifest:
    """Write what `BuiltinEntailer` loads."""
    part = token_part(Unpadded(model), tokens, ["logits"], "kinds")
    files = write_parts(folder, {ENCODER: part}, tokenizer)
    manifest = limits_of(name, tokens).model_copy(update={"files": files, "details": details})
    manifest.write(folder)
    return manifest


class Material(NamedTuple):
    train: Sequence[LabelledPair]
    # Pairs of which only one thing is known: they do not contradict each other.
    companions: Sequence[NliPair]
    # Pairs of which it is only known that the premise does not entail the hypothesis.
    strangers: Sequence[NliPair]
    tests: dict[str, Sequence[LabelledPair]]


def train_nli(
    settings: NliSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train an NLI model and write its folder; the results, at once if it is there already."""
    request = nli_request(settings)
    seed, tokens, teacher = settings.seed, settings.tokens, settings.teacher

    def make(draft: Path, checkpoint: Checkpoint) -> dict[str, Any]:
        site.tell("making pairs")
        material = gather(settings)
        encoder = load_encoder(settings.encoder, tokens, site.device)
        texts = dict.fromkeys(t for pair in material.train for t in (pair.premise, pair.hypothesis))
        tokenizer = cut_vocabulary(encoder, texts, settings.least_pieces)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        limits = limits_of(settings.name, tokens)
        encoded = encode_pairs([*material.train, *material.companions], tokenizer, limits)
        if material.strangers:
            strangers = encode_pairs(material.strangers, tokenizer, limits, NO_ENTAILMENT)
            encoded = encoded.with_more(strangers)
        answers: Floats | None = None
        with site.watching("training the NLI model") as watch:
            if teacher is not None:
                site.tell("training the teacher")
                encoded = encoded.with_more(mixed_pairs(encoded, teacher.mixed, tokens, seed))
                stage = TrainingStage(checkpoint, watch, "teacher")
                ask = partial(taught, teacher, encoded, tokenizer, tokens, seed, site.device, stage)
                outcome = stage.once(lambda: {"answers": torch.from_numpy(ask())})
                answers = outcome["answers"].numpy()
                site.tell("training")
            model = learned(
                encoder,
                encoded,
                settings.learning,
                seed,
                TrainingStage(checkpoint, watch),
                answers=answers,
                share=teacher.share if teacher else 0.0,
            )
        site.tell("writing and measuring the model")
        return write(model, tokenizer, settings, request, material, draft)

    return ModelFolder(output).fill(request, make, partial(card, "nli"), overwrite=site.overwrite)


def nli_request(settings: NliSettings) -> dict[str, Any]:
    given = (settings.general, settings.negation, settings.test, settings.ontology)
    paths = ("general", "negation", "test", "ontology", "reports")
    hidden: dict[str, Any] = dict.fromkeys(paths, True)
    own: dict[str, Any] = {"lists": pairs_sha256()}
    if settings.teacher is not None:
        hidden["teacher"] = {"encoder"}
        own["teacher"] = encoder_name(settings.teacher.encoder)
    return request_of("nli", settings, by_name([*given, *settings.reports]), hidden, **own)


def gather(settings: NliSettings) -> Material:
    general = split_general(read_pairs(settings.general, "source"))
    made, seed = settings.pairs, settings.seed
    train = [*general.train, *made_pairs("train", made.count, seed)]
    train += made_pairs("rest", made.rest)
    train += made_pairs("organs", made.organs, seed)
    train += made_pairs("by_hand", made.by_hand * BY_HAND)
    train += made_pairs("edits", made.edits * MADE["edits"])
    train += made_pairs("statements", made.statements, seed)
    sources = *written_statements(), *map(reports_of, settings.reports)
    train += changed_pairs(sources, made.changed, seed)
    if settings.ontology is not None:
        train += ontology_pairs(settings.ontology, made.names, seed)
    if settings.negation is not None:
        train += negation_pairs(settings.negation)
    tests: dict[str, Sequence[LabelledPair]] = {
        "SNLI test": general.test,
        "made pairs": list(made_pairs("dev", made.dev)),
    }
    if made.organs:
        tests["pairs of other organs"] = list(made_pairs("organs_dev", made.dev))
    if settings.test is not None:
        tests["written pairs"] = read_pairs(settings.test)
    companions = list(companion_pairs(settings.reports, made.companions, seed))
    strangers = list(stranger_pairs(sources, made.strangers, seed))
    return Material(
        train, companions, strangers, {name: pairs for name, pairs in tests.items() if pairs}
    )


def write(
    model: CrossEncoder,
    tokenizer: Any,
    settings: NliSettings,
    request: dict[str, Any],
    material: Material,
    folder: Path,
) -> dict[str, Any]:
    made_with = versions()
    details = {"request": request, "versions": made_with}
    manifest = write_entailer(
        model, tokenizer, folder, name=settings.name, tokens=settings.tokens, details=details
    )
    if settings.second_opinion:
        reranker = fit_reranker(BuiltinEntailer(folder), list(unlearned_pairs()))
        manifest.model_copy(update={"opinion": reranker}).write(folder)
    entailer = BuiltinEntailer(folder)
    scores = {name: evaluate_nli(entailer, pairs) for name, pairs in material.tests.items()}
    return {
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "samples": {"pairs": len(material.train)},
        "scores": {name: evaluation.model_dump(mode="json") for name, evaluation in scores.items()},
        "weights": weights_of(folder),
        "versions": made_with,
    }


# --- the re-ranker ------------------------------------------------------------------------------
#
# A logistic model over a network's answers and features of terms. It is fitted on pairs written by
# language models that the network has not learned from (`unlearned.toml`, and two of the writers of
# `llm_written.jsonl`), so that it sees how sure the network is of what it does not know. Where
# terms are decisive (a size within a bound, a marker with the opposite result), the weights are
# drawn towards that; all others are drawn towards nothing.

_PENALTY = 0.7
_BIAS_PENALTY = 0.2
_SURE = 2.5
_SURE_OF = {"sure_same": 0, "sure_other": 2, "sure_open": 1, "sure_apart": 1, "sure_home": 1}
_DIGITS = 3
_LEAST = 1e-9


def fit_reranker(network: Entailer, pairs: Sequence[Labelled]) -> Reranker:
    """The weights under which the labels of the pairs are likeliest, held near what is expected."""
    from scipy.optimize import minimize

    names = feature_names()
    features = [extract_features(premise, hypothesis) for premise, hypothesis, _ in pairs]
    rated = [
        (pair, known) for pair, known in zip(pairs, features, strict=True) if known is not None
    ]
    answers = network.judge([NliPair(*pair[:2]) for pair, _ in rated])
    rows = np.array([[known[name] for name in names] for _, known in rated])
    shares = np.log(np.maximum(np.array(answers, np.float64), _LEAST))
    labels = np.array([LABELS.index(pair[2]) for pair, _ in rated])
    wanted = np.eye(len(LABELS))[labels]
    expected = np.zeros((len(names), len(LABELS)))
    for name, label in _SURE_OF.items():
        expected[names.index(name)] = -_SURE / 2
        expected[names.index(name), label] = _SURE

    def parted(flat: Doubles) -> tuple[float, Doubles, Doubles]:
        return float(flat[0]), flat[1:-3].reshape(len(names), -1), flat[-3:]

    def cost(flat: Doubles) -> tuple[float, Doubles]:
        scale, weights, bias = parted(flat)
        logits = scale * shares + rows @ weights + bias
        logits -= logits.max(1, keepdims=True)
        given = np.exp(logits)
        given /= given.sum(1, keepdims=True)
        unlikely = -np.log(given[np.arange(len(labels)), labels] + _LEAST).sum()
        away = weights - expected
        price = _PENALTY * (away**2).sum() + _BIAS_PENALTY * (bias**2).sum()
        wrong = given - wanted
        slope = rows.T @ wrong + 2 * _PENALTY * away
        slopes = [[(wrong * shares).sum()], slope.ravel(), wrong.sum(0) + 2 * _BIAS_PENALTY * bias]
        return float(unlikely + price), np.concatenate(slopes)

    def three(values: Doubles) -> tuple[float, float, float]:
        first, second, third = (round(float(value), _DIGITS) for value in values)
        return first, second, third

    start = np.concatenate([[1.0], expected.ravel(), np.zeros(3)])
    fitted = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    scale, weights, bias = parted(fitted)
    return Reranker(
        weights={name: three(row) for name, row in zip(names, weights, strict=True) if any(row)},
        bias=three(bias),
        network=round(scale, _DIGITS),
    )
