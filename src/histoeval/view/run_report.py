"""The report of a finished run, whatever it is of: a page, or its tables in other formats."""

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, get_args

from histoeval.argument_names import argument
from histoeval.errors import OutputError, SettingError
from histoeval.io.finished_run import FinishedRun, Kind, finished_run, textless_copy
from histoeval.io.writing import check_not_input, make_folder, protecting, write_whole, writing_to
from histoeval.view.html.page import Website

Format = Literal["html", "csv", "xlsx", "md", "json"]
FORMATS: tuple[str, ...] = get_args(Format)

# where in `view.html` the page of each kind is made, from the place of the run
PAGES: dict[Kind, str] = {
    "score": "scores:score_page",
    "judge": "scores:score_page",
    "trust": "trust:trust_page",
    "agree": "run_pages:agreement_page",
    "compare": "run_pages:comparison_page",
    "extract": "run_pages:extraction_page",
    "experiment": "run_pages:experiment_tables_page",
}


def write_run_report(
    run: Path, output: Path | None = None, to: str | None = None, *, texts: bool = True
) -> Path:
    """Write the report of a finished run, and return where it is.

    Where `to` is left out, the ending of `output` decides; it is a page where that says nothing.
    The files of the run are inputs: none of them is replaced. Without `texts` the report has no
    word of a pathology report in it.
    """
    if to is None:
        ending = output.suffix.removeprefix(".").lower() if output else ""
        to = ending if ending in FORMATS else "html"
    if to not in FORMATS:
        raise SettingError(f"there is no report as {to!r}; choose one of {', '.join(FORMATS)}")
    finished = finished_run(run)
    target = output or finished.beside(to)
    with writing_to(target):
        if target.is_dir():
            raise OutputError(f"{target} is a folder; name a file: {argument('output', 'FILE')}")
    files = [finished.place, finished.place.with_name(f"{finished.place.name}.meta.json")]
    if finished.place.is_dir():  # everything of the run but earlier reports
        files = [
            file for file in finished.place.iterdir() if file.stem != "report" and file.is_file()
        ]
    with protecting(files):
        check_not_input([target])
        if texts:
            content = report_of(finished, to)
        else:
            with TemporaryDirectory() as folder:
                content = report_of(textless_copy(finished, Path(folder)), to)
        with writing_to(target):
            make_folder(target.parent)
            write_whole(target, content)
    return target


def report_of(run: FinishedRun, to: str) -> bytes:
    if to == "html":
        return run_page(run).encode("utf-8", "backslashreplace")
    from histoeval.view.exports import export

    return export(run, to)


def run_page(run: FinishedRun, site: Website | None = None) -> str:
    """Render the page of a run for a site, or as a self-contained file."""
    module, name = PAGES[run.kind].split(":")
    page: str = getattr(import_module(f"histoeval.view.html.{module}"), name)(run.place, site)
    return page
