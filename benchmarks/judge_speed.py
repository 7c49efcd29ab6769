"""How near `histoeval judge` comes to the limit of the server, and whether its memory stays flat.

The server runs on this machine and answers after 20 ms. Its own limit is what a bare loop of
sockets gets out of it, with as many connections, the same requests, and nothing done with the
answers.
"""

from __future__ import annotations

import asyncio
import csv
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from histoeval.judge.panel import JudgeSampling
from histoeval.judge.prompt import load_prompt
from histoeval.judge.question import Question
from histoeval.llm.completions import body_of

CONCURRENT = 64
DELAY = 0.02


def write_pairs(path: Path, rows: int) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "reference", "candidate"])
        for n in range(rows):
            scores = f"{n % 4 + 1} {n % 3 + 1} {n // 3 % 3 + 1} {n // 4 % 4 + 1}"
            reference = f"Case {n}: invasive carcinoma of the left breast, grade 2, 14 mm. " * 8
            writer.writerow([n, reference, f"{reference} This is scored {scores}."])


@contextmanager
def server(delay: float = DELAY) -> Iterator[int]:
    """The port of a server in a process of its own."""
    command = [sys.executable, "-m", "tests.support.fake_server", "0", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def bare_rate(port: int, requests: int = 6400) -> float:
    """Requests a second of a loop that does nothing else."""
    return asyncio.run(_bare(port, requests))


async def _bare(port: int, requests: int) -> float:
    prompt = load_prompt("rubric4")
    texts = ("a reference of some length " * 20, "a candidate scored 4 3 3 4 " * 20)
    question = Question("m", prompt, *texts, JudgeSampling().parameters(prompt, 0))
    asked = question.request(prompt.messages(*texts))
    body = body_of("m", asked, "json_schema", "max_tokens")
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    sent = head.encode() + body

    async def one(times: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(times):
            writer.write(sent)
            found = await reader.readuntil(b"\r\n\r\n")
            size = re.search(rb"Content-Length: (\d+)", found)
            assert size is not None
            await reader.readexactly(int(size[1]))
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*[one(requests // CONCURRENT) for _ in range(CONCURRENT)])
    return requests / (time.perf_counter() - began)


def judged(port: int, rows: int, folder: Path) -> tuple[float, float]:
    """Requests a second from first to last, and the peak memory of the command in MB."""
    pairs, out = folder / f"pairs-{rows}.csv", folder / f"out-{rows}"
    write_pairs(pairs, rows)
    command = [sys.executable, "-m", "histoeval.cli.main", "judge", str(pairs)]
    where = ["--endpoint", f"http://127.0.0.1:{port}/v1", "--model", "m", "--output", str(out)]
    how = ["--concurrency", str(CONCURRENT), "--cache", str(folder / f"{rows}.sqlite")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    subprocess.run([*command, *where, *how], check=True, capture_output=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak >= before
    usage = json.loads((out / "usage.json").read_text("utf-8"))
    used = next(iter(usage.values()))
    return used["requests"] / used["seconds"], peak / (1e6 if sys.platform == "darwin" else 1e3)


def measure(sizes: tuple[int, ...] = (1_000, 10_000, 100_000)) -> list[list[str]]:
    """Pairs, the server's limit, our rate, its share, peak memory.

    The smallest come first, since the peak that the system tells is that of all so far.
    """
    rows = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder, server() as port:
            limit = bare_rate(port)
            rate, peak = judged(port, size, Path(folder))
            again = bare_rate(port)
        limit = (limit + again) / 2
        share = f"{rate / limit:.0%}"
        rows.append([f"{size:,}", f"{limit:,.0f}", f"{rate:,.0f}", share, f"{peak:.0f}"])
    return rows
