"""Similarity of entities."""
