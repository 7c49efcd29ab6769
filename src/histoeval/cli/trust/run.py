"""`histoeval trust`: can reports be trusted when there is no reference?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from histoeval.cli.options.bundle import spread
from histoeval.cli.options.models import OverwriteOption
from histoeval.cli.options.trust import (
    AttackedSubject,
    ImageOptions,
    OutputOption,
    ReportColumns,
    ReportsOption,
    TrustModels,
    VerdictOptions,
)
from histoeval.cli.trust.tune import tune
from histoeval.errors import OutputError, SettingError

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
@spread
def trust(
    context: typer.Context,
    reports: ReportsOption = None,
    output: OutputOption = None,
    overwrite: OverwriteOption = False,
    looking: ImageOptions = ImageOptions(),
    verdict: VerdictOptions = VerdictOptions(),
    models: TrustModels = TrustModels(),
    subject: AttackedSubject = AttackedSubject(),
    columns: ReportColumns = ReportColumns(),
) -> None:
    """Tell how far each report of FILE can be trusted, with the evidence and a verdict.

    Exit code 0: every report has its trust; 1: some have not, and errors say why; 2: nothing could
    be done.
    """
    if context.invoked_subcommand is not None:
        return
    if reports is None or output is None:
        raise SettingError("give both --reports FILE and --output DIR")
    from histoeval.run.trust.setup import TrustOptions
    from histoeval.view.trust import trust_reports

    wanted = TrustOptions(
        encoder=models.encoder,
        nli=models.nli,
        distance=models.distance,
        models=models.reading(),
        **asdict(verdict),
        tiles=looking.tiles,
        mpp=looking.mpp,
        seed=looking.seed,
        subject=subject.choice(looking.seed, models.device),
        examination=subject.examination(),
    )
    images = looking.folder()
    if output.exists() and output.samefile(reports):
        raise OutputError(f"{output} is the input itself; give another --output")
    with _told_when_stopped(output):
        verdicts = trust_reports(
            reports,
            images=images,
            output=output,
            wanted=wanted,
            pictures=not looking.no_pictures,
            overwrite=overwrite,
            **columns.named(),
        )
    _report(verdicts, output)


@contextmanager
def _told_when_stopped(output: Path) -> Iterator[None]:
    """Say what is kept when somebody has had enough."""
    try:
        yield
    except KeyboardInterrupt:
        said = f"stopped; what was judged is kept in {output}: the same command continues there"
        typer.echo(said, err=True)
        raise typer.Exit(130) from None


def _report(verdicts: Any, output: Path) -> None:
    """Show what was found and what was not; exit as `score` does."""
    from rich.console import Console

    from histoeval.table import terminal_table
    from histoeval.view.terminal.scores import problem_table
    from histoeval.view.terminal.trust import least_trusted, policy_line, trust_tables

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
