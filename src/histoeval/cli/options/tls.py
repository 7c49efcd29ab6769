"""Certificates for servers behind a private CA, or that ask for a client certificate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

TLS = "TLS"


@dataclass(frozen=True)
class TlsOptions:
    """PEM files; the fields of `histoeval.llm.client.Tls`."""

    ca: Annotated[
        Path | None,
        typer.Option(
            help="PEM file of private certificate authorities, trusted beside the system's.",
            rich_help_panel=TLS,
        ),
    ] = None
    client_cert: Annotated[
        Path | None,
        typer.Option(
            help="PEM file with the client certificate (mTLS), and its key unless --client-key "
            "names it.",
            rich_help_panel=TLS,
        ),
    ] = None
    client_key: Annotated[
        Path | None,
        typer.Option(help="PEM file with the key of --client-cert.", rich_help_panel=TLS),
    ] = None
