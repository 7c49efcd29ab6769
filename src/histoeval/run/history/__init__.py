"""Runs that were made before: found, shown, compared, and removed when their time is over."""
