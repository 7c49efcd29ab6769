"""`histoeval generate`: reports of a vision-language model on images and slides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histoeval.cli.options.bundle import bundle, spread
from histoeval.cli.options.models import DeviceOption, EncodingOption, OverwriteOption
from histoeval.cli.options.vlm import (
    SHOWING,
    SUBJECT,
    LookOption,
    MergeOption,
    PictureOption,
    PromptOption,
    VlmRequestOptions,
)

if TYPE_CHECKING:
    from histoeval.run.image_list import Cases, ContextLevel
    from histoeval.trust.stability.examine import Examination
    from histoeval.vlm.model import VlmConfig


@bundle
class SubjectNames:
    """Which model writes."""

    endpoint: Annotated[
        str,
        typer.Option(
            help="Address of an OpenAI-compatible vision server, ending in /v1; or 'local' for a "
            "Transformers vision-language model (extra hf).",
            rich_help_panel=SUBJECT,
            show_default=False,
        ),
    ]
    model: Annotated[
        str,
        typer.Option(
            help="Name of the model there; a folder or hub name where the endpoint is 'local'.",
            rich_help_panel=SUBJECT,
            show_default=False,
        ),
    ]


@bundle
class SpecimenOptions:
    """What the model is told and shown of a specimen."""

    prompt: PromptOption = "neutral"
    specimen: Annotated[
        str,
        typer.Option(
            metavar="LEVELS",
            help="What the model is told of a specimen: none, or columns of the table as in "
            "organ+procedure; several levels with commas.",
            rich_help_panel=SHOWING,
        ),
    ] = "none"
    merge: MergeOption = "merge"
    look: LookOption = "tiles"
    tiles: Annotated[
        int, typer.Option(min=1, help="Tiles of a slide that are shown.", rich_help_panel=SHOWING)
    ] = 15
    mpp: Annotated[
        float | None,
        typer.Option(
            help="Microns per pixel, where the files do not say them.", rich_help_panel=SHOWING
        ),
    ] = None
    seed: Annotated[
        int, typer.Option(help="Of the sample of tiles, and of the model.", rich_help_panel=SHOWING)
    ] = 0
    picture: PictureOption = "jpeg"

    def examination(self) -> Examination:
        """As the describing of images takes it."""
        from histoeval.trust.stability.examine import make_examination

        return make_examination(
            self.prompt,
            merge=self.merge,
            tiles=self.tiles,
            seed=self.seed,
            mpp=self.mpp,
            look=self.look,
            form=self.picture,
        )


@spread
def generate(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER|FILE",
            help="A folder of images and slides, one of them, or a table with a column image and "
            "what is known of each specimen.",
            show_default=False,
        ),
    ],
    names: SubjectNames,
    output: Annotated[
        Path, typer.Option(help="Folder for the reports; a stopped run continues there.")
    ],
    images: Annotated[
        Path | None,
        typer.Option(help="Folder that the images of a table lie in; its own when left out."),
    ] = None,
    showing: SpecimenOptions = SpecimenOptions(),
    system: Annotated[
        str | None, typer.Option(help="What results call the model; its name when left out.")
    ] = None,
    overwrite: OverwriteOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count images and requests; ask nothing.")
    ] = False,
    asking: VlmRequestOptions = VlmRequestOptions(),
    encoding: EncodingOption = None,
    device: DeviceOption = None,
) -> None:
    """Have a vision-language model write a report on each image or slide.

    Exit code 0: every report was written; 1: some were not, and errors say why; 2: nothing could
    be done.
    """
    from histoeval.run.image_list import levels_of, open_cases

    choice = asking.choice(names.endpoint, names.model, showing.seed, device)
    examination = showing.examination()
    cases = open_cases(source, images, encoding)
    levels = levels_of(showing.specimen.split(","), cases.columns)
    if dry_run:
        _count(cases, levels, examination)
        return
    _generate(
        cases, choice, examination, levels, output, system or names.model, overwrite=overwrite
    )


def _count(cases: Cases, levels: list[ContextLevel], examination: Examination) -> None:
    from histoeval.run.image_list import counted

    found = counted(cases, levels, examination)
    typer.echo(
        f"{found.pictures:,} pictures, {found.slides:,} slides, {found.unusable:,} that cannot be "
        f"used; {len(levels):,} levels of specimen information: at most {found.requests:,} "
        "requests, less what is kept from before"
    )


def _generate(
    cases: Cases,
    choice: VlmConfig,
    examination: Examination,
    levels: list[ContextLevel],
    output: Path,
    system: str,
    *,
    overwrite: bool,
) -> None:
    from histoeval.progress import step_progress
    from histoeval.run.generate import generate as run
    from histoeval.vlm.load import load_vlm

    subject = load_vlm(choice)
    try:
        with step_progress("writing reports", len(cases.cases) * len(levels)) as tell:
            summary = run(
                cases,
                subject,
                examination,
                levels,
                output,
                system=system,
                overwrite=overwrite,
                watch=lambda rows, errors, _: tell(rows, f"{errors} with errors"),
            )
    except KeyboardInterrupt:
        typer.echo("stopped; every answer is kept: the same command goes on there", err=True)
        raise typer.Exit(130) from None
    _report(summary, output, asked=subject.usage.requests, kept=subject.usage.cached)


def _report(summary: dict[str, Any], output: Path, *, asked: int, kept: int) -> None:
    """Say what was written and what was not; exit as `score` does."""
    written = summary["rows"] - summary["rows_with_errors"]
    typer.echo(
        f"{written:,} of {summary['rows']:,} reports written "
        f"({asked:,} requests, {kept:,} answers kept from before)"
    )
    for code, error in summary["errors"].items():
        typer.echo(f"{error['count']:,} times {code}: {error['example']}", err=True)
    typer.echo(f"Written: {output / 'reports.jsonl'}, {output / 'reports.csv'}")
    if summary["rows_with_errors"]:
        raise typer.Exit(1 if written else 2)
