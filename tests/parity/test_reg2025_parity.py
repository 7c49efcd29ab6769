"""The literal parts of the REG2025 score against 81 pairs that a third party has scored."""

import json

import pytest

from histoeval.metrics.reg2025 import literal_bleu4
from histoeval.metrics.rouge import subsequence_shares
from tests.support.paths import SHARED

SCORED = SHARED / "data" / "reg_systems" / "reg_scored_81.json"

pytestmark = pytest.mark.skipif(not SCORED.exists(), reason="the scored pairs are not here")


def test_rouge_l_and_bleu_4_are_equal_to_the_last_digits() -> None:
    rows = json.loads(SCORED.read_text("utf-8"))
    assert len(rows) == 81
    for row in rows:
        reference, candidate = row["ground_truth_report"], row["predicted_report"]
        words = (text.lower().split() for text in (reference, candidate))
        assert subsequence_shares(*words)[2] == pytest.approx(row["scores"]["rouge"], abs=1e-12)
        bleu = literal_bleu4(reference, candidate)
        assert bleu == pytest.approx(row["scores"]["bleu"], abs=1e-12)
