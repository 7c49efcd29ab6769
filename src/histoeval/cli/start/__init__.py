"""`histoeval demo` and `histoeval quickstart`."""
