"""The measured quality of the models. Needs no torch."""
