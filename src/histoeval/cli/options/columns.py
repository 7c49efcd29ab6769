"""Which columns of a table hold what."""

from dataclasses import dataclass
from typing import Annotated

from histoeval.cli.options.bundle import option
from histoeval.io.pairs import Columns

COLUMNS = "Columns (guessed when omitted)"

IdOption = Annotated[str | None, option("Column with the row id.", COLUMNS, name="--id")]
TextOption = Annotated[str | None, option("Column with the report text.", COLUMNS)]
EncodingOption = Annotated[str | None, option("Encoding of text files, such as latin-1.", COLUMNS)]


@dataclass(frozen=True)
class PairColumns:
    """The columns of a table of pairs."""

    reference: Annotated[str | None, option("Column with the reference.", COLUMNS)] = None
    candidate: Annotated[
        list[str] | None, option("Column with a candidate; repeat it for each system.", COLUMNS)
    ] = None
    id_column: IdOption = None
    system: Annotated[str | None, option("Column with the name of the system.", COLUMNS)] = None

    def columns(self) -> Columns:
        """As `open_source` takes them."""
        return Columns(
            reference=self.reference,
            candidates=tuple(self.candidate or ()),
            id=self.id_column,
            system=self.system,
        )
