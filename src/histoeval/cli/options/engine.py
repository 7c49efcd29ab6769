"""What runs a verb: this process, all cores, or a Ray cluster."""

from dataclasses import dataclass
from typing import Annotated

from histoeval.cli.options.bundle import option
from histoeval.run.engines.engine import Engine
from histoeval.run.engines.local import EngineName, choose_engine

ENGINE = "Engine (it never changes a result)"


@dataclass(frozen=True)
class EngineOptions:
    """Where the work is done."""

    engine: Annotated[
        EngineName | None,
        option(
            "local: processes on all cores; ray: a Ray cluster (extra ray); inline: this process. "
            "local when omitted, but inline for small inputs.",
            ENGINE,
        ),
    ] = None
    workers: Annotated[
        int | None,
        option("Number of processes; one per core when omitted.", ENGINE, min=1, metavar="N"),
    ] = None
    address: Annotated[
        str | None,
        option("Ray cluster: auto or HOST:PORT; a new one on this machine when omitted.", ENGINE),
    ] = None
    block_rows: Annotated[
        int | None,
        option(
            "Rows per block of work; chosen by the engine when omitted.",
            ENGINE,
            name="--batch-size",
            min=1,
            metavar="N",
        ),
    ] = None

    def chosen(self) -> Engine:
        """The engine."""
        return choose_engine(self.engine, self.workers, self.address)
