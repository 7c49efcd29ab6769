"""`histoeval evaluate`."""
