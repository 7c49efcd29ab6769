"""Asynchronous work from ordinary code, also in a notebook that has a running loop already."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import wait
from typing import Any, Self, TypeVar

T = TypeVar("T")

POLL_S = 0.5
"""How often a waiting thread looks for Ctrl-C where a lock cannot be interrupted (Windows)."""


class BackgroundLoop:
    """An event loop in a daemon thread of its own."""

    def __init__(self) -> None:
        ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._serve, args=[ready], daemon=True)
        self._thread.start()
        ready.wait()

    def _serve(self, ready: threading.Event) -> None:
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            self._loop.call_soon(ready.set)
            self._loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for work that is done in the loop; Ctrl-C cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            while not wait([future], POLL_S).done:
                pass
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def close(self) -> None:
        """Cancel what is left and end the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """The result of asynchronous work, whether or not a loop runs in this thread."""
    with BackgroundLoop() as loop:
        return loop.run(work)
