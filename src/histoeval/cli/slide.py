"""`histoeval slide`: what a slide is, how it looks, and its tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from histoeval.cli.options.files import demand_folder
from histoeval.cli.options.models import OverwriteOption
from histoeval.errors import OutputError, SettingError

slide_app = typer.Typer(no_args_is_help=True, help="Look at slides and images, and cut tiles.")

FileArgument = Annotated[
    Path,
    typer.Argument(
        help="A picture (png, jpg, tif), a slide (svs, ndpi, mrxs, scn, bif, tif, dcm, dzi), or a "
        "folder of one DICOM or DeepZoom slide.",
        show_default=False,
    ),
]
MppOption = Annotated[
    float | None,
    typer.Option(
        help="Microns per pixel, where the file does not say or says it wrongly.",
        show_default=False,
    ),
]
STORED = "stored"


@slide_app.command()
def info(
    file: FileArgument,
    mpp: MppOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell size, levels, microns per pixel and how much tissue there is."""
    from histoeval.slides.open import open_slide
    from histoeval.slides.tissue import describe, find_tissue

    with open_slide(file, mpp=mpp) as slide:
        facts = describe(slide, find_tissue(slide))
    if as_json:
        import json

        typer.echo(json.dumps(facts, indent=2))
        return
    from rich.console import Console

    from histoeval.view.terminal.slides import slide_table

    Console().print(slide_table(facts))


@slide_app.command()
def thumbnail(
    file: FileArgument,
    output: Annotated[Path, typer.Option(help="PNG or JPEG to write.", show_default=False)],
    side: Annotated[int, typer.Option(min=16, max=8192, help="Pixels of the longer side.")] = 1024,
    tissue: Annotated[
        bool, typer.Option("--tissue", help="Draw the outline of the tissue, and of ink.")
    ] = False,
) -> None:
    """Write a small picture of a slide."""
    from histoeval.slides.open import open_slide
    from histoeval.slides.overview import make_thumbnail
    from histoeval.slides.tissue import find_tissue
    from histoeval.view.terminal.slides import outlined

    if output.suffix.lower() not in {".png", ".jpg", ".jpeg"}:
        raise OutputError(f"{output} must end in .png or .jpg")
    demand_folder(output)
    with open_slide(file) as slide:
        picture = make_thumbnail(slide, side)
        if tissue:
            picture = outlined(picture, find_tissue(slide))
    try:
        picture.save(output)
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror or error}") from error
    typer.echo(f"Written: {output}, {picture.width} x {picture.height} px")


@slide_app.command()
def tiles(
    file: FileArgument,
    output: Annotated[
        Path,
        typer.Option(
            help="Folder for tiles/*.png, tiles.jsonl and slide.json; a stopped run continues.",
            show_default=False,
        ),
    ],
    mpp: MppOption = None,
    at: Annotated[
        str,
        typer.Option(help=f"Microns per pixel of the tiles (0.5 is 20x), or '{STORED}'."),
    ] = "0.5",
    size: Annotated[int, typer.Option(help="Pixels along a side of a tile.")] = 512,
    tissue: Annotated[float, typer.Option(help="Least share of a tile that is tissue.")] = 0.25,
    sample: Annotated[
        int | None,
        typer.Option(help="So many tiles, spread over the slide; all without it."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Which sample.")] = 0,
    workers: Annotated[
        int, typer.Option(min=1, help="Threads; they never change what is written.")
    ] = 2,
    overwrite: OverwriteOption = False,
) -> None:
    """Cut a slide into tiles of one physical size, those with tissue.

    Exit code 0: every tile was written; 1: some cannot be read, and their rows say why; 2: nothing
    could be done.
    """
    from histoeval.progress import step_progress
    from histoeval.slides.open import open_slide
    from histoeval.slides.tiles import TileRequest, plan_tiles
    from histoeval.slides.tissue import find_tissue
    from histoeval.slides.write_tiles import TileFolder, write_tiles

    request = TileRequest(size=size, mpp=_asked(at), tissue=tissue, sample=sample, seed=seed)
    with open_slide(file, mpp=mpp) as slide:
        plan = plan_tiles(slide, find_tissue(slide, workers), request)
        try:
            with step_progress(f"cutting {file.name}", len(plan.places)) as tell:
                summary = write_tiles(
                    slide,
                    plan,
                    TileFolder(output),
                    overwrite=overwrite,
                    workers=workers,
                    watch=tell,
                )
        except KeyboardInterrupt:
            said = f"stopped; what was cut is kept in {output}: the same command continues there"
            typer.echo(said, err=True)
            raise typer.Exit(130) from None
    _report(output, summary)
    if not summary["written"]:
        raise typer.Exit(2)
    raise typer.Exit(1 if summary["problems"] else 0)


def _asked(at: str) -> float | None:
    """The microns per pixel that tiles shall have; none for the pixels as they are."""
    if at == STORED:
        return None
    try:
        wanted = float(at)
    except ValueError:
        wanted = 0.0
    if not 0.05 <= wanted <= 64:
        raise SettingError(f"--at takes microns per pixel from 0.05 to 64, or '{STORED}'; not {at}")
    return wanted


def _report(output: Path, summary: dict[str, Any]) -> None:
    columns, rows = summary["grid"]
    mpp = "as stored" if summary["mpp"] is None else f"{summary['mpp']:g} microns per pixel"
    typer.echo(
        f"{summary['written']:,} tiles written, {mpp}: {summary['wanted']:,} wanted of "
        f"{summary['with_tissue']:,} with tissue in a grid of {columns} x {rows}; "
        f"{summary['at_the_edge']:,} reach over the edge"
    )
    for code, count in summary["problems"].items():
        typer.echo(f"{count:,} tiles have no picture: {code}; their rows say why")
    for note in summary["notes"]:
        typer.echo(f"Note: {note}")
    typer.echo(f"Written: {output}/tiles.jsonl, {output}/slide.json, {output}/tiles")
