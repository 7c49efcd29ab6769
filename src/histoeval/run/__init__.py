"""Execution of work: blocks, resuming, totals."""
