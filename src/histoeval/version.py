"""The version, in the one place that packaging and signatures read."""

__version__ = "0.1.0"
