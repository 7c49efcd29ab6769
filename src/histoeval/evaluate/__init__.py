"""How good are the models? Needs no torch."""
