"""Training of the grounding encoder (image and text towers)."""
