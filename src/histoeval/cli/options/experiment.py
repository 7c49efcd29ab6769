"""Options that the experiments share, and how they tell what they found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histoeval.cli.options.bundle import bundle
from histoeval.cli.options.tls import TlsOptions
from histoeval.errors import SettingError

if TYPE_CHECKING:
    from histoeval.report import Noun
    from histoeval.table import ResultTable
    from histoeval.vlm.model import Vlm

SET = "The perturbed set, as `experiment perturb` writes it."
LANGUAGE = "A language model that edits too"

ResamplesOption = Annotated[int, typer.Option(min=1, help="Resamples for intervals.")]
SeedOption = Annotated[int, typer.Option(help="Of everything that is drawn.")]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace what another run has written.")
]
PictureOption = Annotated[
    bool, typer.Option("--figure", help="Draw it as SVG and PNG (extra figures).")
]
WeightsOption = Annotated[
    str | None,
    typer.Option(help="Weights of grounding, logic and stability; 0.4,0.3,0.3 when left out."),
]


@bundle
class LanguageModel:
    """A language model that may be asked, and its key."""

    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Address of an OpenAI-compatible server, ending in /v1.",
            rich_help_panel=LANGUAGE,
            show_default=False,
        ),
    ] = None
    model: Annotated[
        str | None, typer.Option(help="Name of the model there.", rich_help_panel=LANGUAGE)
    ] = None
    key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable that holds the key.", rich_help_panel=LANGUAGE),
    ] = None
    key_file: Annotated[
        Path | None, typer.Option(help="File that holds the key.", rich_help_panel=LANGUAGE)
    ] = None

    tls: TlsOptions = TlsOptions()

    def subject(self) -> Vlm | None:
        """The language model that options name; None where they name none."""
        if self.endpoint is None and self.model is None:
            return None
        if self.endpoint is None or self.model is None:
            raise SettingError("a language model is named by both --endpoint and --model")
        from histoeval.vlm.load import load_vlm
        from histoeval.vlm.model import VlmConfig

        return load_vlm(VlmConfig(**asdict(self)))


def say(
    folder: Path,
    name: str,
    tables: Sequence[ResultTable],
    notes: Sequence[str],
    rows: Sequence[Noun],
    about: Mapping[str, Any],
) -> None:
    """Write what was found, and show it."""
    from rich.console import Console

    from histoeval.table import terminal_table
    from histoeval.view.terminal.experiments import write_tables

    paths = write_tables(folder, name, tables, notes, rows, about)
    console = Console()
    for table in tables:
        console.print(terminal_table(table))
    for note in notes:
        typer.echo(note, err=True)
    typer.echo(f"Written: {', '.join(str(path) for path in paths)}")
