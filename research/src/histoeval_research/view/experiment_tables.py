"""Tables of experiments: for the terminal, as files, and the page of examples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from histoeval.errors import InputError
from histoeval.io.tables.delimited import csv_text
from histoeval.io.writing import make_folder, write_json, write_text, writing_to
from histoeval.resources import load_toml
from histoeval.statistics.resampling import Estimate
from histoeval.table import NONE, ResultTable, footnotes, markdown, number
from histoeval.view.exports import flat
from histoeval.view.highlight import HighlightSpan, html
from histoeval.view.html.page import data_uri, jpeg, render
from histoeval.view.terminal.agreement import interval
from histoeval_research.experiments.edits.registry import levels
from histoeval_research.experiments.edits.source_report import tables as edit_data
from histoeval_research.experiments.measures import ScoredReport
from histoeval_research.experiments.pathgls import MeasuredCases, paper
from histoeval_research.experiments.perturb import PerturbedRow
from histoeval_research.experiments.tables import Row

if TYPE_CHECKING:
    from markupsafe import Markup


def table_of(name: str, rows: Sequence[Row]) -> ResultTable:
    """A table with a line for each row, as `data/experiment_tables.toml` lays it out."""
    layout = load_toml("histoeval_research/view/data/experiment_tables.toml")[name]
    cells = [[cell(row, column) for column in layout["columns"].values()] for row in rows]
    return ResultTable(layout["title"], list(layout["columns"]), cells)


_ABSENT = ("None", "0", str(Estimate()))
_VALUE = re.compile(r"\{([\w.]+):?(.?)\}")  # "{means.trust:2}": keys, and digits or another format


def cell(row: Row, template: str) -> str:
    values = [_value(row, keys) for keys, _ in _VALUE.findall(template)]
    if template.startswith("?") and str(values[0]) in _ABSENT:
        return ""
    texts = iter(values)
    return _VALUE.sub(lambda match: _text(next(texts), match[2] or "3"), template.lstrip("?"))


def _value(row: Any, keys: str) -> Any:
    for key in keys.split("."):
        row = getattr(row, key) if isinstance(row, Estimate) else row and row[key]
    return row


def _text(value: Any, how: str) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{count:,} {name}" for name, count in value.items())
    if isinstance(value, Estimate):
        return interval(value, int(how), int(how), " to ")
    if isinstance(value, float) and how == "g":
        return f"{value:g}"
    if isinstance(value, float) and how == "p":
        return f"{value:.4f}" if value >= 0.0001 else "<0.0001"
    if isinstance(value, float) and how == "%":
        return number(100 * value, 1)
    if isinstance(value, float) or value is None:
        return number(value, int(how) if how.isdigit() else 0)
    return f"{value:,}" if isinstance(value, int) else str(value)


def sensitivity_table(drops: Sequence[Row], lacking: Mapping[str, str]) -> ResultTable:
    groups = list(dict.fromkeys(drop["group"] for drop in drops))
    titles = edit_data()["group"]
    heads = [head for group in groups for head in (titles.get(group, group), "drop, %")]
    rows = []
    for measure in dict.fromkeys(drop["measure"] for drop in drops):
        own = {drop["group"]: drop for drop in drops if drop["measure"] == measure}
        # each group is compared with its own controls; shown are those of most reports
        control = max(own.values(), key=lambda drop: int(drop["cases"]))["control"]
        cells = [cell(own[group], value) for group in groups for value in ("{score}", "{drop:1}")]
        rows.append([measure, number(control), *cells])
    rows += [[name, NONE, *[NONE] * len(heads)] for name in lacking]
    cases = max((drop["cases"] for drop in drops), default=0)
    title = f"Sensitivity to errors, {cases:,} reports (95 % interval by report)"
    return ResultTable(title, ["measure", "control", *heads], rows)


def sensitivity_notes(drops: Sequence[Row], lacking: Mapping[str, str]) -> list[str]:
    return [
        "Metrics have the true report as their reference, so their control is the best they give. "
        "Grounding, logic and stability have no reference.",
        *footnotes(lacking.items()),
        *footnotes((f"{d['measure']}, {d['group']}", d["drop"].reason) for d in drops),
    ]


def hierarchy_tables(rows: Sequence[Row]) -> list[ResultTable]:
    known = sorted({step["level"] for row in rows for step in row["levels"]})
    means = [{step["level"]: step["mean"] for step in row["levels"]} for row in rows]
    steps = ", ".join(f"{level} {name}" for level, name in levels().items())
    cells = [
        [row["measure"], *(number(mean.get(level)) for level in known)]
        for row, mean in zip(rows, means, strict=True)
    ]
    by_level = ResultTable(f"Mean by error level ({steps})", ["measure", *map(str, known)], cells)
    return [table_of("hierarchy", rows), by_level]


def ablation_table(found: Row) -> ResultTable:
    rows = [["all dimensions", cell(found, "{spearman:3}"), "", ""]]
    for row in found["without"]:
        numbers = [cell(row, value) for value in ("{spearman:3}", "{lost:3}", "{lost_per_cent:1}")]
        rows.append([f"without {row['dimension']}", *numbers])
    title = f"Ablation: {found['rows']:,} reports of {found['cases']:,} cases"
    return ResultTable(title, ["trust", "rho (95 % interval)", "lost", "lost, %"], rows)


def benchmark_notes(rows: Sequence[Row]) -> list[str]:
    return [
        f"{row['dataset']}, {row['model']}: {name} is missing for {count:,} of "
        f"{row['reports']:,} reports"
        for row in rows
        for name, count in row["missing"].items()
        if count
    ]


def table_notes(table: str, sets: Sequence[MeasuredCases] = ()) -> list[str]:
    lacking = ((f"{own.name}, {name}", why) for own in sets for name, why in own.lacking.items())
    return [*paper()["notes"][table], *footnotes(lacking)]


def write_tables(
    folder: Path,
    name: str,
    tables: Sequence[ResultTable],
    notes: Sequence[str],
    rows: Sequence[Row],
    about: Mapping[str, Any],
) -> list[Path]:
    """Write the findings as Markdown, CSV (nested values are columns of their own) and JSON."""
    parts = [*map(markdown, tables), "\n".join(f"- {note}" for note in notes)]
    with writing_to(folder):
        make_folder(folder)
        paths = [folder / f"{name}{ending}" for ending in (".md", ".csv", ".json")]
        write_text(paths[0], "\n\n".join(part for part in parts if part) + "\n")
        found = to_jsonable_python(rows)
        write_text(paths[1], csv_text([flat(row) for row in found]))
        write_json(paths[2], {**about, "found": found})
    return paths


PIXELS = 480  # the longer side of a picture on the page

HARMLESS = 1  # up to this level an edit is not an error


def experiment_page(
    rows: Sequence[PerturbedRow],
    scored: Sequence[ScoredReport],
    *,
    images: Path | None = None,
    most: int = 12,
) -> str:
    """One page with at most this many cases, in the order of the rows."""
    numbers = {row.id: row for row in scored}
    by_case: dict[str, list[PerturbedRow]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    cases = []
    for name, own in list(by_case.items())[:most]:
        known = [numbers[row.id] for row in own if row.id in numbers]
        picture, reason = _picture(own[0].image, images)
        case: dict[str, Any] = {
            "name": name,
            "image": own[0].image,
            "picture": picture,
            "reason": reason,
        }
        case["measures"] = list(dict.fromkeys(measure for row in known for measure in row.scores))
        case["rows"] = [(row, edited_text(row), numbers.get(row.id)) for row in own]
        cases.append(case)
    steps = "; ".join(f"{level}: {name}" for level, name in levels().items())
    return render(
        "experiment.html",
        title="What each measure sees",
        facts=f"{len(cases):,} of {len(by_case):,} reports. Orange: what makes a report wrong. "
        f"Green: only other words. Levels: {steps}.",
        cases=cases,
    )


def edited_text(row: PerturbedRow) -> Markup:
    """The true report with deletions and insertions; the edited one if they are not known."""
    text, shown, at = row.reference or "", "", 0
    spans: list[HighlightSpan] = []
    inserted = "ins same" if row.level <= HARMLESS else "ins"
    for change in sorted(row.changes, key=lambda c: c.start):
        if change.start < at or not text.startswith(change.before, change.start):
            return html(row.report or "", ())
        shown += text[at : change.start]
        for added, kind in ((change.before, "del"), (change.after, inserted)):
            spans.append(HighlightSpan(len(shown), len(shown) + len(added), kind=kind))
            shown += added
        at = change.end
    return html(shown + text[at:], spans)


def _picture(image: str | None, folder: Path | None) -> tuple[str | None, str]:
    from histoeval.slides.open import open_slide
    from histoeval.slides.overview import make_thumbnail

    if image is None or folder is None:
        return None, "no image"
    path = folder / image
    try:
        with open_slide(path) as slide:
            return data_uri(jpeg(make_thumbnail(slide, PIXELS))), ""
    except InputError as error:
        return None, str(error).replace(str(path), image)
