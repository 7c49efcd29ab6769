"""Trust in a terminal: what the images of the least trusted reports say."""

from typing import Any

from histoeval.pathgls.policy.policy import DIMENSIONS
from histoeval.pathgls.results import Grounding
from histoeval.run.trust.rows import TrustRow
from histoeval.table import ResultTable
from histoeval.view.terminal.trust import MAX_CLAIMS, trust_tables
from tests.support.groundings import judged_grounding


def tables(*groundings: Grounding | None) -> dict[str, ResultTable]:
    none: dict[str, Any] = {"mean": None, "known": 0, "missing": 1}
    summary = {
        "input": {"name": "reports.csv"},
        "rows": len(groundings),
        "policy": {"weights": dict.fromkeys(DIMENSIONS, 0.3)},
        "means": dict.fromkeys((*DIMENSIONS, "trust"), none),
        "routes": {"review": len(groundings)},
    }
    bounds = {"trust": {"low": 0.2, "high": 0.8}}
    rows = [
        TrustRow(
            id=f"case\n{number}",
            row=number,
            route="review",
            evidence=bounds
            if grounding is None
            else {**bounds, "grounding": grounding.model_dump(mode="json")},
        )
        for number, grounding in enumerate(groundings)
    ]
    return {table.title: table for table in trust_tables(summary, rows)}


def test_verdict_organ_and_every_claim_are_shown() -> None:
    found = tables(judged_grounding(), None)
    (image,) = found["What their images say"].rows
    assert image == (
        "case 0",
        "contradicted",
        "prostate (84% of patches)",
        "the tissue looks like prostate & not like colon",
    )
    claims = found["Their claims"].rows
    assert [row[2] for row in claims] == ["supported", "contradicted", "not known", "no verdict"]
    assert claims[0][3:] == ("120 of 337", "renal tubules", "the tissue looks like prostate")
    assert not any("0.314" in cell for row in claims for cell in map(str, row))


def test_many_claims_are_cut_and_the_title_says_so() -> None:
    found = tables(*[judged_grounding()] * MAX_CLAIMS)
    cut = found[f"Their claims, the first {MAX_CLAIMS} of {4 * MAX_CLAIMS}"]
    assert len(cut.rows) == MAX_CLAIMS


def test_without_grounding_there_are_no_such_tables() -> None:
    assert "What their images say" not in tables(None)
