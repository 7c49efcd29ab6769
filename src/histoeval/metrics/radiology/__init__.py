"""Metrics in the manner of radiology's: errors by severity (CRIMSON), statements (RadFact)."""
