"""`histoeval challenge` and its verbs."""
