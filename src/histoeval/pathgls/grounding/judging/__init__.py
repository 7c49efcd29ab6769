"""From scores to verdicts: limits, how tissue behaves, and the rules for claims and reports."""
