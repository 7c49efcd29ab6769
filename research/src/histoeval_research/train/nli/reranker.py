"""Fits the re-ranker: a logistic model over a network's answers and features of terms.

It is fitted on pairs written by language models that the network has not learned from
(`unlearned.toml`, and two of the writers of `llm_written.jsonl`), so that it sees how sure the
network is of what it does not know. Where terms are decisive (a size within a bound, a marker with
the opposite result), the weights are drawn towards that; all others are drawn towards nothing.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from histoeval.nli.builtin import BuiltinEntailer, EntailerManifest, Floats, Reranker
from histoeval.nli.entailer import LABELS, Entailer, Label, NliPair
from histoeval.nli.features.extract import extract_features, feature_names
from histoeval.resources import load_toml
from histoeval_research.train.nli.pairs import DATA, kept_back_pairs

Labelled = tuple[str, str, Label]
_PENALTY = 0.7
_BIAS_PENALTY = 0.2
_SURE = 2.5
_SURE_OF = {"sure_same": 0, "sure_other": 2, "sure_open": 1, "sure_apart": 1, "sure_home": 1}
_DIGITS = 3
_LEAST = 1e-9


def add_reranker(folder: Path) -> None:
    manifest = EntailerManifest.read(folder).model_copy(update={"opinion": None})
    manifest.write(folder)
    reranker = fit_reranker(BuiltinEntailer(folder), list(unlearned_pairs()))
    manifest.model_copy(update={"opinion": reranker}).write(folder)


def unlearned_pairs() -> Iterator[Labelled]:
    for row in load_toml(f"{DATA}/unlearned.toml")["written"]:
        for label in LABELS:
            yield from ((row["premise"], text, label) for text in row.get(label, ()))
    for pair in kept_back_pairs():
        yield pair.premise, pair.hypothesis, pair.label


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

    def parted(flat: Floats) -> tuple[float, Floats, Floats]:
        return float(flat[0]), flat[1:-3].reshape(len(names), -1), flat[-3:]

    def cost(flat: Floats) -> tuple[float, Floats]:
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

    start = np.concatenate([[1.0], expected.ravel(), np.zeros(3)])
    fitted = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    scale, weights, bias = parted(fitted)
    return Reranker(
        weights={name: _three(row) for name, row in zip(names, weights, strict=True) if any(row)},
        bias=_three(bias),
        network=round(scale, _DIGITS),
    )


def _three(values: Floats) -> tuple[float, float, float]:
    first, second, third = (round(float(value), _DIGITS) for value in values)
    return first, second, third
