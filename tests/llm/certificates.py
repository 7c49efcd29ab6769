"""A private CA with a certificate for this machine and one for a client, made by openssl."""

import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Certificates(NamedTuple):
    """PEM files; server and client each hold certificate and key."""

    ca: Path
    server: Path
    client: Path

    def server_context(self, *, mutual: bool = False) -> ssl.SSLContext:
        """For a server; with `mutual` it asks for a client certificate of this CA."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server)
        if mutual:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.ca)
        return context


def make_certificates(folder: Path) -> Certificates:
    """All of them in a folder; the test is skipped where openssl is missing or too old."""
    ca, key = folder / "ca.pem", folder / "ca.key"
    _openssl(
        "req", "-x509", *CURVE, "-keyout", str(key), "-out", str(ca), "-days", "2",
        "-subj", "/CN=HistoEval test CA", "-addext", "keyUsage=critical,keyCertSign",
    )  # fmt: skip
    made = []
    for name in ("server", "client"):
        own, asked, pem = (folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        rest = folder / f"{name}.ext"
        rest.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\n", "utf-8")
        _openssl(
            "req", *CURVE, "-keyout", str(own), "-out", str(asked), "-subj", f"/CN={name}",
        )  # fmt: skip
        _openssl(
            "x509", "-req", "-in", str(asked), "-CA", str(ca), "-CAkey", str(key),
            "-CAcreateserial", "-days", "2", "-extfile", str(rest), "-out", str(pem),
        )  # fmt: skip
        pem.write_text(pem.read_text("utf-8") + own.read_text("utf-8"), "utf-8")
        made.append(pem)
    return Certificates(ca, *made)


def _openssl(*arguments: str) -> None:
    try:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no openssl that makes certificates: {error}")
