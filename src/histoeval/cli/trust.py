"""`histoeval trust`: can reports be trusted when there is no reference?"""

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
from histoeval.cli.options import (
    COLUMNS,
    DeviceOption,
    DtypeOption,
    EncodingOption,
    IdOption,
    LabelsOption,
    ReaderOption,
    RelationsOption,
)
from histoeval.cli.subject import (
    LookOption,
    MergeOption,
    PictureOption,
    PromptOption,
    SubjectKeyFileOption,
    SubjectKeyOption,
    chosen_subject,
)
from histoeval.cli.trust_tune import tune
from histoeval.cli.trusting import (
    AskedEndpointOption,
    AskedModelOption,
    AttackOption,
    DistanceOption,
    GroundingOption,
    ImagesOption,
    LookedAtOption,
    NliOption,
    NoPicturesOption,
    PolicyOption,
    ReportsOption,
    ShownTilesOption,
    StainsOption,
    SubjectTemperatureOption,
    TopOption,
    TrustMppOption,
    TrustOutputOption,
    TrustSeedOption,
    WeightsOption,
)
from histoeval.errors import OutputError, SettingError

if TYPE_CHECKING:
    from histoeval.run.instruments import Wanted

SHOWN = 10
"""So many of the least trusted reports are shown in the terminal."""

trust_app = typer.Typer(
    invoke_without_command=True,
    no_args_is_help=True,
    help="Tell whether reports can be trusted when there is no reference: grounding in the image, "
    "logic, stability under attack, and a verdict: deploy, review or reject.",
)
trust_app.command("tune")(tune)


@trust_app.callback()
def trust(
    context: typer.Context,
    reports: ReportsOption = None,
    output: TrustOutputOption = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what the folder holds.")
    ] = False,
    images: ImagesOption = None,
    tiles: LookedAtOption = "128",
    mpp: TrustMppOption = None,
    seed: TrustSeedOption = 0,
    no_pictures: NoPicturesOption = False,
    policy: PolicyOption = None,
    weights: WeightsOption = None,
    top: TopOption = None,
    encoder: GroundingOption = None,
    nli: NliOption = None,
    distance: DistanceOption = "concordance",
    reader: ReaderOption = None,
    relations: RelationsOption = None,
    labels: LabelsOption = None,
    device: DeviceOption = None,
    dtype: DtypeOption = None,
    endpoint: AskedEndpointOption = None,
    model: AskedModelOption = None,
    attack: AttackOption = None,
    prompt: PromptOption = "neutral",
    merge: MergeOption = "merge",
    look: LookOption = "tiles",
    shown_tiles: ShownTilesOption = 15,
    stains: StainsOption = 1,
    picture: PictureOption = "jpeg",
    temperature: SubjectTemperatureOption = 0.0,
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
    text: Annotated[
        str | None, typer.Option(help="Column of the report.", rich_help_panel=COLUMNS)
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="Column of the image.", rich_help_panel=COLUMNS)
    ] = None,
    id_column: IdOption = None,
    encoding: EncodingOption = None,
) -> None:
    """Tell how far each report of FILE can be trusted, with the evidence and a verdict.

    Exit code 0: every report has its trust; 1: some have not, and errors say why; 2: nothing could
    be done.
    """
    if context.invoked_subcommand is not None:
        return
    if reports is None or output is None:
        raise SettingError("give both --reports FILE and --output DIR")
    from histoeval.io.annotation.names import read_labels  # noqa: PLC0415 - keeps --help fast
    from histoeval.run.instruments import Wanted  # noqa: PLC0415
    from histoeval.run.models import Models  # noqa: PLC0415

    if (endpoint is None) != (model is None):
        raise SettingError("the model that wrote the reports is named by --endpoint and --model")
    subject = None
    if endpoint is not None and model is not None:
        subject = chosen_subject(
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
    wanted = Wanted(
        encoder=encoder,
        nli=nli,
        distance=distance,
        models=Models(
            reader=reader,
            relations=relations,
            labels=None if labels is None else read_labels(labels),
            device=device,
            dtype=dtype,
        ),
        policy=policy,
        weights=weights,
        top=top,
        tiles=tiles,
        mpp=mpp,
        seed=seed,
        subject=subject,
        examination={
            "neutral": prompt,
            "attacks": tuple(attack or ()),
            "merge": merge,
            "look": look,
            "tiles": shown_tiles,
            "stains": stains,
            "form": picture,
        },
    )
    columns = {"text": text, "image": image, "id": id_column, "encoding": encoding}
    _judge(reports, output, images, wanted, columns, pictures=not no_pictures, overwrite=overwrite)


def _judge(
    reports: Path,
    output: Path,
    images: Path | None,
    wanted: Wanted,
    columns: dict[str, str | None],
    *,
    pictures: bool,
    overwrite: bool,
) -> None:
    from histoeval.run.trusting import trust_reports  # noqa: PLC0415

    if images is not None and not images.is_dir():
        raise SettingError(f"--images {images} is not a folder")
    if output.exists() and output.samefile(reports):
        raise OutputError(f"{output} is the input itself; give another --output")
    try:
        verdicts = trust_reports(
            reports,
            images=images,
            output=output,
            wanted=wanted,
            pictures=pictures,
            overwrite=overwrite,
            **columns,
        )
    except KeyboardInterrupt:
        said = f"stopped; what was judged is kept in {output}: the same command continues there"
        typer.echo(said, err=True)
        raise typer.Exit(130) from None
    _report(verdicts, output)


def _report(verdicts: Any, output: Path) -> None:
    """Show what was found and what was not; exit as `score` does."""
    from rich.console import Console  # noqa: PLC0415

    from histoeval.view.tables import terminal_table  # noqa: PLC0415
    from histoeval.view.terminal import problem_table  # noqa: PLC0415
    from histoeval.view.trust import least_trusted, policy_line, trust_tables  # noqa: PLC0415

    summary, console = verdicts.summary, Console()
    for told in trust_tables(summary, least_trusted(verdicts, SHOWN)):
        console.print(terminal_table(told))
        console.print()
    typer.echo(f"Policy: {policy_line(summary)}")
    if (problems := problem_table(summary)) is not None:
        console.print(problems)
    written = [str(output / name) for name in ("trust.jsonl", "summary.json", "report.html")]
    typer.echo(f"Written: {', '.join(written)}")
    if not any(part["known"] for part in summary["means"].values()):
        raise typer.Exit(2)
    raise typer.Exit(1 if summary["means"]["trust"]["missing"] else 0)
