"""Run the app: bind, print the link with its token, serve until stopped."""

import errno
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from histoeval.errors import SettingError
from histoeval.web.security import LOCAL

EVERY_ADDRESS = {"0.0.0.0", "::", ""}


def serve(
    folder: Path | None,
    *,
    host: str,
    port: int,
    allow_others: bool,
    study: Path | None,
    say: Callable[[str], None],
) -> None:
    """Serve a folder of runs, or else a study, until the process is interrupted."""
    is_local = _is_loopback(host)
    if not is_local and not allow_others:
        raise SettingError(
            f"--host {host or repr(host)} would let other machines read the reports; add "
            "--allow-others if that is wanted, or leave --host out to stay on this machine"
        )
    names: dict[str, Any] = {
        "hosts": (*LOCAL, host, *(() if is_local else (socket.gethostname(), socket.getfqdn()))),
        "any_address": not is_local,
    }
    app, links = _app(folder, study, names)
    with _bound(host, port) as listening:
        port = listening.getsockname()[1]
        if not is_local:
            say(
                "Warning: other machines can reach this server, and the connection is not "
                "encrypted. Whoever has the link can read every report that is served."
            )
        name = socket.gethostname() if host in EVERY_ADDRESS else host
        for line in links(app, f"http://{f'[{name}]' if ':' in name else name}:{port}"):
            say(line)
        say("Stop with Ctrl+C.")
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, lifespan="on"
        )
        with suppress(KeyboardInterrupt):  # how it is meant to end
            uvicorn.Server(config).run(sockets=[listening])


def _app(
    folder: Path | None, study: Path | None, names: Mapping[str, Any]
) -> tuple[Starlette, Callable[[Starlette, str], Iterator[str]]]:
    """Return the app of runs or of a study, loaded alone, and what prints its links."""
    if study is not None and folder is None:
        from histoeval.web.study.app import create_study_app, study_links

        return create_study_app(study, **names), study_links
    if folder is not None and study is None:
        from histoeval.web.app import create_app

        token = secrets.token_urlsafe(24)
        app = create_app(folder, token=token, **names)
        return app, lambda _, address: iter([f"Open {address}/?token={token}"])
    raise SettingError(
        "give the folder of runs to look at, or --study STUDY.yaml to collect experts' scores; "
        "each has a server of its own, so that no rater can come near a run"
    )


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # whoever opens the link at once waits, and is not refused
    except (OSError, OverflowError) as error:
        listening.close()
        code = error.errno if isinstance(error, OSError) else None
        advice = "the port may be taken: give another --port, or --port 0 for any that is free"
        if isinstance(error, socket.gaierror) or code == errno.EADDRNOTAVAIL:
            advice = "this machine has no such address: correct --host, or leave it out"
        elif code == errno.EACCES:
            advice = "this port is reserved: give a --port from 1024 on, or --port 0 for a free one"
        raise SettingError(f"cannot listen on {host}, port {port}: {advice} ({error})") from error
    return listening


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host in LOCAL
