"""Fits the re-ranker: a logistic model over a network's answers and features of terms.

It is fitted on pairs written by language models that the network has not learned from
(`unlearned.toml`, and two of the writers of `llm_written.jsonl`), so that it sees how sure the
network is of what it does not know. Where terms are decisive (a size within a bound, a marker with
the opposite result), the weights are drawn towards that; all others are drawn towards nothing.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.nli.builtin import Floats, Reranker
from histoeval.nli.entailer import LABELS, Entailer, Label, NliPair
from histoeval.nli.features.extract import extract_features, feature_names
from histoeval.resources import load_toml
from histoeval_research.train.nli.data import DATA
from histoeval_research.train.nli.pairs import kept_back_pairs

Labelled = tuple[str, str, Label]
_PENALTY = 0.7
_BIAS_PENALTY = 0.2
_SURE = 2.5
_SURE_OF = {"sure_same": 0, "sure_other": 2, "sure_open": 1, "sure_apart": 1, "sure_home": 1}
_DIGITS = 3
_LEAST = 1e-9


def unlearned_pairs() -> Iterator[Labelled]:
    """The written pairs that no network learns from."""
    for row in load_toml(f"{DATA}/unlearned.toml")["written"]:
        for label in LABELS:
            yield from ((row["premise"], text, label) for text in row.get(label, ()))
    yield from ((pair.premise, pair.hypothesis, pair.label) for pair in kept_back_pairs())


def fit_opinion(network: Entailer, pairs: Sequence[Labelled]) -> Reranker:
    """The weights under which the labels of the pairs are likeliest, held near what is expected."""
    seen = [extract_features(premise, hypothesis) for premise, hypothesis, _ in pairs]
    rated = [place for place, each in enumerate(seen) if each is not None]
    answers = network.judge([NliPair(*pairs[place][:2]) for place in rated])
    rows = np.array([[(seen[place] or {})[name] for name in feature_names()] for place in rated])
    shares = np.log(np.maximum(np.array(answers, np.float64), _LEAST))
    labels = np.array([LABELS.index(pairs[place][2]) for place in rated])
    scale, weights, bias = _fit(shares, rows, labels)
    return Reranker(
        weights={
            name: _three(weights[at]) for at, name in enumerate(feature_names()) if any(weights[at])
        },
        bias=_three(bias),
        network=round(scale, _DIGITS),
    )


def _three(values: Floats) -> tuple[float, float, float]:
    first, second, third = (round(float(value), _DIGITS) for value in values)
    return first, second, third


def _expected() -> Floats:
    """What the weights are drawn towards."""
    weights = np.zeros((len(feature_names()), len(LABELS)))
    for name, label in _SURE_OF.items():
        weights[feature_names().index(name)] = -_SURE / 2
        weights[feature_names().index(name), label] = _SURE
    return weights


def _fit(shares: Floats, rows: Floats, labels: NDArray[np.int64]) -> tuple[float, Floats, Floats]:
    """The weight of the network, those of what terms say, and the bias."""
    from scipy.optimize import minimize

    expected, kinds = _expected(), rows.shape[1]
    wanted = np.eye(len(LABELS))[labels]

    def cost(flat: Floats) -> tuple[float, Floats]:
        scale, weights, bias = flat[0], flat[1:-3].reshape(kinds, -1), flat[-3:]
        logits = scale * shares + rows @ weights + bias
        logits -= logits.max(1, keepdims=True)
        given = np.exp(logits)
        given /= given.sum(1, keepdims=True)
        unlikely = -np.log(given[np.arange(len(labels)), labels] + _LEAST).sum()
        away = weights - expected
        price = _PENALTY * (away**2).sum() + _BIAS_PENALTY * (bias**2).sum()
        wrong: Any = given - wanted
        slope = rows.T @ wrong + 2 * _PENALTY * away
        slopes = [[(wrong * shares).sum()], slope.ravel(), wrong.sum(0) + 2 * _BIAS_PENALTY * bias]
        return float(unlikely + price), np.concatenate(slopes)

    start = np.concatenate([[1.0], expected.ravel(), np.zeros(3)])
    found = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    return float(found[0]), found[1:-3].reshape(kinds, -1), found[-3:]
