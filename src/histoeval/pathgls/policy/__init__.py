"""The policy: weights and thresholds that route a report, and tuning them."""
