"""The rubric's four criteria without a language model: the same columns that a judge gives."""

from functools import cached_property

from pydantic.dataclasses import dataclass

from histoeval.concordance.evidence import evidence_of
from histoeval.concordance.rubric import CRITERIA, judge, overall, reasoning
from histoeval.judges.alignment import Alignment, read_alignment
from histoeval.metric import PartCost, Score
from histoeval.metrics.concordance import Concordance, ReportComparison, weights


@dataclass(frozen=True)
class RubricOffline(Concordance):
    """Pairs are compared as concordance does, and each comparison judged by four criteria.

    They are in `parts`, their mean on a scale from 0 to 1 is the value, and `evidence` says why.
    """

    alignment: str = ""
    """A file of `histoeval judge align`; the scores as they are stay beside the aligned ones."""

    def __post_init__(self) -> None:
        """Report an alignment that cannot be used before work begins."""
        if self.aligned is not None:
            self.aligned.demand_fit("rubric_offline")

    @cached_property
    def aligned(self) -> Alignment | None:
        """The alignment itself, where one is named."""
        return read_alignment(self.alignment) if self.alignment else None

    @property
    def unsigned(self) -> frozenset[str]:
        """An alignment is signed by its content."""
        return super().unsigned | {"alignment"}

    def fingerprint(self) -> dict[str, str]:
        """What concordance depends on, and the alignment."""
        own = {} if self.aligned is None else {"alignment": self.aligned.identity}
        return super().fingerprint() | own

    def score_compared(self, compared: ReportComparison) -> Score:
        """The criteria of one pair."""
        parts = list(compared.parts.values())
        scores = judge(weights().criteria, compared.values, parts)
        score = Score(
            value=overall(scores),
            parts={name: float(score) for name, score in scores.items()},
            evidence={"reasoning": reasoning(scores, parts)} | evidence_of(parts),
            signature=self.signature,
        )
        return score if self.aligned is None else self.aligned.applied(score)

    def breakdown(self, compared: ReportComparison) -> list[PartCost]:
        """What each criterion takes off: a quarter of what it lacks of its highest score."""
        scores = judge(weights().criteria, compared.values, compared.parts.values())
        share = 1 / len(CRITERIA)
        return [
            PartCost(part=name, value=scores[name], weight=share, cost=share * lack)
            for name, top in CRITERIA.items()
            if (lack := (top - scores[name]) / (top - 1)) > 0
        ]
