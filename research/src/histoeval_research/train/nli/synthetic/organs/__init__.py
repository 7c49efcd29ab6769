"""Synthetic NLI pairs about single organs."""
