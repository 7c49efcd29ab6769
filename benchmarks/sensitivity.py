"""Sensitivity on reports and tiles that no rule was developed on, where ../shared is there.

`python -m benchmarks sensitivity [--shared FOLDER] [--work FOLDER] [--tcga N] [--tiles N]`; with
`--sample N` a random N of the reports, for all that takes too long on all of them.
Reports: WSI-LLaVA's reports and TCGA's, those whose id and text have an odd SHA-256 (the others
were there to develop on; the shipped NLI model has learned from sentences of both halves).
Tiles: the test split, each with a caption written from its labels, and with the caption of a tile
of another organ and diagnosis. Everything is kept in the work folder, and a stopped run goes on.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from histoeval.io.reports import open_reports
from histoeval.reader.reader import Reader
from histoeval.run.models import Models, load_reader
from histoeval.table import ResultTable, markdown
from histoeval_research.experiments.measures import measure_file, open_measures, score_frame
from histoeval_research.experiments.pathgls import template_report
from histoeval_research.experiments.perturb import (
    PerturbedRow,
    PerturbSettings,
    perturb_file,
    read_perturbed,
)
from histoeval_research.experiments.tables import (
    ablation,
    hierarchy,
    read_graded,
    sensitivity,
    with_trust,
)
from histoeval_research.view.experiment_tables import (
    ablation_table,
    hierarchy_tables,
    sensitivity_notes,
    sensitivity_table,
)

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
WSI_SETS = ("1_Report_test", "Key_Diagnostic_Description_test")
LONGEST = 2500
METRICS = "bleu,bertscore,hare,concordance"
SHARDS = "shard-*.tar"


def measure(arguments: Sequence[str] = ()) -> Iterator[ResultTable]:
    """Every table when it is finished; one that says so if the data are missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks sensitivity")
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--work", type=Path, default=None)
    parser.add_argument("--tcga", type=int, default=100, help="TCGA reports beside WSI-LLaVA's")
    parser.add_argument("--sample", type=int, default=None, help="a random N of the reports")
    parser.add_argument("--tiles", type=int, default=387, help="tiles of the test split")
    parser.add_argument("--parity", choices=["odd", "even"], default="odd")
    parser.add_argument("--metrics", default=METRICS, help="held beside, with commas")
    parser.add_argument("--answers", action="store_true", help="with stability")
    parser.add_argument("--part", choices=["reports", "tiles", "both"], default="both")
    settings = parser.parse_args(arguments)
    data = settings.shared / "data"
    if not (data / "corpora").is_dir():
        yield ResultTable("Sensitivity", ["skipped"], [["the shared data are not there"]])
        return
    with tempfile.TemporaryDirectory() as aside:
        work = settings.work or Path(aside)
        work.mkdir(parents=True, exist_ok=True)
        reader = load_reader(Models())
        if settings.part != "tiles":
            odd = settings.parity == "odd"
            rows = list(controls(data / "corpora", settings.tcga, odd))
            if settings.sample is not None:
                rows = random.Random(7).sample(rows, min(settings.sample, len(rows)))
            made = PerturbSettings(answers=settings.answers)
            metrics = settings.metrics.split(",")
            yield from on_reports(rows, work / f"reports_{settings.parity}", reader, metrics, made)
        if settings.part != "reports":
            yield from on_tiles(data / "tiles", settings.tiles, work / "tiles", reader)


def controls(corpora: Path, tcga: int, odd: bool) -> Iterator[dict[str, str]]:
    """True reports: all of WSI-LLaVA's that have a conclusion, and a sample of TCGA's."""
    seen: set[str] = set()
    for number, row in enumerate(_lines(corpora / "wsi_llava_qa.jsonl.gz")):
        text = row["answer"]
        if row["set"] in WSI_SETS and text not in seen and _is_odd(text) == odd:
            seen.add(text)
            yield {"id": f"wsi-{number}", "report": text}
    rows = [r for r in _lines(corpora / "tcga_reports.jsonl.gz") if r["id"].startswith("t14")]
    own = [r for r in rows if _is_odd(r["id"]) == _is_odd(r["text"]) == odd]
    able = [r for r in own if len(r["text"]) <= LONGEST]
    for row in random.Random(7).sample(able, min(tcga, len(able))):
        yield {"id": row["id"], "report": row["text"]}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _is_odd(name: str) -> bool:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 1


def on_reports(
    rows: Sequence[dict[str, str]],
    work: Path,
    reader: Reader,
    metrics: Sequence[str],
    settings: PerturbSettings,
) -> Iterator[ResultTable]:
    """Table 1 and the hierarchy on reports, without images."""
    work.mkdir(parents=True, exist_ok=True)
    captions, perturbed = work / "captions.jsonl", work / "perturbed.jsonl"
    _write(captions, rows)
    summary = perturb_file(open_reports(captions), reader, perturbed, settings)
    reports = read_perturbed(perturbed)
    bench = open_measures(reports, metrics, Models(reader=reader))
    drops = sensitivity(score_frame(measure_file(reports, work / "out", bench)))
    yield sensitivity_table(drops, bench.lacking)
    yield _notes("Notes", sensitivity_notes(drops, bench.lacking))
    yield from hierarchy_tables(hierarchy(with_trust(read_graded(work / "out"))))
    edits = [[name, f"{count:,}"] for name, count in summary["edits"].items()]
    yield ResultTable(f"Edits of {summary['reports']:,} reports", ["edit", "reports"], edits)


def on_tiles(folder: Path, most: int, work: Path, reader: Reader) -> Iterator[ResultTable]:
    """Table 1 on tiles of unseen cases: true captions, paraphrases, and decoys."""
    index = [json.loads(line) for line in (folder / "index.jsonl").read_text("utf-8").splitlines()]
    every = sorted((t for t in index if t["split"] == "test"), key=lambda t: str(t["key"]))
    tiles = random.Random(7).sample(every, min(most, len(every)))
    work.mkdir(parents=True, exist_ok=True)
    unpack(folder, tiles, work / "images")
    perturbed = work / "perturbed.jsonl"
    perturbed.write_bytes(b"".join(row.line() for row in captioned(tiles, every)))
    models, images, captions = Models(reader=reader), work / "images", read_perturbed(perturbed)
    bench = open_measures(captions, ("bleu", "bertscore"), models, images=images)
    drops = sensitivity(score_frame(measure_file(captions, work / "out", bench)))
    yield sensitivity_table(drops, bench.lacking)
    yield _notes("Notes", sensitivity_notes(drops, bench.lacking))
    _write(work / "reports.jsonl", list(reported(tiles)))
    perturbed = work / "perturbed_reports.jsonl"
    made = PerturbSettings(answers=True)
    perturb_file(open_reports(work / "reports.jsonl"), reader, perturbed, made)
    reports = read_perturbed(perturbed)
    bench = open_measures(reports, ("bleu",), models, images=images)
    measure_file(reports, work / "reports", bench)
    graded = with_trust(read_graded(work / "reports"))
    yield from hierarchy_tables(hierarchy(graded))
    yield ablation_table(ablation(graded))


def reported(tiles: Sequence[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """Each tile with a short report, written from its labels."""
    for tile in tiles:
        organ, diagnosis, kind = tile["organ"], tile["diagnosis"], tile["benign_or_malignant"]
        yield {
            "id": tile["key"],
            "patient": tile["case_group"],
            "image": f"{tile['key']}.jpg",
            "report": template_report(organ, diagnosis, kind),
        }


def unpack(folder: Path, tiles: Sequence[dict[str, Any]], out: Path) -> None:
    """Extract the images of some tiles from their shards, unless they exist."""
    out.mkdir(parents=True, exist_ok=True)
    wanted = {t["key"]: t for t in tiles if not (out / f"{t['key']}.jpg").exists()}
    for shard in sorted({str(tile["shard"]) for tile in wanted.values()}):
        with tarfile.open(folder / shard) as archive:
            for member in archive:
                key = Path(member.name).stem
                if key in wanted and (file := archive.extractfile(member)) is not None:
                    (out / f"{key}.jpg").write_bytes(file.read())


def captioned(
    tiles: Sequence[dict[str, Any]], every: Sequence[dict[str, Any]]
) -> Iterator[PerturbedRow]:
    """Each tile with its own caption, a paraphrase of it, and two decoys."""
    chance = random.Random(7)
    for tile in tiles:
        own = f"{tile['organ'].capitalize()}, biopsy: {tile['diagnosis']}."
        again = f"Biopsy of the {tile['organ']} that shows {tile['diagnosis']}."
        organ = chance.choice([t for t in every if t["organ"] != tile["organ"]])
        near = [t for t in every if t["concept"] != tile["concept"] and _far(tile, t)]
        other = chance.choice(near)
        strange = f"{organ['organ'].capitalize()}, biopsy: {organ['diagnosis']}."
        wrong = f"{tile['organ'].capitalize()}, biopsy: {other['diagnosis']}."
        common = {
            "case": tile["key"],
            "patient": tile["case_group"],
            "image": f"{tile['key']}.jpg",
            "reference": own,
        }
        for group, edit, level, text in (
            ("control", "control", 0, own),
            ("rewording", "frame", 1, again),
            ("visual", "another_organ", 5, strange),
            ("visual", "another_diagnosis", 5, wrong),
        ):
            yield PerturbedRow(
                id=f"{tile['key']}/{edit}",
                group=group,
                edit=edit,
                level=level,
                report=text,
                **common,
            )


def _far(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether a diagnosis is of another organ and behaviour, and so certainly wrong."""
    differs = one["benign_or_malignant"] != other["benign_or_malignant"]
    return bool(one["organ"] != other["organ"] and differs)


def _write(path: Path, rows: Sequence[dict[str, str]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def _notes(title: str, notes: Sequence[str]) -> ResultTable:
    return ResultTable(title, ["note"], [[note] for note in notes])


if __name__ == "__main__":
    import sys

    for found in measure(sys.argv[1:]):
        print(f"\n{markdown(found)}", flush=True)
