"""Experiments on metrics: sensitivity, error hierarchy, perturbed reports."""
