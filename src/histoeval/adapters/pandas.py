"""`df.histoeval`: score the rows of a pandas frame, once this module is imported.

>>> import histoeval.adapters.pandas
>>> df.join(df.histoeval.score(reference="truth", candidate="model"))
"""

from __future__ import annotations

from typing import Any

from histoeval import api
from histoeval.adapters import imported
from histoeval.run.models import DEFAULT_METRICS

pandas = imported("pandas", "pandas")


@pandas.api.extensions.register_dataframe_accessor("histoeval")
class HistoEvalAccessor:
    """Scores for a frame of reports."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def score(self, metrics: Any = DEFAULT_METRICS, **settings: Any) -> Any:
        """Scores with the index of this frame, to be joined to it.

        Args:
            metrics: names with commas, or a list of names and metric objects.
            **settings: of `histoeval.score`: `reference`, `candidate`, `id`, `system`, `models` …

        Returns:
            A frame with a column for each metric and part, and `problems`. A frame with several
            candidates has a row for each, and the column `system`.
        """
        results = api.score(self._frame, metrics=metrics, **settings)
        rows = results.to_pandas().drop(columns="id")
        rows.index = self._frame.index[[row.row - 1 for row in results]]
        return rows if rows["system"].nunique() > 1 else rows.drop(columns="system")
