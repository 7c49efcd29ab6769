"""`histoeval trust`."""
