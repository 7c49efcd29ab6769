"""The page of a large run: how long it takes to write, its size, and how it behaves in a browser.

The run is made of the bundled examples, scored once, and repeated with variations: other ids, other
numbers, and a description of the specimen behind each text that no other pair has.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

PAIRS = 10_000
METRICS = "concordance,hare,bleu,rouge_l,chrf"
SYSTEMS = ("candidate_good", "candidate_bad")
EXTRA_WORDS = 90
"""Words of the description that is added to each text."""

WORDS = (
    "received fresh formalin labelled container fragment tissue tan brown firm measuring cassette "
    "submitted entirely representative sections surface cut shows lesion capsule intact nodular "
    "area grey white haemorrhagic inked black blue orange block levels examined serially sliced "
    "weight grams centimetres greatest dimension attached suture marks superior lateral medial"
).split()


def make_run(folder: Path, pairs: int = PAIRS) -> Path:
    """A finished score run of this many pairs, in a folder that is made."""
    import histoeval
    from histoeval.io.results import ResultFolder

    few = folder / "few"
    source = Path(histoeval.__file__).parent / "examples" / "pairs.csv"
    histoeval.score(source, metrics=METRICS, candidate=SYSTEMS, output=few)
    texts = [json.loads(line) for line in (few / "texts.jsonl").read_text("utf-8").splitlines()]
    rows = [row.model_dump(mode="json") for row in ResultFolder(few)]
    draw = random.Random(18)
    table, lines = folder / "pairs.csv", []
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "reference", "candidate", "system"))
        for number in range(pairs):
            row, text = rows[number % len(rows)], texts[number % len(rows)]
            name = f"{row['id']}-{number // len(rows):04d}"
            both = [f"{text[side]}\n{_description(draw)}" for side in ("reference", "candidate")]
            writer.writerow((name, *both, row["system"]))
            lines.append(_varied(row, name, number + 1, draw))
    run = folder / "run"
    run.mkdir()
    (run / "scores.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    _request(table, run)
    histoeval.score(table, metrics=METRICS, output=run)
    return run


def _description(draw: random.Random) -> str:
    words = [draw.choice(WORDS) for _ in range(EXTRA_WORDS)]
    words[::9] = [str(draw.randint(1, 999)) for _ in words[::9]]
    return " ".join(words).capitalize() + "."


def _varied(row: dict[str, Any], name: str, number: int, draw: random.Random) -> str:
    scores = {
        metric: result | {"value": result["value"] * draw.uniform(0.9, 1.0)}
        for metric, result in row["scores"].items()
    }
    return json.dumps(row | {"id": name, "row": number, "scores": scores})


def _request(table: Path, run: Path) -> None:
    """The request of the run, as if it had been stopped before its summary."""
    from histoeval.io.pairs import open_source
    from histoeval.run.models import load_metrics
    from histoeval.run.score import ScoreJob

    job = ScoreJob(open_source([table]), load_metrics(METRICS), 256)
    (run / "run.json").write_text(json.dumps(job.request()), "utf-8")


class WrittenPage(NamedTuple):
    """A page, and what it took to write it."""

    file: Path
    seconds: float
    processor_seconds: float


def write_page(run: Path) -> WrittenPage:
    """Write the page of a run, and take the time."""
    import histoeval

    began, worked = time.perf_counter(), time.process_time()
    page = histoeval.write_report(run)
    return WrittenPage(page, time.perf_counter() - began, time.process_time() - worked)


FILTERS = (
    ("severity", "critical"),
    ("kind", "omission"),
    ("organ", "breast"),
    ("from", "0.5"),
    ("severity", ""),
    ("kind", ""),
    ("organ", ""),
    ("from", ""),
)
"""What is chosen on the page, one after the other."""


def in_browser(page: Path) -> dict[str, float]:
    """What `in_tab` measures, in a browser of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        found = in_tab(browser.new_page(viewport={"width": 1280, "height": 900}), page)
        browser.close()
    return found


def in_tab(tab: Any, page: Path) -> dict[str, float]:
    """Milliseconds to the first paint, until the table is there, and of the slowest filter."""
    tab.goto(page.as_uri())
    tab.wait_for_selector("#table .tabulator-row")
    found = {
        "first paint": tab.evaluate(
            "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        ),
        "table ready": tab.evaluate("performance.now()"),
        "slowest filter": max(_filters(tab)),
    }
    began = time.perf_counter()
    tab.keyboard.press("j")
    tab.wait_for_selector("#pair .text")
    found["a pair opened"] = (time.perf_counter() - began) * 1000
    return found


def _filters(tab: Any) -> Iterator[float]:
    """Milliseconds of each filter, from the event to the next frame."""
    for name, value in FILTERS:
        yield tab.evaluate(
            """([name, value]) => new Promise((done) => {
              const field = document.getElementById("filters").elements[name];
              const began = performance.now();
              field.value = value;
              field.dispatchEvent(new Event("input", { bubbles: true }));
              setTimeout(() => requestAnimationFrame(
                () => setTimeout(() => done(performance.now() - began))));
            })""",
            [name, value],
        )


def measure(pairs: int = PAIRS) -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as place:
        run = make_run(Path(place), pairs)
        page = write_page(run)
        yield f"page of {pairs:,} pairs written", f"{page.seconds:.1f} s"
        yield "processor time of that", f"{page.processor_seconds:.1f} s"
        yield "size", f"{page.file.stat().st_size / 1e6:.1f} MB"
        if shutil.which("chromium") is None:
            yield "in a browser", "not measured: chromium is not installed"
            return
        for name, milliseconds in in_browser(page.file).items():
            yield name, f"{milliseconds:.0f} ms"
