"""Markers that a text states, with their results, and what they decide."""
