"""`histoeval generate`: reports of a vision-language model on images and slides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histoeval.cli.judging import (
    AttemptsOption,
    BodyOption,
    CacheOption,
    ConcurrencyOption,
    RequestsOption,
    TimeoutOption,
    TokensOption,
    body_of,
)
from histoeval.cli.options import DeviceOption, EncodingOption
from histoeval.cli.subject import (
    SHOWING,
    SUBJECT,
    LookOption,
    MergeOption,
    MppOption,
    PictureOption,
    PromptOption,
    SubjectEndpointOption,
    SubjectKeyFileOption,
    SubjectKeyOption,
    SubjectModelOption,
    TilesOption,
    chosen_subject,
)

if TYPE_CHECKING:
    from histoeval.run.images import Cases, Level
    from histoeval.trust.describing import Examination
    from histoeval.trust.subject import SubjectChoice


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
    endpoint: SubjectEndpointOption,
    model: SubjectModelOption,
    output: Annotated[
        Path, typer.Option(help="Folder for the reports; a stopped run continues there.")
    ],
    images: Annotated[
        Path | None,
        typer.Option(help="Folder that the images of a table lie in; its own when left out."),
    ] = None,
    prompt: PromptOption = "neutral",
    specimen: Annotated[
        str,
        typer.Option(
            metavar="LEVELS",
            help="What the model is told of a specimen: none, or columns of the table as in "
            "organ+procedure; several levels with commas.",
            rich_help_panel=SHOWING,
        ),
    ] = "none",
    merge: MergeOption = "merge",
    look: LookOption = "tiles",
    tiles: TilesOption = 15,
    mpp: MppOption = None,
    seed: Annotated[
        int, typer.Option(help="Of the sample of tiles, and of the model.", rich_help_panel=SHOWING)
    ] = 0,
    picture: PictureOption = "jpeg",
    system: Annotated[
        str | None, typer.Option(help="What results call the model; its name when left out.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what the folder holds.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count images and requests; ask nothing.")
    ] = False,
    temperature: Annotated[float, typer.Option(min=0, rich_help_panel=SUBJECT)] = 0.0,
    body: BodyOption = None,
    concurrency: ConcurrencyOption = 16,
    rpm: RequestsOption = None,
    tpm: TokensOption = None,
    timeout: TimeoutOption = 120.0,
    attempts: AttemptsOption = 6,
    key_env: SubjectKeyOption = None,
    key_file: SubjectKeyFileOption = None,
    cache: CacheOption = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no replies.")] = False,
    encoding: EncodingOption = None,
    device: DeviceOption = None,
) -> None:
    """Have a vision-language model write a report on each image or slide.

    Exit code 0: every report was written; 1: some were not, and errors say why; 2: nothing could
    be done.
    """
    from histoeval.run.images import levels_of, open_cases  # noqa: PLC0415 - keeps --help fast
    from histoeval.trust.describing import make_examination  # noqa: PLC0415

    choice = chosen_subject(
        endpoint,
        model,
        manner={"temperature": temperature, "seed": seed, "body": body_of(body)},
        patience={
            "timeout_s": timeout,
            "attempts": attempts,
            "requests_a_minute": rpm,
            "tokens_a_minute": tpm,
        },
        concurrency=concurrency,
        key_env=key_env,
        key_file=key_file,
        cache=cache,
        keep=not no_cache,
        device=device,
    )
    examination = make_examination(
        prompt, merge=merge, tiles=tiles, seed=seed, mpp=mpp, look=look, form=picture
    )
    cases = open_cases(source, images, encoding)
    levels = levels_of(specimen.split(","), cases.columns)
    if dry_run:
        _count(cases, levels, examination)
        return
    _generate(cases, choice, examination, levels, output, system or model, overwrite=overwrite)


def _count(cases: Cases, levels: list[Level], examination: Examination) -> None:
    from histoeval.run.images import counted  # noqa: PLC0415

    found = counted(cases, levels, examination)
    typer.echo(
        f"{found.pictures:,} pictures, {found.slides:,} slides, {found.unusable:,} that cannot be "
        f"used; {len(levels):,} levels of specimen information: at most {found.requests:,} "
        "requests, less what is kept from before"
    )


def _generate(
    cases: Cases,
    choice: SubjectChoice,
    examination: Examination,
    levels: list[Level],
    output: Path,
    system: str,
    *,
    overwrite: bool,
) -> None:
    from histoeval.run.generating import generate as run  # noqa: PLC0415
    from histoeval.trust.subject import open_subject  # noqa: PLC0415
    from histoeval.view.progress import step_progress  # noqa: PLC0415

    subject = open_subject(choice)
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
