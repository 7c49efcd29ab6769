"""Which columns of a table hold what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from histoeval.io.pairs import Columns

COLUMNS = "Columns (guessed when omitted)"

IdOption = Annotated[
    str | None, typer.Option("--id", help="Column with the row id.", rich_help_panel=COLUMNS)
]
TextOption = Annotated[
    str | None, typer.Option(help="Column with the report text.", rich_help_panel=COLUMNS)
]
EncodingOption = Annotated[
    str | None,
    typer.Option(help="Encoding of text files, such as latin-1.", rich_help_panel=COLUMNS),
]


@dataclass(frozen=True)
class PairColumns:
    """The columns of a table of pairs."""

    reference: Annotated[
        str | None, typer.Option(help="Column with the reference.", rich_help_panel=COLUMNS)
    ] = None
    candidate: Annotated[
        list[str] | None,
        typer.Option(
            help="Column with a candidate; repeat it for each system.", rich_help_panel=COLUMNS
        ),
    ] = None
    id_column: IdOption = None
    system: Annotated[
        str | None,
        typer.Option(help="Column with the name of the system.", rich_help_panel=COLUMNS),
    ] = None

    def columns(self) -> Columns:
        """As `open_source` takes them."""
        return Columns(
            reference=self.reference,
            candidates=tuple(self.candidate or ()),
            id=self.id_column,
            system=self.system,
        )
