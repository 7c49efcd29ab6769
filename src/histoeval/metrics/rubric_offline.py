"""The rubric's four criteria without a language model: the same columns that a judge gives."""

from pydantic.dataclasses import dataclass

from histoeval.concordance.evidence import evidence_of
from histoeval.concordance.rubric import CRITERIA, judge, overall, reasoning
from histoeval.metric import PartCost, Score
from histoeval.metrics.concordance import Concordance, ReportComparison, weights


@dataclass(frozen=True)
class RubricOffline(Concordance):
    """Pairs are compared as concordance does, and each comparison judged by four criteria.

    They are in `parts`, their mean on a scale from 0 to 1 is the value, and `evidence` says why.
    """

    def score_compared(self, compared: ReportComparison) -> Score:
        """The criteria of one pair."""
        parts = list(compared.parts.values())
        scores = judge(weights().criteria, compared.values, parts)
        return Score(
            value=overall(scores),
            parts={name: float(score) for name, score in scores.items()},
            evidence={"reasoning": reasoning(scores, parts)} | evidence_of(parts),
            signature=self.signature,
        )

    def breakdown(self, compared: ReportComparison) -> list[PartCost]:
        """What each criterion takes off: a quarter of what it lacks of its highest score."""
        scores = judge(weights().criteria, compared.values, compared.parts.values())
        share = 1 / len(CRITERIA)
        return [
            PartCost(part=name, value=scores[name], weight=share, cost=share * lack)
            for name, top in CRITERIA.items()
            if (lack := (top - scores[name]) / (top - 1)) > 0
        ]
