"""`histoeval slide`: facts, thumbnails and tiles; modules of the extra are imported where used."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from histoeval.cli.output import demand_folder, exit_with, print_lines, print_tables, resumable
from histoeval.cli.verb import verb
from histoeval.errors import InputError, OutputError, SettingError
from histoeval.progress import step_progress
from histoeval.run.settings import EngineSettings, Overwrite
from histoeval.settings import Option
from histoeval.slides.open import open_slide

slide_app = typer.Typer(no_args_is_help=True, help="Inspect slides and images, and cut tiles.")

FileArgument = Annotated[
    Path,
    typer.Argument(
        help="A picture (png, jpg, tif), a slide (svs, ndpi, mrxs, scn, bif, tif, dcm, dzi), or a "
        "folder of one DICOM or DeepZoom slide."
    ),
]
MppOption = Annotated[
    float | None, Option("Microns per pixel, if the file does not give it or is wrong.")
]
STORED = "stored"


@slide_app.command()
@verb
def info(
    file: FileArgument,
    mpp: MppOption = None,
    as_json: Annotated[bool, Option("Print JSON.", name="--json")] = False,
) -> None:
    """Show size, levels, microns per pixel and the amount of tissue.

    Examples:
      histoeval slide info slide.svs
    """
    from histoeval.slides.tissue import describe, find_tissue

    with open_slide(file, mpp=mpp) as slide:
        facts = describe(slide, find_tissue(slide))
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        print_tables([slide_table(facts)])


def slide_table(facts: dict[str, Any]) -> RenderableType:
    area = "" if facts["tissue_mm2"] is None else f", {facts['tissue_mm2']:.2f} mm²"
    resolution = "missing"
    if facts["mpp"] is not None:
        source = {"file": "by the file", "given": "as given"}[facts["mpp_source"]]
        resolution = f"{' x '.join(f'{n:g}' for n in dict.fromkeys(facts['mpp']))}, {source}"
    levels = (
        f"{level['width']:,} x {level['height']:,}"
        + ("" if level["mpp"] is None else f" ({level['mpp']:g} µm/px)")
        for level in facts["levels"]
    )
    table = Table(title=Text(facts["file"]), title_justify="left", show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    table.add_row("format", Text(facts["format"]))
    table.add_row("size", f"{facts['width']:,} x {facts['height']:,} px")
    table.add_row("microns per pixel", resolution)
    table.add_row("levels", "; ".join(levels))
    table.add_row("tissue", f"{facts['tissue']:.1%}{area}")
    table.add_row("pen ink", f"{facts['ink']:.1%}")
    table.add_row("black", f"{facts['black']:.1%}")
    return Group(table, *[Text(f"Note: {note}") for note in facts["notes"]])


@slide_app.command()
@verb
def thumbnail(
    file: FileArgument,
    output: Annotated[Path, Option("PNG or JPEG to write.")],
    side: Annotated[int, Option("Pixels of the longer side.", min=16, max=8192)] = 1024,
    tissue: Annotated[bool, Option("Outline tissue and ink.", name="--tissue")] = False,
) -> None:
    """Write a thumbnail of a slide.

    Examples:
      histoeval slide thumbnail slide.svs --output slide.png --tissue
    """
    from histoeval.slides.overview import make_thumbnail
    from histoeval.slides.tissue import find_tissue
    from histoeval.view.figures.evidence import outlined

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
@verb
def tiles(
    file: FileArgument,
    output: Annotated[
        Path,
        Option("Folder for tiles/*.png, tiles.jsonl and slide.json; a stopped run resumes there."),
    ],
    mpp: MppOption = None,
    at: Annotated[str, Option(f"Microns per pixel of tiles (0.5 is 20x), or '{STORED}'.")] = "0.5",
    size: Annotated[int, Option("Side of a tile in pixels.")] = 512,
    tissue: Annotated[float, Option("Minimum share of tissue in a tile.")] = 0.25,
    sample: Annotated[
        int | None, Option("Cut N tiles, spread over the slide; all when omitted.", metavar="N")
    ] = None,
    seed: Annotated[int, Option("Random seed of the sample.")] = 0,
    overwrite: Overwrite = False,
    *,
    engine: EngineSettings,
) -> None:
    """Cut the tissue of a slide into tiles of one physical size.

    Exit code 0: every tile was written; 1: some cannot be read, and their rows say why; 2: nothing
    could be done.

    Examples:
      histoeval slide tiles slide.svs --output tiles --sample 100
    """
    from histoeval.run.tiles import TileFolder, write_tiles
    from histoeval.slides.tiles import TileRequest, plan_tiles
    from histoeval.slides.tissue import find_tissue

    request = TileRequest(size=size, mpp=_mpp(at), tissue=tissue, sample=sample, seed=seed)
    with open_slide(file, mpp=mpp) as slide:
        plan = plan_tiles(slide, find_tissue(slide), request)
        with (
            resumable(output, "finished tiles are"),
            step_progress(f"cutting {file.name}", len(plan.places)) as report,
        ):
            summary = write_tiles(
                slide,
                plan,
                TileFolder(output),
                overwrite=overwrite,
                watch=lambda rows, errors, _: report(rows, f"{errors} with errors"),
                engine=engine.choose_engine(),
                batch_size=engine.batch_size,
            )
    columns, rows = summary["grid"]
    scale = "as stored" if summary["mpp"] is None else f"{summary['mpp']:g} microns per pixel"
    why = "their rows say why"
    problems = summary["problems"].items()
    print_lines(
        f"{summary['written']:,} tiles written, {scale}: {summary['wanted']:,} requested of "
        f"{summary['with_tissue']:,} with tissue in a grid of {columns} x {rows}; "
        f"{summary['at_the_edge']:,} reach over the edge",
        *[f"{count:,} tiles have no picture: {code}; {why}" for code, count in problems],
        *[f"Note: {note}" for note in summary["notes"]],
        f"Written: {output}/tiles.jsonl, {output}/slide.json, {output}/tiles",
    )
    exit_with(summary["written"], len(summary["problems"]))


@slide_app.command()
@verb
def geojson(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of `histoeval trust`.")],
    output: Annotated[Path, Option("GeoJSON file to write.")],
    case: Annotated[
        str | None, Option("Id of the case; not needed where there is one.", metavar="ID")
    ] = None,
) -> None:
    """Write the evidence of a trust run on one slide as GeoJSON, for QuPath.

    Examples:
      histoeval slide geojson trusted --case A17 --output A17.geojson
    """
    from histoeval.io.writing import write_text, writing_to
    from histoeval.run.trust.rows import FinishedTrust
    from histoeval.view.image_evidence import geojson as to_geojson
    from histoeval.view.image_evidence import grounding_of, objects

    demand_folder(output)
    finished = FinishedTrust(run)
    number = finished.named(case)
    row, scores = finished.row(number), finished.scores(number)
    features = objects(row.id, grounding_of(row.evidence), scores)
    if not features:
        raise InputError(
            f"case {row.id} of {run} has no place on an image: "
            + ("; ".join(error.message for error in row.errors) or "nothing was grounded")
        )
    with writing_to(output.parent):
        write_text(output, to_geojson(features))
    typer.echo(f"Written: {output}, {len(features):,} objects")
    typer.echo("In QuPath: open the slide, then File > Import objects from file.")


def _mpp(at: str) -> float | None:
    """Microns per pixel of the tiles; None for the pixels as stored."""
    if at == STORED:
        return None
    try:
        mpp = float(at)
    except ValueError:
        mpp = 0.0
    if not 0.05 <= mpp <= 64:
        raise SettingError(f"--at takes microns per pixel from 0.05 to 64, or '{STORED}'; not {at}")
    return mpp
