"""Correlation, resampling, significance tests and rater statistics, as pure functions."""
