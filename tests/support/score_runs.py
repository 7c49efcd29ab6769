"""Finished score runs with typed errors, made in no time by a metric that is told what to find."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from histoeval import Metric, Pair, Score, Signature, score
from histoeval.metrics.base import MetricBase

HOSTILE = "</script><script>alert(1)</script> \x1b[31m \u202e {{ 7 * 7 }}"

CASES = {
    "breast-1": ("Left breast: carcinoma, grade 2.", "Right breast: carcinoma, grade 3."),
    "colon-1": ("Colon: tubular adenoma.", "Colon: tubular adenoma."),
    "skin-1": ("Skin: melanoma. Ulceration is seen.", "Skin: melanoma. Margins are free."),
    "odd-1": (f"Skin: naevus {HOSTILE}", f"Skin: naevus {HOSTILE} =1+1"),
}
ERRORS = (
    ("wrong_laterality", 4, "Left", "Right"),
    ("wrong_grade", 3, "grade 2", "grade 3"),
    ("omission", 2, "Ulceration", None),
    ("invention", 1, None, "Margins"),
)
MATCHES = ("carcinoma", "adenoma", "melanoma", "naevus")


class Marking(MetricBase):
    """Finds the errors and matches above, wherever their words stand."""

    name = "marking"
    range = (0.0, 1.0)

    @property
    def signature(self) -> Signature:
        return Signature(metric="marking", settings={"kept": "yes"}, bounds=(0.0, 1.0))

    def score(self, pairs: Sequence[Pair]) -> list[Any]:
        return [self._score(pair) for pair in pairs]

    def _score(self, pair: Pair) -> Score:
        errors = [
            {
                "kind": kind,
                "part": "findings",
                "severity": severity,
                "reference": entity(pair.reference, one),
                "candidate": entity(pair.candidate, other),
                "message": f"{kind.replace('_', ' ')}: {other!r} for {one!r}",
            }
            for kind, severity, one, other in ERRORS
            if (one is None or one in pair.reference) and (other is None or other in pair.candidate)
        ]
        matches = [
            {
                "part": "diagnosis",
                "reference": entity(pair.reference, word),
                "candidate": entity(pair.candidate, word),
                "similarity": 1.0,
            }
            for word in MATCHES
            if word in pair.reference and word in pair.candidate
        ]
        return Score(
            value=1 - 0.25 * len(errors),
            parts={"findings": 0.5},
            evidence={"matches": matches, "errors": errors},
            signature=self.signature,
        )


def entity(text: str, words: str | None) -> dict[str, Any] | None:
    """The first place of some words, as evidence names it."""
    if words is None:
        return None
    start = text.index(words)
    return {"text": words, "start": start, "end": start + len(words), "type": "finding"}


def make_score_run(folder: Path, *metrics: str | Metric, copies: int = 1) -> Path:
    """A finished run of two systems, the second of which writes the reference; one row is blank."""
    records = [
        {"id": f"{name}{'' if not n else f'-{n}'}", "reference": one, "a": other, "b": one}
        for n in range(copies)
        for name, (one, other) in CASES.items()
    ]
    records.append({"id": "blank", "reference": "Colon: adenoma.", "a": "", "b": "Colon."})
    score(
        records,
        metrics=metrics or (Marking(), "bleu"),
        candidate=("a", "b"),
        output=folder,
    )
    return folder
