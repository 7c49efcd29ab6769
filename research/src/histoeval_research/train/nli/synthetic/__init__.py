"""Synthetic NLI pairs, generated from word lists."""
