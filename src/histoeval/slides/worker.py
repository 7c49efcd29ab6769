"""The child process of `isolated.py`: `python -m histoeval.slides.worker` opens and reads slides.

Requests come in by standard input, and answers go out by standard output; whatever libraries print
is kept away from both.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

from histoeval.errors import HistoEvalError
from histoeval.slides.isolated import SECONDS, receive, send
from histoeval.slides.open import open_here
from histoeval.slides.slide import Slide, unreadable

MEMORY = 4 << 30  # bytes that a child may use; a normal slide takes less than a tenth


def serve() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends this
    _limit_memory()
    requests, answers = os.fdopen(0, "rb"), os.fdopen(os.dup(1), "wb")
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, 1)
    os.dup2(null_device, 2)
    send(answers, {})
    slide: Slide | None = None
    opened = 0
    with suppress(EOFError, BrokenPipeError):
        while True:
            # have the system end this process, should the parent that would do so be gone
            if hasattr(signal, "alarm"):
                signal.alarm(0)
            request, _ = receive(requests)
            if hasattr(signal, "alarm"):
                signal.alarm(int(2 * SECONDS))
            if request["slide"] != opened and slide is not None:
                slide.close()
                slide = None
            opened = request["slide"]
            if not opened:
                send(answers, {})
                continue
            try:
                if slide is None:
                    if request["from"] is not None:
                        os.chdir(request["from"])
                    slide = open_here(Path(request["path"]))
                if request["region"] is not None:
                    send(answers, {}, slide.region(*request["region"]))
                    continue
                resolution = slide.resolution
                facts = {
                    "format": slide.format,
                    "levels": slide.levels,
                    "resolution": None
                    if resolution is None
                    else (resolution.x, resolution.y, resolution.source),
                    "notes": slide.notes,
                }
                send(answers, facts)
            except HistoEvalError as error:
                send(answers, {"error": type(error).__name__, "message": str(error)})
            except Exception as error:  # noqa: BLE001 - libraries raise anything
                refusal = unreadable(Path(request["path"]), error)
                send(answers, {"error": "InputError", "message": str(refusal)})


def _limit_memory() -> None:
    """Limit memory where the system can; no memory is dumped when a library ends the process."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        with suppress(ValueError, OSError):
            resource.setrlimit(
                kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
            )


if __name__ == "__main__":
    serve()
