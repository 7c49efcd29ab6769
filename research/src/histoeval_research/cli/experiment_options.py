"""Options that the experiments share, and how they print what they found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from histoeval.cli.output import print_tables
from histoeval.errors import SettingError
from histoeval.llm.options import VlmAccess
from histoeval.report import Noun
from histoeval.settings import Option, single_line_validation_errors
from histoeval.table import ResultTable
from histoeval.vlm.load import load_vlm
from histoeval.vlm.model import Vlm, VlmConfig
from histoeval_research.view.experiment_tables import write_tables

LLM = "Language model that also edits reports"

ResamplesOption = Annotated[int, Option("Resamples for confidence intervals.", min=1)]
SeedOption = Annotated[int, Option("Random seed.")]
TableFolder = Annotated[Path, Option("Folder for the table.")]
FigureOption = Annotated[
    bool, Option("Also draw it as SVG and PNG (extra figures).", name="--figure")
]


@dataclass(frozen=True)
class EditingModel:
    """A language model and its API key."""

    endpoint: Annotated[
        str | None, Option("URL of an OpenAI-compatible server, ending in /v1.", LLM)
    ] = None
    model: Annotated[str | None, Option("Name of the model.", LLM)] = None
    access: VlmAccess = field(default_factory=VlmAccess)

    def load(self) -> Vlm | None:
        """The model that the options name; None where they name none."""
        if self.endpoint is None and self.model is None:
            return None
        if self.endpoint is None or self.model is None:
            raise SettingError("a language model needs both --endpoint and --model")
        with single_line_validation_errors():
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
