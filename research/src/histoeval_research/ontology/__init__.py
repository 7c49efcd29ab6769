"""Ontology files: OBO and MRCONSO."""
