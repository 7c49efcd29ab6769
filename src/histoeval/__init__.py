"""HistoEval tells whether a machine-written histopathology report is right, and why.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from histoeval.version import __version__

if TYPE_CHECKING:
    from histoeval.errors import (
        EndpointError,
        HistoEvalError,
        InputError,
        MissingDependency,
        ModelError,
        OutputError,
        Problem,
        SettingError,
    )
    from histoeval.metric import Metric, Score, Signature
    from histoeval.metrics.registry import create, register
    from histoeval.report import Assertion, Entity, EntityType, Pair, Relation, Report
    from histoeval.run.ablate import ablate
    from histoeval.run.agree import agree
    from histoeval.run.compare import compare
    from histoeval.run.models import Models
    from histoeval.run.read_reports import read_reports
    from histoeval.run.results import Results
    from histoeval.run.scoring import score
    from histoeval.view.trust import trust_reports

__all__ = [
    "Assertion",
    "EndpointError",
    "Entity",
    "EntityType",
    "HistoEvalError",
    "InputError",
    "Metric",
    "MissingDependency",
    "ModelError",
    "Models",
    "OutputError",
    "Pair",
    "Problem",
    "Relation",
    "Report",
    "Results",
    "Score",
    "SettingError",
    "Signature",
    "__version__",
    "ablate",
    "agree",
    "compare",
    "create",
    "read_reports",
    "register",
    "score",
    "trust_reports",
]

_HOMES = {
    "histoeval.errors": (
        "EndpointError",
        "HistoEvalError",
        "InputError",
        "MissingDependency",
        "ModelError",
        "OutputError",
        "Problem",
        "SettingError",
    ),
    "histoeval.report": ("Assertion", "Entity", "EntityType", "Pair", "Relation", "Report"),
    "histoeval.run.results": ("Results",),
    "histoeval.run.ablate": ("ablate",),
    "histoeval.run.agree": ("agree",),
    "histoeval.run.compare": ("compare",),
    "histoeval.run.models": ("Models",),
    "histoeval.run.read_reports": ("read_reports",),
    "histoeval.view.trust": ("trust_reports",),
    "histoeval.metric": ("Metric", "Score", "Signature"),
    "histoeval.metrics.registry": ("create", "register"),
}


class _Package(ModuleType):
    """Keeps `histoeval.score` the function after the module of that name has been imported."""

    @property
    def score(self) -> Any:
        """What is called to score pairs; loaded when it is first asked for."""
        return import_module("histoeval.run.scoring").score

    @score.setter
    def score(self, module: ModuleType) -> None:
        """Python binds a submodule to its package here; it stays reachable by import."""

    def __dir__(self) -> list[str]:
        return __all__

    def __getattr__(self, name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(home), name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


sys.modules[__name__].__class__ = _Package
