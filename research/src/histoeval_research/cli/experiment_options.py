"""Options that the experiments share, and how they print what they found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from histoeval.cli.options.bundle import option
from histoeval.cli.options.endpoint import one_complaint
from histoeval.cli.options.output import print_tables
from histoeval.cli.options.vlm import VlmAccess
from histoeval.errors import SettingError
from histoeval.report import Noun
from histoeval.table import ResultTable
from histoeval.vlm.load import load_vlm
from histoeval.vlm.model import Vlm, VlmConfig
from histoeval_research.view.experiment_tables import write_tables

LLM = "Language model that also edits reports"

ResamplesOption = Annotated[int, option("Resamples for confidence intervals.", min=1)]
SeedOption = Annotated[int, option("Random seed.")]
TableFolder = Annotated[Path, option("Folder for the table.")]
FigureOption = Annotated[
    bool, option("Also draw it as SVG and PNG (extra figures).", name="--figure")
]


@dataclass(frozen=True)
class EditingModel:
    """A language model and its API key."""

    endpoint: Annotated[
        str | None, option("URL of an OpenAI-compatible server, ending in /v1.", LLM)
    ] = None
    model: Annotated[str | None, option("Name of the model.", LLM)] = None
    access: VlmAccess = VlmAccess()

    def load(self) -> Vlm | None:
        """The model that the options name; None where they name none."""
        if self.endpoint is None and self.model is None:
            return None
        if self.endpoint is None or self.model is None:
            raise SettingError("a language model needs both --endpoint and --model")
        with one_complaint():
            config = VlmConfig(endpoint=self.endpoint, model=self.model, **self.access.only())
        return load_vlm(config)


def print_experiment(
    folder: Path,
    name: str,
    tables: Sequence[ResultTable],
    notes: Sequence[str],
    rows: Sequence[Noun],
    about: Mapping[str, Any],
) -> None:
    """Write the tables, and print them."""
    paths = write_tables(folder, name, tables, notes, rows, about)
    print_tables(tables)
    for note in notes:
        typer.echo(note, err=True)
    typer.echo(f"Written: {', '.join(str(path) for path in paths)}")
