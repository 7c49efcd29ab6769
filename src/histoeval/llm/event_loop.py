"""Asynchronous work from ordinary code, also in a notebook that has a loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def in_a_loop() -> bool:
    """Whether asynchronous work is going on here already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Do asynchronous work, here or beside the loop that runs here."""
    if not in_a_loop():
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, work).result()
