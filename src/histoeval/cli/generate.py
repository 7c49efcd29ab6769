"""`histoeval generate`: reports of a vision-language model on images and slides."""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.output import exit_with, print_errors, resumable, say_next
from histoeval.cli.verb import verb
from histoeval.pathgls.stability.examine import make_examination
from histoeval.progress import step_progress
from histoeval.run import settings
from histoeval.run.generate import counted, levels_of, open_cases
from histoeval.run.generate import generate as run
from histoeval.run.models import DeviceName
from histoeval.settings import INPUT, VLM, Option
from histoeval.vlm.load import load_vlm


@verb
def generate(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER|FILE",
            help="A folder of images and slides, one of them, or a table with a column image and "
            "what is known about each specimen.",
        ),
    ],
    *,
    endpoint: Annotated[
        str,
        Option(
            "URL of an OpenAI-compatible vision server, ending in /v1; or 'local' for a "
            "Transformers vision-language model (extra hf).",
            VLM,
        ),
    ],
    model: Annotated[str, Option("Name of the model; for 'local' a folder or hub name.", VLM)],
    output: Annotated[Path, Option("Folder for the reports; a stopped run resumes there.")],
    images: Annotated[
        Path | None, Option("Folder of the images of a table; that of the table when omitted.")
    ] = None,
    tiles: Annotated[int, Option("Tiles of a slide that the model is shown.", INPUT, min=1)] = 15,
    mpp: Annotated[float | None, Option("Microns per pixel of images without it.", INPUT)] = None,
    seed: Annotated[int, Option("Random seed of tile sampling and of the model.", INPUT)] = 0,
    shown: settings.ExaminationOptions,
    specimen: Annotated[
        str,
        Option(
            "What the prompt says about the specimen: none, or columns of the table as in "
            "organ+procedure; several levels are separated by commas.",
            INPUT,
            metavar="LEVELS",
        ),
    ] = "none",
    system: Annotated[str | None, Option("Name of the system; --model when omitted.")] = None,
    overwrite: settings.Overwrite = False,
    dry_run: Annotated[
        bool, Option("Count images and requests; send nothing.", name="--dry-run")
    ] = False,
    requests: settings.VlmRequests,
    encoding: settings.Encoding = None,
    device: DeviceName = None,
    engine: settings.EngineSettings,
) -> None:
    """Let a vision-language model write a report for each image or slide.

    Exit code 0: every report was written; 1: some were not, and errors say why; 2: nothing could
    be done.

    Examples:
      histoeval generate slides --endpoint URL --model NAME --output reports
    """
    config = requests.config(endpoint, model, seed, device)
    examination = make_examination(**vars(shown), tiles=tiles, mpp=mpp, seed=seed)
    cases = open_cases(source, images, encoding)
    levels = levels_of(specimen.split(","), cases.columns)
    if dry_run:
        totals = counted(cases, levels, examination)
        typer.echo(
            f"{totals.pictures:,} pictures, {totals.slides:,} slides, {totals.unusable:,} that "
            f"cannot be used; {len(levels):,} levels of specimen information: at most "
            f"{totals.requests:,} requests, fewer if replies are cached"
        )
        return
    vlm = load_vlm(config)
    with (
        resumable(output, "answers are"),
        step_progress("writing reports", len(cases.cases) * len(levels)) as report,
    ):
        summary = run(
            cases,
            vlm,
            examination,
            levels,
            output,
            system=system or model,
            overwrite=overwrite,
            watch=lambda rows, errors, _: report(rows, f"{errors} with errors"),
            engine=engine.choose_engine(),
            batch_size=engine.batch_size,
        )
    rows, failed = summary["rows"], summary["rows_with_errors"]
    typer.echo(
        f"{rows - failed:,} of {rows:,} reports written "
        f"({vlm.usage.requests:,} requests, {vlm.usage.cached:,} cached answers)"
    )
    print_errors(summary)
    typer.echo(f"Written: {output / 'reports.jsonl'}, {output / 'reports.csv'}")
    if rows > failed and len(levels) == 1:
        folder = images or (source if source.is_dir() else source.parent)
        table, trust = output / "reports.csv", output.with_name(f"{output.name}-trust")
        say_next("Next", "trust", "--reports", table, "--images", folder, "--output", trust)
    if failed:
        exit_with(rows - failed, failed)
