"""Which columns of a table hold what."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from histoeval.cli.options.bundle import option
from histoeval.io.pairs import Columns, Joining
from histoeval.io.tables.columns import ReferenceMode
from histoeval.io.tables.remote import local_input

COLUMNS = "Columns (guessed when omitted)"
JOINING = "References"

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


@dataclass(frozen=True)
class JoinOptions:
    """References and candidates that lie in files of their own."""

    truth: Annotated[
        Path | None,
        option(
            "File or folder of the references; every FILE is then a system, and its reports are "
            "joined with them by id.",
            JOINING,
            metavar="FILE",
            parser=local_input,
        ),
    ] = None
    loose_ids: Annotated[
        bool,
        option("Accept ids that differ only in file ending, case, outer spaces or zeros.", JOINING),
    ] = False
    several: Annotated[
        ReferenceMode | None,
        option(
            "What counts where a case has several references: ids that come more than once in the "
            "truth, columns reference_1, reference_2 …, or lists in JSON.",
            JOINING,
            name="--references",
        ),
    ] = None

    def joining(self) -> Joining:
        """As `open_source` takes it."""
        return Joining(loose_ids=self.loose_ids, references=self.several)
