"""Damaged and forged images and slides: each is opened or refused in words, within its limits.

A small sample runs with the tests; `python -m tests.faults.fuzz_images --files 4000` runs more. The
same seed makes the same files. Each file is opened by a process that may take 20 seconds and 1 GB,
and so may the process that it has slides read by.
"""

import argparse
import json
import random
import re
import resource
import shutil
import struct
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tifffile
from PIL import Image

from benchmarks.fuzz_files import Worker
from tests.support.dicom_files import write_dicom
from tests.support.painted_slides import glass, put, stained, write_deep_zoom, write_pyramid

BYTES = 1 << 30
# what tags are set to, beside numbers at random
NUMBERS = (0, 1, 2, 15, 16, 255, 256, 32767, 65535, 1 << 20, 1 << 30, (1 << 31) - 1, (1 << 32) - 1)


class Outcome(NamedTuple):
    """What became of one file: opened, refused, or a fault of ours."""

    kind: str
    result: str
    message: str
    seconds: float

    @property
    def is_fault(self) -> bool:
        return self.result not in {"opened", "refused"}


# --- files ------------------------------------------------------------------------------------


def samples(folder: Path) -> dict[str, Path]:
    """A small whole file, or the file that is damaged in a folder, of every kind."""
    pixels = glass(150, 200)
    put(pixels, stained(100, 140), 30, 25)
    picture, found = Image.fromarray(pixels), {}
    for name in ("a.png", "a.jpg", "a.bmp", "a.webp"):
        found[name] = folder / name
        picture.save(found[name])
    tiffs: dict[str, dict[str, Any]] = {
        "striped.tif": {"rowsperstrip": 37},
        "tiled.tif": {"tile": (64, 64), "compression": "zlib"},
        "jpeg.tif": {"tile": (64, 64), "compression": "jpeg"},
        "big.tif": {"tile": (64, 64), "bigtiff": True, "byteorder": ">"},
        "aperio.svs": {
            "tile": (64, 64),
            "compression": "jpeg",
            "description": "Aperio Image Library\n200x150 |AppMag = 20|MPP = 0.5",
            "metadata": None,
        },
        "ome.ome.tif": {"tile": (64, 64), "ome": True, "compression": "lzw"},
    }
    for name, how in tiffs.items():
        found[name] = folder / name
        tifffile.imwrite(found[name], pixels, photometric="rgb", **how)
    found["pyramid.tif"] = write_pyramid(folder / "pyramid.tif", np.tile(pixels, (2, 2, 1)))
    found["zoom.dzi"] = write_deep_zoom(folder / "zoom.dzi", pixels, 128)
    found["block.png"] = folder / "zoom_files" / "8" / "0_0.png"
    write_dicom(folder / "dicom", np.tile(pixels, (4, 4, 1)), 0.5)
    found["level0.dcm"] = folder / "dicom" / "level0.dcm"
    return found


# --- damage -----------------------------------------------------------------------------------


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The content with one kind of damage."""
    spoiled = bytearray(content)
    ways: list[Callable[[bytearray, random.Random], None]] = [_flip, _flip, _cut, _insert, _remove]
    if content[:2] in {b"II", b"MM"}:
        ways += [_retag] * 6
    if content[:4] == b"\x89PNG":
        ways += [_rechunk] * 4
    if content[:5] == b"<?xml":
        ways += [_renumber] * 6
    draw.choice(ways)(spoiled, draw)
    return bytes(spoiled)


def _flip(content: bytearray, draw: random.Random) -> None:
    """A few bytes, most often at the start, where headers are."""
    end = draw.choice((64, 512, len(content)))
    for _ in range(draw.randint(1, 8)):
        content[draw.randrange(min(end, len(content)))] = draw.randrange(256)


def _cut(content: bytearray, draw: random.Random) -> None:
    del content[draw.randrange(len(content)) :]


def _insert(content: bytearray, draw: random.Random) -> None:
    place = draw.randrange(len(content))
    content[place:place] = draw.randbytes(draw.randint(1, 64))


def _remove(content: bytearray, draw: random.Random) -> None:
    place = draw.randrange(len(content))
    del content[place : place + draw.randint(1, 64)]


def _retag(content: bytearray, draw: random.Random) -> None:
    """The type, number or value of one to three tags."""
    entries = list(_tags(bytes(content)))
    order = "<" if content[:2] == b"II" else ">"
    for place, size in draw.sample(entries, min(len(entries), draw.randint(1, 3))):
        number = draw.choice((*NUMBERS, draw.getrandbits(8), draw.getrandbits(32)))
        what = draw.choice(("kind", "count", "value", "value", "value", "code"))
        wide = "Q" if size == 20 else "I"
        if what == "code":
            struct.pack_into(f"{order}H", content, place, draw.choice((256, 257, 259, 322, 323)))
        elif what == "kind":
            struct.pack_into(f"{order}H", content, place + 2, draw.randrange(20))
        else:
            beside = 4 if what == "count" else 4 + struct.calcsize(wide)
            if draw.random() < 0.5:  # values of one number are often shorter than their field
                struct.pack_into(f"{order}H", content, place + 2, 4)
            struct.pack_into(f"{order}{wide}", content, place + beside, number)


def _rechunk(content: bytearray, draw: random.Random) -> None:
    """Bytes inside of a chunk of a PNG, with a checksum that is right."""
    chunks, place = [], 8
    while place + 12 <= len(content):
        (length,) = struct.unpack_from(">I", content, place)
        chunks.append((place, length))
        place += 12 + length
    start, length = draw.choice(chunks[:3])
    for _ in range(draw.randint(1, 4)):
        content[start + 8 + draw.randrange(max(1, length))] = draw.choice((0, 1, 8, 16, 127, 255))
    checked = zlib.crc32(content[start + 4 : start + 8 + length])
    struct.pack_into(">I", content, start + 8 + length, checked)


def _renumber(content: bytearray, draw: random.Random) -> None:
    """A number in quotes."""
    places = list(re.finditer(rb'"(\d+)"', content))
    found = draw.choice(places)
    content[found.start(1) : found.end(1)] = str(draw.choice((*NUMBERS, 1 << 70))).encode()


def _tags(content: bytes) -> Iterator[tuple[int, int]]:
    """Where the tags of all pages are, and how long each is."""
    order = "<" if content[:2] == b"II" else ">"
    big = struct.unpack_from(f"{order}H", content, 2)[0] == 43
    number, offset, size = ("Q", "Q", 20) if big else ("H", "I", 12)
    (page,) = struct.unpack_from(f"{order}{offset}", content, 8 if big else 4)
    while page:
        (count,) = struct.unpack_from(f"{order}{number}", content, page)
        start = page + struct.calcsize(number)
        yield from ((start + size * each, size) for each in range(count))
        (page,) = struct.unpack_from(f"{order}{offset}", content, start + size * count)


# --- runs -------------------------------------------------------------------------------------


def fuzz(
    files: int, seed: int = 0, damage: Callable[[bytes, random.Random], bytes] = damaged
) -> Iterator[Outcome]:
    """Damage files one after the other, and see what becomes of each."""
    worker = Worker(seed, serve)
    with tempfile.TemporaryDirectory() as home, closing(worker):
        whole = samples(Path(home))
        contents = {name: path.read_bytes() for name, path in whole.items()}
        for number in range(files):
            kind = list(whole)[number % len(whole)]
            path = whole[kind]
            path.write_bytes(damage(contents[kind], random.Random(f"{seed} {number}")))
            named = {"block.png": whole["zoom.dzi"], "level0.dcm": path.parent}.get(kind, path)
            start = time.perf_counter()
            result, _, message = worker.read(named).partition(": ")
            outcome = Outcome(kind, result, message, time.perf_counter() - start)
            if outcome.is_fault:
                shutil.copy(path, Path(tempfile.gettempdir(), f"fuzz_{seed}_{number}_{path.name}"))
            yield outcome
            path.write_bytes(contents[kind])


def serve(paths: Connection, _: int) -> None:
    """Open files as they are named, and say what became of each."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    from histoeval.errors import HistoEvalError
    from histoeval.slides.open import open_slide
    from histoeval.slides.tiles import TileRequest, plan_tiles, read_tiles
    from histoeval.slides.tissue import describe, find_tissue

    paths.send("ready")
    while True:
        (path,) = paths.recv()
        try:
            with open_slide(path) as slide:
                tissue = find_tissue(slide)
                json.dumps(describe(slide, tissue))
                slide.region(0, 0, 0, 64, 64)
                request = TileRequest(size=64, mpp=None, tissue=0.0, sample=4)
                list(read_tiles(slide, plan_tiles(slide, tissue, request)))
            result = "opened"
        except HistoEvalError as error:
            result = f"refused: {error}" if str(error).strip() else "without words"
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            result = f"raised: {type(error).__name__}: {error}"
        paths.send((result, 0))


def main() -> int:
    """Run as many files as are asked for, and print what became of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.fuzz_images")
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    slowest = Outcome("", "", "", 0.0)
    faults = 0
    for number, outcome in enumerate(fuzz(given.files, given.seed)):
        ended = "reading it ended" in outcome.message or "no answer" in outcome.message
        counts[outcome.kind, f"{outcome.result}{', child' * ended}"] += 1
        slowest = max(slowest, outcome, key=lambda outcome: outcome.seconds)
        if outcome.is_fault or ended:
            faults += outcome.is_fault
            sys.stdout.write(f"{number} {outcome}\n")
    for (kind, result), count in sorted(counts.items()):
        sys.stdout.write(f"{kind:14} {result:16} {count:6,}\n")
    sys.stdout.write(f"{counts.total():,} files, {faults:,} faults; slowest: {slowest}\n")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
