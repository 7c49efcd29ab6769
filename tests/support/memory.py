"""Memory of all processes of a test run; one that grows too much fails the run."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from benchmarks.million import processes_below, share_of_memory

LIMIT = 1200.0
"""MB for one process: two workers, and what their tests start, fit a laptop with 8 GB."""


class MemoryWatch(threading.Thread):
    """Looks every two seconds, where the system lists processes (Linux)."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest = self.together = 0.0
        self.command = ""
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(2):
            processes = [os.getpid(), *processes_below(os.getpid())]
            self.together = max(self.together, sum(map(share_of_memory, processes)))
            for process in processes:
                self._look_at(Path(f"/proc/{process}"))

    def stop(self) -> None:
        self._over.set()
        self.join()

    def __str__(self) -> str:
        return (
            f"memory: {self.largest:,.0f} MB the largest process ({self.command}), "
            f"{self.together:,.0f} MB all together"
        )

    def _look_at(self, process: Path) -> None:
        """Its peak until now, also between two looks."""
        try:
            status = (process / "status").read_text("utf-8")
            command = (process / "cmdline").read_text("utf-8", "replace")
        except OSError:  # it has ended
            return
        peak = status.partition("VmHWM:")[2].split()
        if peak and int(peak[0]) / 1e3 > self.largest:
            ours = int(status.partition("PPid:")[2].split()[0]) == os.getpid()
            self.largest = int(peak[0]) / 1e3
            self.command = "a worker" if ours else command.replace("\0", " ")[:80].strip()
