"""`histoeval experiment`."""
