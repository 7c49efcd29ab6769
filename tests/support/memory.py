"""Memory of all processes of a test run: told in its summary, and given back between tests."""

import ctypes
import gc
import os
import sys
import threading
from pathlib import Path

from benchmarks.million import processes_below, share_of_memory

LIMIT = 1200.0
"""MB for one process: two workers, and what their tests start, fit a laptop with 8 GB."""


_GROWN = 60.0
"""MB by which a process has grown when it gives back what it no longer needs."""


class Resident:
    """The memory of this process, given back after tests that have freed much of it.

    The C library keeps what is freed for later: half of a worker in the end.
    """

    def __init__(self) -> None:
        self._after = 500.0
        self._library = ctypes.CDLL(None) if sys.platform == "linux" else None

    def give_back(self) -> None:
        """Only where it has grown since the last time: it takes a third of a second."""
        trim = getattr(self._library, "malloc_trim", None)
        if trim is not None and self._now() > self._after + _GROWN:
            gc.collect()
            trim(0)
            self._after = max(self._after, self._now())

    @staticmethod
    def _now() -> float:
        pages = Path("/proc/self/statm").read_text("utf-8").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


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
