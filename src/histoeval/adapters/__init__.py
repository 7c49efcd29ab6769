"""Metrics and runs inside other tools: evaluate, torchmetrics, inspect_ai, MLflow, W&B, pandas.

Each module imports its tool, and is imported by whoever uses that tool; `import histoeval` imports
none of them.
"""

from importlib import import_module
from typing import Any

from histoeval.errors import MissingDependency, pip_install


def imported(package: str, extra: str) -> Any:
    """Import the package of an adapter, or say how to install it."""
    try:
        return import_module(package)
    except ImportError as error:
        way = pip_install(extra)
        raise MissingDependency(f"this adapter needs {package}: {way} ({error})") from error
