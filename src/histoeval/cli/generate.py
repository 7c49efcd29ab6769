"""`histoeval generate`: reports of a vision-language model on images and slides."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.columns import EncodingOption
from histoeval.cli.options.engine import EngineOptions
from histoeval.cli.options.models import DeviceOption
from histoeval.cli.options.output import (
    OverwriteOption,
    exit_with,
    print_errors,
    resumable,
    say_next,
)
from histoeval.cli.options.vlm import (
    INPUT,
    VLM,
    LookOption,
    MergeOption,
    MppOption,
    PictureOption,
    PromptOption,
    VlmRequestOptions,
)
from histoeval.pathgls.stability.examine import Examination, make_examination
from histoeval.progress import step_progress
from histoeval.run.generate import counted, levels_of, open_cases
from histoeval.run.generate import generate as run
from histoeval.vlm.load import load_vlm


@dataclass(frozen=True)
class VlmNames:
    """Which model writes."""

    endpoint: Annotated[
        str,
        option(
            "URL of an OpenAI-compatible vision server, ending in /v1; or 'local' for a "
            "Transformers vision-language model (extra hf).",
            VLM,
        ),
    ]
    model: Annotated[
        str, option("Name of the model; a folder or hub name if the endpoint is 'local'.", VLM)
    ]


@dataclass(frozen=True)
class SpecimenOptions:
    """What the model is shown and asked about a specimen."""

    prompt: PromptOption = "neutral"
    specimen: Annotated[
        str,
        option(
            "What the prompt says about the specimen: none, or columns of the table as in "
            "organ+procedure; several levels are separated by commas.",
            INPUT,
            metavar="LEVELS",
        ),
    ] = "none"
    merge: MergeOption = "merge"
    look: LookOption = "tiles"
    tiles: Annotated[int, option("Tiles of a slide that the model is shown.", INPUT, min=1)] = 15
    mpp: MppOption = None
    seed: Annotated[int, option("Random seed of tile sampling and of the model.", INPUT)] = 0
    picture: PictureOption = "jpeg"

    def examination(self) -> Examination:
        """As `generate` of histoeval.run takes it."""
        return make_examination(
            self.prompt,
            merge=self.merge,
            tiles=self.tiles,
            seed=self.seed,
            mpp=self.mpp,
            look=self.look,
            form=self.picture,
        )


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
    names: VlmNames,
    output: Annotated[Path, option("Folder for the reports; a stopped run resumes there.")],
    images: Annotated[
        Path | None, option("Folder of the images of a table; that of the table when omitted.")
    ] = None,
    specimen: SpecimenOptions = SpecimenOptions(),
    system: Annotated[
        str | None, option("Name of the system in the results; --model when omitted.")
    ] = None,
    overwrite: OverwriteOption = False,
    dry_run: Annotated[
        bool, option("Count images and requests; send nothing.", name="--dry-run")
    ] = False,
    requests: VlmRequestOptions = VlmRequestOptions(),
    encoding: EncodingOption = None,
    device: DeviceOption = None,
    engine: EngineOptions = EngineOptions(),
) -> None:
    """Let a vision-language model write a report for each image or slide.

    Exit code 0: every report was written; 1: some were not, and errors say why; 2: nothing could
    be done.

    Examples:
      histoeval generate slides --endpoint URL --model NAME --output reports
    """
    config = requests.config(names.endpoint, names.model, specimen.seed, device)
    examination = specimen.examination()
    cases = open_cases(source, images, encoding)
    levels = levels_of(specimen.specimen.split(","), cases.columns)
    if dry_run:
        found = counted(cases, levels, examination)
        typer.echo(
            f"{found.pictures:,} pictures, {found.slides:,} slides, {found.unusable:,} that cannot "
            f"be used; {len(levels):,} levels of specimen information: at most "
            f"{found.requests:,} requests, fewer if replies are cached"
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
            system=system or names.model,
            overwrite=overwrite,
            watch=lambda rows, errors, _: report(rows, f"{errors} with errors"),
            engine=engine.chosen(),
            batch_size=engine.block_rows,
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
