"""Results of a run: rows, a summary, frames made of them, and a table in a notebook.

`Frames` is what everything shares that can be shown as a table. `Results` is a run over rows, held
in memory or re-read from disk each time; `Scores`, `Readings` and `Verdicts` are those of `score`
and `judge`, of `extract` and of `trust`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from histoeval.errors import MissingDependency, Problem
from histoeval.io.results import ReadRow, ResultRow
from histoeval.io.store import StoredRow
from histoeval.notebook import notebook_html
from histoeval.pathgls.policy.policy import DIMENSIONS
from histoeval.report import Report
from histoeval.run.trust.rows import MissingReason, TrustRow

if TYPE_CHECKING:
    import pandas
    import polars


class Frames(ABC):
    """Something that can be laid out as flat records, one per row."""

    @abstractmethod
    def records(self) -> Iterator[dict[str, Any]]:
        """Yield flat records, all with the same columns."""

    @abstractmethod
    def __repr__(self) -> str:
        """Describe the object and its result in one line."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """List all flat records."""
        return list(self.records())

    def to_polars(self) -> polars.DataFrame:
        """Return the flat records as a polars frame."""
        import polars

        return polars.DataFrame(self.to_dicts(), infer_schema_length=None)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the flat records as a pandas frame, if pandas is installed."""
        try:
            import pandas
        except ImportError as error:
            raise MissingDependency("to_pandas() needs pandas: pip install pandas") from error
        return pandas.DataFrame(self.to_dicts())

    def _repr_html_(self) -> str:
        return notebook_html(self, repr(self))


Row = TypeVar("Row", bound=StoredRow)


class RowSequence(Sequence[Row]):
    """Rows in the order of the input, by position; those on disk are read again each time."""

    def __init__(self, rows: Iterable[Row], count: int) -> None:
        self._rows = rows
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(self._rows, list):
            return self._rows[place]
        positions = range(self._count)[place]
        if isinstance(positions, int):
            return next(islice(self._rows, positions, None))
        wanted_positions = set(positions)
        rows = {
            position: row for position, row in enumerate(self._rows) if position in wanted_positions
        }
        return [rows[position] for position in positions]

    def __repr__(self) -> str:
        return f"<{self._count} rows>"


class Results(Frames, Generic[Row]):
    """Rows in the order of the input, and a summary.

    Args:
        summary: what all rows come to, as in `summary.json`.
        rows: the rows, which can be gone through as often as one likes.
        seconds: what the run took, where that was measured; it is in no file.
    """

    def __init__(
        self, summary: dict[str, Any], rows: Iterable[Row], seconds: float | None = None
    ) -> None:
        self.summary = summary
        self.seconds = seconds
        self._rows = rows
        self._by_id: dict[str, list[Row]] | None = None

    @property
    def rows(self) -> RowSequence[Row]:
        """Every row, in the order of the input: `rows[0]`, `rows[-5:]`, `for row in rows`."""
        return RowSequence(self._rows, len(self))

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __len__(self) -> int:
        count: int = self.summary["rows"]
        return count

    def __getitem__(self, key: str | tuple[str, str]) -> Row:
        """Return the row of this id; `[id, system]` if several systems have it."""
        name, system = key if isinstance(key, tuple) else (key, None)
        rows = [row for row in self._called(name) if system in (None, _system(row))]
        if len(rows) == 1:
            return rows[0]
        if not rows:
            system_note = "" if system is None else f" of the system {system!r}"
            raise KeyError(f"no row has the id {name!r}{system_note}")
        systems = ", ".join(repr(_system(row)) for row in rows)
        raise KeyError(
            f"{len(rows)} rows have the id {name!r}; give the system too, as in "
            f"[{name!r}, {_system(rows[0])!r}]; systems: {systems}"
        )

    def _called(self, name: str) -> Sequence[Row]:
        """Return the rows of an id; rows on disk are searched, so that memory stays flat."""
        if not isinstance(self._rows, list):
            return [row for row in self._rows if row.id == name]
        if self._by_id is None:
            self._by_id = {}
            for row in self._rows:
                self._by_id.setdefault(row.id, []).append(row)
        return self._by_id.get(name, [])


class Scores(Results[ResultRow]):
    """Scores of each pair, and their totals by metric and system."""

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each metric: what its numbers depend on, for a paper to cite."""
        return {name: metric["signature"] for name, metric in self.summary["metrics"].items()}

    def report_errors(self) -> list[dict[str, Any]]:
        """List the errors that metrics found in candidates, by severity and kind.

        A flat record stands for a metric that lists errors (`concordance` does) and a system.
        """
        return [
            {"metric": name, "system": system, "errors": errors["count"], "pairs": errors["pairs"]}
            | errors["by_severity"]
            | errors["by_kind"]
            for name, metric in self.summary["metrics"].items()
            for system, totals in metric["systems"].items()
            if (errors := totals.get("report_errors")) is not None
        ]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield flat records: id, system, a column per metric and per part, problems."""
        names = list(self.summary["metrics"])
        parts = [
            f"{name}.{part}"
            for name in names
            for totals in self.summary["metrics"][name]["systems"].values()
            for part in totals["parts"]
        ]
        own = [name for name in ResultRow.model_fields if name not in ("row", "scores", "errors")]
        empty: dict[str, Any] = dict.fromkeys([*own, *names, *parts, "problems"])
        for row in self:
            flat = empty | {name: getattr(row, name) for name in own}
            flat["problems"] = _problems(row.errors)
            for name, result in row.scores.items():
                flat[name] = result.value
                flat |= {f"{name}.{part}": number for part, number in result.parts.items()}
            yield flat

    def __repr__(self) -> str:
        means = {
            f"{name} {system}: {totals['mean']:.4f}"
            for name, metric in self.summary["metrics"].items()
            for system, totals in metric["systems"].items()
            if totals["mean"] is not None
        }
        failures = [
            f"; {name} failed on {metric['failed']['count']}: {metric['failed']['example']}"
            for name, metric in self.summary["metrics"].items()
            if "failed" in metric
        ]
        means_line = ", ".join(sorted(means)) or "none"
        return f"<Scores of {len(self)} rows; means: {means_line}{''.join(failures)}>"


class Readings(Results[ReadRow]):
    """Report of each text, or its errors."""

    @property
    def reports(self) -> list[Report | None]:
        """Reports in the order of the texts; None if there is none, for a reason in its row."""
        return [row.report for row in self]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield records of id, text, entities and relations, as in the file, and problems."""
        empty = {"id": None, "text": None, "entities": None, "relations": None, "problems": None}
        for row in self:
            report = {} if row.report is None else row.report.model_dump(mode="json")
            yield empty | {"id": row.id, **report, "problems": _problems(row.errors)}

    def __repr__(self) -> str:
        entities = sum(self.summary["entities"].values())
        errors = self.summary["rows_with_errors"]
        return f"<Readings of {len(self)} texts: {entities} entities; {errors} rows with errors>"


class Verdicts(Results[TrustRow]):
    """Trust in each report and the verdict on it, or what is missing and why."""

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield flat records: id, dimensions, trust, route, problems; evidence is in rows."""
        for row in self:
            values = {
                name: getattr(row, name) for name in (*DIMENSIONS, "trust", "cancer_check", "route")
            }
            yield {"id": row.id, **values, "problems": _problems(row.errors)}

    def __repr__(self) -> str:
        routes = ", ".join(f"{count} {route}" for route, count in self.summary["routes"].items())
        return f"<Verdicts on {len(self)} reports: {routes}>"


def _problems(errors: Sequence[Problem | MissingReason]) -> str | None:
    return "; ".join(f"{error.code}: {error.message}" for error in errors) or None


def _system(row: object) -> str | None:
    return getattr(row, "system", None)
