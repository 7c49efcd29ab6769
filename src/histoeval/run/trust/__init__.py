"""The trust verb: many cases, resumable."""
