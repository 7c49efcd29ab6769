"""HistoEval tells whether a machine-written histopathology report is right, and why.

    >>> import histoeval
    >>> print(histoeval.load("concordance")(reference, candidate))
    >>> histoeval.score("pairs.csv", metrics="concordance,bleu").to_polars()

Names are loaded on first use, so importing the package costs next to nothing.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from histoeval.version import __version__

if TYPE_CHECKING:
    from histoeval.api import (
        contradictions,
        explain,
        extract,
        judge,
        list_metrics,
        load,
        score,
        trust,
        write_report,
    )
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
    from histoeval.llm.access import Endpoint
    from histoeval.metric import CorpusScore, Explanation, Metric, Score, Signature
    from histoeval.metrics.registry import register
    from histoeval.pathgls.policy.policy import Policy
    from histoeval.report import Assertion, Entity, EntityType, Pair, Relation, Report
    from histoeval.run.agree import agree
    from histoeval.run.align_judge import align_judge
    from histoeval.run.compare.compare import compare
    from histoeval.run.models import Models
    from histoeval.run.results import Results

_HOMES = {
    "api": "contradictions explain extract judge list_metrics load score trust write_report",
    "errors": "EndpointError HistoEvalError InputError MissingDependency ModelError OutputError "
    "Problem SettingError",
    "llm.access": "Endpoint",
    "metric": "CorpusScore Explanation Metric Score Signature",
    "metrics.registry": "register",
    "report": "Assertion Entity EntityType Pair Relation Report",
    "run.agree": "agree",
    "run.align_judge": "align_judge",
    "run.compare.compare": "compare",
    "run.models": "Models",
    "run.results": "Results",
    "pathgls.policy.policy": "Policy",
}
_HOME = {name: f"histoeval.{home}" for home, names in _HOMES.items() for name in names.split()}

_RENAMED = {
    "ablate": (
        "histoeval_research.experiments.ablate",
        "histoeval_research.experiments.ablate.ablate",
    ),
    "create": ("histoeval.api", "histoeval.load"),
    "read_reports": ("histoeval.api", "histoeval.extract"),
    "trust_reports": ("histoeval.api", "histoeval.trust"),
}
"""Old names: where they are, and what to call now."""

__all__ = [
    "Assertion",
    "CorpusScore",
    "Endpoint",
    "EndpointError",
    "Entity",
    "EntityType",
    "Explanation",
    "HistoEvalError",
    "InputError",
    "Metric",
    "MissingDependency",
    "ModelError",
    "Models",
    "OutputError",
    "Pair",
    "Policy",
    "Problem",
    "Relation",
    "Report",
    "Results",
    "Score",
    "SettingError",
    "Signature",
    "__version__",
    "agree",
    "align_judge",
    "compare",
    "contradictions",
    "explain",
    "extract",
    "judge",
    "list_metrics",
    "load",
    "register",
    "score",
    "trust",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _RENAMED:
        home, new = _RENAMED[name]
        warnings.warn(f"histoeval.{name} is now {new}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
