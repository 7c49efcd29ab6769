"""The HARE paper's training bench: NER and relation models of any encoder."""
