"""Figures and pictures; needs the extra [figures]."""
