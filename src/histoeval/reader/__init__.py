"""Sections, sentences and windows of a text, and the readers of what it says."""
