"""Training of the NLI model."""
