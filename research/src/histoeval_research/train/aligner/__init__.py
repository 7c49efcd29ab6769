"""Training of the aligner (phrase embeddings)."""
