"""Training of the reader (entities, assertions, relations)."""
