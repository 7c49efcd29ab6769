"""Trust of many reports: one after the other, nothing finished is lost, nothing missing is hidden.

``histoeval.trust_reports("reports.csv", images="slides", output="results/trust")``
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from histoeval.errors import OutputError, Problem
from histoeval.io.jsonl_rows import write_lines
from histoeval.io.trust_cases import CaseSource, TrustCase, cases_of_records, open_cases
from histoeval.progress import row_progress
from histoeval.run.pipeline import Watch, nobody_watches, tell
from histoeval.run.results import Verdicts
from histoeval.run.scoring import records_of
from histoeval.run.totals import ExactSum, RowCount
from histoeval.run.trust.case import Instruments, judge_case
from histoeval.run.trust.rows import TrustFolder, TrustRow
from histoeval.run.trust.setup import TrustOptions, open_instruments
from histoeval.trust.fusion import ROUTES
from histoeval.trust.logic.score import signature_of
from histoeval.trust.policy.policy import DIMENSIONS
from histoeval.version import __version__
from histoeval.view.figures.evidence import with_pictures

Hear = Callable[[TrustRow], None]


def trust_reports(
    data: Any,
    *,
    images: str | Path | None = None,
    output: str | Path | None = None,
    wanted: TrustOptions | None = None,
    text: str | None = None,
    image: str | None = None,
    id: str | None = None,  # noqa: A002 - the name people give the column
    encoding: str | None = None,
    pictures: bool = True,
    overwrite: bool = False,
) -> Verdicts:
    """Tell how far reports can be trusted when there is no reference.

    Args:
        data: a table (csv, tsv, jsonl, json, parquet), a polars or pandas frame, or records
            (dicts), with the columns id, image, report and, where there are any, report_augmented
            and report_attacked.
        images: the folder that images are named in; that of the table when left out.
        output: a folder for rows, summary, pictures and a page; a stopped run is continued there.
        wanted: the instruments and the policy; our own, and the paper's, when left out.
        text: the column that holds the report, where it cannot be guessed.
        image: the column that names the image.
        id: the column that names a row.
        encoding: of text files, where it cannot be told.
        pictures: draw the evidence; only with `output`.
        overwrite: replace what `output` holds.

    Returns:
        A summary and the rows. Without `output` the rows are held in memory.
    """
    home = None if images is None else Path(images)
    if isinstance(data, str | Path):
        path = Path(data)
        source = open_cases(path, text=text, image=image, id_=id, images=home, encoding=encoding)
    else:
        records: Iterable[Mapping[str, object]] = records_of(data)
        source = cases_of_records(records, text=text, image=image, id_=id, images=home)
    tools = open_instruments(wanted or TrustOptions(), source)
    folder = None if output is None else TrustFolder(Path(output))
    kept: list[TrustRow] = []
    with row_progress(source, "judging") as watch:
        summary = judge_source(
            source,
            tools,
            folder=folder,
            pictures=pictures,
            overwrite=overwrite,
            hear=kept.append if folder is None else None,
            watch=watch,
        )
    return Verdicts(summary, kept if folder is None else folder)


def judge_source(
    source: CaseSource,
    tools: Instruments,
    *,
    folder: TrustFolder | None = None,
    pictures: bool = True,
    overwrite: bool = False,
    hear: Hear | None = None,
    watch: Watch = nobody_watches,
) -> dict[str, Any]:
    """Judge every report of a source; the summary of all rows.

    With a folder, each row is written as it is finished, its pictures before it, and a stopped run
    is continued. `hear` is given every row, those found in the folder included.
    """
    tally, rows_left = Tally(), source.rows()
    listeners: list[Hear] = [tally.add] if hear is None else [tally.add, hear]
    request = _request(source, tools, pictures)
    if folder is not None:
        folder.prepare(request, overwrite=overwrite)
        tell(_found_again(folder, rows_left), listeners)
    with nullcontext() if folder is None else folder.append() as lines:
        for case in rows_left:
            verdict = judge_case(case, source.folder, tools)
            row = verdict.row
            if folder is not None and lines is not None:
                row = with_pictures(verdict, folder.evidence, tools) if pictures else row
                write_lines(lines, [row])
            tell([row], listeners)
            watch(tally.rows, tally.failed_rows, case.position)
    summary = {"input": source.description(), **_settings(request), **tally.summary()}
    if folder is not None:
        folder.finish(summary)
        _write_page(source, folder, summary)
    return summary


class Tally(RowCount):
    """What all rows come to."""

    def __init__(self) -> None:
        super().__init__()
        self._sums = {name: ExactSum() for name in (*DIMENSIONS, "trust")}
        self._known: Counter[str] = Counter()
        self._routes: Counter[str] = Counter()

    def add(self, row: TrustRow) -> None:
        """Take one row in; it failed where it has no trust value."""
        self.count([Problem(error.code, error.message) for error in row.errors])
        self._routes[row.route] += 1
        for name, total in self._sums.items():
            if (value := getattr(row, name)) is not None:
                self._known[name] += 1
                total.add(value)

    def summary(self) -> dict[str, Any]:
        """Counts and means; no mean where nothing is known."""
        means = {
            name: {
                "known": (known := self._known[name]),
                "missing": self.rows - known,
                "mean": total.value / known if known else None,
            }
            for name, total in self._sums.items()
        }
        return {
            "rows": self.rows,
            "rows_with_errors": self.failed_rows,
            "routes": {route: self._routes[route] for route in ROUTES},
            "means": means,
            "errors": self.errors(),
        }


def _found_again(folder: TrustFolder, rows: Iterator[TrustCase]) -> Iterator[TrustRow]:
    """The rows that a stopped run has left, held against the input by their ids."""
    for found in folder.finished():
        case = next(rows, None)
        if case is None or case.id != found.id or case.number != found.row:
            raise OutputError(
                f"the row {found.id} of {folder.path} is not what the input has there; "
                "give another --output, or --overwrite to replace the rows"
            )
        yield found


def _request(source: CaseSource, tools: Instruments, pictures: bool) -> dict[str, Any]:
    """What makes two runs the same: the input and everything that the numbers depend on."""
    encoder = tools.encoder
    return {
        "histoeval": __version__,
        "input": source.name,
        "sha256": source.sha256,
        "encoding": source.encoding,
        "columns": source.layout.model_dump(mode="json"),
        "pictures": pictures,
        "reader": tools.reader.identity,
        "nli": tools.entailer.identity,
        "logic": signature_of(tools.entailer, tools.top),
        "encoder": encoder.code
        if isinstance(encoder, Problem)
        else getattr(encoder, "identity", None),
        "distance": None if tools.distance is None else tools.distance.identity,
        "subject": None if tools.asking is None else _asked(tools),
        "foreign": tools.foreign.identity,
        "top": str(tools.top),
        "tiles": {"most": tools.tiling.most, "seed": tools.tiling.seed, "mpp": tools.tiling.mpp},
        "policy": {"hash": tools.policy.hash, **tools.policy.model_dump(mode="json")},
    }


def _asked(tools: Instruments) -> dict[str, Any]:
    assert tools.asking is not None, "there is a model to ask"
    return {"model": tools.asking.subject.identity, **tools.asking.examination.pins()}


def _settings(request: Mapping[str, Any]) -> dict[str, Any]:
    """What a summary says of how its numbers came about; the input speaks for itself."""
    kept = ("histoeval", "reader", "nli", "encoder", "distance", "subject", "foreign", "top")
    return {name: request[name] for name in (*kept, "tiles", "policy")}


def _write_page(source: CaseSource, folder: TrustFolder, summary: Mapping[str, Any]) -> None:
    from histoeval.view.html.trust import write_page

    texts = (case.report for case in source.rows())
    write_page(folder, zip(folder.finished(), texts, strict=True), summary)
