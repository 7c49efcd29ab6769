"""`histoeval trust`: can reports be trusted when there is no reference?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from histoeval.api import trust as trust_reports
from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.engine import EngineOptions
from histoeval.cli.options.output import (
    NoTextsOption,
    OverwriteOption,
    exit_with,
    print_tables,
    resumable,
)
from histoeval.cli.options.trust import (
    AttackedVlm,
    ImageOptions,
    ReportColumns,
    TrustModels,
    VerdictOptions,
)
from histoeval.cli.trust.policies import policies, policy_lines
from histoeval.cli.trust.tune import tune
from histoeval.errors import SettingError
from histoeval.io.tables.remote import local_input
from histoeval.run.results import Verdicts
from histoeval.run.trust.setup import TrustOptions
from histoeval.view.terminal.scores import problem_table
from histoeval.view.terminal.trust import least_trusted, trust_tables

SHOWN = 10
"""Number of least trusted reports that are shown in the terminal."""

trust_app = typer.Typer(invoke_without_command=True, no_args_is_help=True)
trust_app.command("tune")(tune)
trust_app.command("policies")(policies)


@trust_app.callback()
@verb
def trust(
    context: typer.Context,
    reports: Annotated[
        Path | None,
        option(
            "Table (csv, tsv, jsonl, json, parquet) with the columns id, image, report and, "
            "if no model is asked, report_augmented and report_attacked; or reports alone: a "
            "folder of text, Word or PDF files, HL7 or FHIR.",
            metavar="FILE",
            parser=local_input,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "Folder for trust.jsonl, summary.json, evidence and report.html; a stopped run "
            "resumes there."
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    no_texts: NoTextsOption = False,
    images: ImageOptions = ImageOptions(),
    verdict: VerdictOptions = VerdictOptions(),
    models: TrustModels = TrustModels(),
    vlm: AttackedVlm = AttackedVlm(),
    columns: ReportColumns = ReportColumns(),
    engine: EngineOptions = EngineOptions(),
) -> None:
    """Decide which reports can be trusted without a reference.

    Each report is measured by grounding in the image, logic, and stability under attack, and gets
    a verdict: deploy, review or reject.

    Exit code 0: every report has a trust score; 1: some have none, and errors say why; 2: nothing
    could be done.

    Examples:
      histoeval trust --reports reports.csv --images slides --output trusted
    """
    if context.invoked_subcommand is not None:
        return
    if reports is None or output is None:
        raise SettingError("give both --reports FILE and --output DIR")
    wanted = TrustOptions(
        encoder=models.encoder,
        calibration=tuple(models.calibration or ()),
        nli=models.nli,
        distance=models.distance,
        models=models.models(),
        **vars(verdict),
        tiles=images.tiles,
        mpp=images.mpp,
        seed=images.seed,
        subject=vlm.config(images.seed, models.device),
        examination=vlm.examination(),
    )
    folder = images.folder()
    named: dict[str, Any] = {**columns.named()}
    with resumable(output):
        verdicts = trust_reports(
            reports,
            images=folder,
            output=output,
            options=wanted,
            pictures=not images.no_pictures,
            overwrite=overwrite,
            engine=engine.chosen(),
            batch_size=engine.block_rows,
            texts=not no_texts,
            **named,
        )
    _print_verdicts(verdicts, output, page=not no_texts)
    means = verdicts.summary["means"]
    exit_with(sum(part["known"] for part in means.values()), means["trust"]["missing"])


def _print_verdicts(verdicts: Verdicts, output: Path, *, page: bool) -> None:
    summary = verdicts.summary
    for table in trust_tables(summary, least_trusted(verdicts, SHOWN)):
        print_tables([table, ""])
    for note in (*summary["input"]["notes"], *policy_lines(summary["policy"])):
        typer.echo(note)
    print_tables([problem_table(summary)])
    names = ("trust.jsonl", "summary.json", *(["report.html"] if page else []))
    written = [str(output / name) for name in names]
    typer.echo(f"Written: {', '.join(written)}")
