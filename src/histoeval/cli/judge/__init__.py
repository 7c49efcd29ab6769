"""`histoeval judge`."""
