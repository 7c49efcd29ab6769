"""`histoeval demo` and `histoeval quickstart`: the first minute, without a file of one's own."""

import csv
import os
import shlex
import sys
import webbrowser
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.output import exit_with, print_tables, resumable
from histoeval.cli.verb import verb
from histoeval.errors import OutputError
from histoeval.io.pairs import open_source
from histoeval.io.results import ResultFolder
from histoeval.io.tables.delimited import csv_text
from histoeval.io.writing import make_folder, write_whole, writing_to
from histoeval.progress import row_progress
from histoeval.resources import resource_bytes, resource_path, resource_text
from histoeval.run.models import DEFAULT_METRICS, load_metrics
from histoeval.run.score import score_source
from histoeval.run.settings import EngineSettings
from histoeval.settings import Option
from histoeval.view.run_report import write_run_report
from histoeval.view.terminal.scores import error_tables, score_table

TABLE = "pairs.csv"
BUNDLED = f"examples/{TABLE}"
TEMPLATES = "examples/quickstart"
# those of the bundled table that are not only about it
COLUMNS = ("id", "reference", "candidate_good", "candidate_bad")
CASES = 6  # how many of the bundled cases a quickstart begins with


@verb
def demo(
    output: Annotated[Path, Option("Folder for the table, the scores and the page.")] = Path(
        "histoeval-demo"
    ),
    no_open: Annotated[bool, Option("Open no page in a browser.", name="--no-open")] = False,
) -> None:
    """Score the bundled examples, make a page of them, and show what to do next.

    The page is opened where there is a terminal and a display. Nothing leaves this machine.

    Examples:
      histoeval demo
      histoeval demo --output results/demo --no-open
    """
    table, results = output / TABLE, output / "results"
    _place(table, resource_bytes(BUNDLED))
    with resumable(results, "finished scores are"):
        source = open_source([table])
        with row_progress(source) as watch:
            metrics = load_metrics(DEFAULT_METRICS)
            store, engine = ResultFolder(results), EngineSettings().choose_engine()
            scoring = score_source(source, metrics, store, watch=watch, engine=engine)
    print_tables([score_table(scoring.summary), *error_tables(scoring.summary)])
    typer.echo(
        "candidate_good is a correct paraphrase; candidate_bad is nearly a copy, with one clinical "
        "error (column note).\nMetrics that count words prefer the error. All texts are fictional "
        "and were written by language models.\n"
    )
    page = write_run_report(results)
    typer.echo(f"Page: {page}\n\nNext:")
    pair = ["--id", "breast-02", "--system", "candidate_bad"]
    for words in (
        ["explain", str(table), *pair],
        ["compare", str(results), "--show", "3"],
        ["quickstart", "my-reports"],
    ):
        typer.echo(f"  {shlex.join(['histoeval', *words])}")
    if not no_open and _has_display():
        webbrowser.open(page.resolve().as_uri())
    exit_with(scoring.summary["scores"], scoring.summary["rows_with_errors"])


@verb
def quickstart(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Folder to write; a new or an empty one.")
    ] = Path("histoeval-quickstart"),
) -> None:
    """Write a folder with a table, settings, and scripts that score it.

    Nothing is overwritten: a folder that holds something is refused.

    Examples:
      histoeval quickstart
      histoeval quickstart my-reports
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise OutputError(f"{folder} already exists and is not empty: name another folder")
    with writing_to(folder):
        rows = islice(csv.DictReader(StringIO(resource_text(BUNDLED), newline="")), CASES)
        table = csv_text([{name: row[name] for name in COLUMNS} for row in rows])
        _place(folder / TABLE, table.encode())
        for file in sorted(resource_path(TEMPLATES).iterdir()):
            _place(folder / file.name.removesuffix(".txt"), file.read_bytes())
    quoted = shlex.quote(str(folder))
    typer.echo(f"Written: {folder}\n\nNext:")
    typer.echo(f"  python {quoted}/score.py\n  sh {quoted}/score.sh   # the same in the shell")
    typer.echo(f"Then put your own reports into {folder / TABLE}. More: {folder / 'README.md'}")


def _place(file: Path, content: bytes) -> None:
    """Write a file, or leave it where it is this one already."""
    with writing_to(file):
        if file.is_file() and file.read_bytes() == content:
            return
        if file.exists():
            raise OutputError(f"{file} exists and is another file: name another folder")
        make_folder(file.parent)
        write_whole(file, content)


def _has_display() -> bool:
    if not sys.stdout.isatty() or "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
