"""The training bench: corpora, and one file per model that is trained from them."""
