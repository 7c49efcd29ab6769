"""HistoEval tells whether a machine-written histopathology report is right, and why."""

from histoeval.errors import (
    HistoEvalError,
    InputError,
    MissingDependency,
    ModelError,
    OutputError,
    Problem,
    SettingError,
)
from histoeval.report import Assertion, Entity, EntityType, Pair, Relation, Report
from histoeval.score import Metric, Score, Signature, create, register
from histoeval.version import __version__

__all__ = [
    "Assertion",
    "Entity",
    "EntityType",
    "HistoEvalError",
    "InputError",
    "Metric",
    "MissingDependency",
    "ModelError",
    "OutputError",
    "Pair",
    "Problem",
    "Relation",
    "Report",
    "Score",
    "SettingError",
    "Signature",
    "__version__",
    "create",
    "register",
]
