"""The files that the pages of docs/ name in their commands, as small as they can be.

All texts were written by a language model.
"""

import csv
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.painted_slide import paint, write_slide
from histoeval import score
from histoeval_research.corpus import write_corpus
from tests.support import rating_sheets
from tests.support.paths import ROOT
from tests.support.rating_sheets import write as write_csv
from tests.support.tiny_corpus import PASSAGES

REFERENCE = (
    "Left breast, core biopsy: invasive ductal carcinoma, grade 2. ER positive. "
    "No lymphovascular invasion."
)
SAME = "Core biopsy of the left breast: ductal carcinoma, invasive, G2. ER+. Vessels are clear."
WRONG = (
    "Right breast, core biopsy: invasive ductal carcinoma, grade 2. ER negative. "
    "No lymphovascular invasion."
)
COLON = "Colon, biopsy: tubular adenoma. No dysplasia of high grade."
POLYP = "Colon biopsy: adenoma."
NLI = ("The margins are clear.", "The margin is involved.")


def write_inputs(folder: Path) -> None:
    """All of them; what only one page names is in pages/PAGE."""
    _tables(folder)
    _texts(folder)
    _corpora(folder)
    _runs(folder)
    write_slide(folder / "case.svs", 1024, 1024, 0.5, paint(1024))
    for name in ("trust", "train"):
        shutil.copytree(ROOT / "examples" / name, folder / "examples" / name)


def _tables(folder: Path) -> None:
    ids = ("case-1", "case-7", "breast-01")
    pairs = [
        {"id": name, "system": "model-a", "reference": reference, "candidate": candidate}
        for name, reference, candidate in zip(
            ids, (REFERENCE, COLON, REFERENCE), (WRONG, POLYP, SAME), strict=True
        )
    ]
    write_csv(folder / "pairs.csv", pairs)
    example = {"id": "breast", "reference": REFERENCE}
    write_csv(folder / "example.csv", [example | {"candidate_good": SAME, "candidate_bad": WRONG}])
    reports = [
        {"id": "A17", "image": "liver.jpg", "report": "Liver: hepatocellular carcinoma."},
        {"id": "b", "image": "colon.jpg", "report": COLON},
    ]
    write_csv(folder / "reports.csv", reports)
    for name in ("slides", "images"):
        shutil.copytree(ROOT / "examples" / "trust", folder / name)
    write_csv(folder / "sheet.csv", rating_sheets.rows(16))
    text = (folder / "sheet.csv").read_text("utf-8").replace(",", "\t")
    (folder / "sheet.tsv").write_text(text, "utf-8")
    (folder / "truth.json").write_text(
        json.dumps([{"id": "1", "report": REFERENCE}, {"id": "2", "report": COLON}]), "utf-8"
    )
    (folder / "team_a.json").write_text(
        json.dumps([{"id": "1", "report": SAME}, {"id": "2", "report": POLYP}]), "utf-8"
    )
    write_csv(folder / "team_b.csv", [{"id": "1", "report": WRONG}, {"id": "2", "report": COLON}])


def _texts(folder: Path) -> None:
    for name, texts in {
        "refs": (REFERENCE, COLON),
        "model_a": (SAME, POLYP),
        "model_b": (WRONG, COLON),
        "reports": (REFERENCE, COLON),
    }.items():
        (folder / f"{name}.txt").write_text("\n".join(texts), "utf-8")
        (folder / name).mkdir()
        for number, text in enumerate(texts):
            (folder / name / f"{number}.txt").write_text(text, "utf-8")
    (folder / "right.txt").write_text(REFERENCE, "utf-8")
    (folder / "ours.txt").write_text(WRONG, "utf-8")
    for name in ("ours", "theirs"):
        write_csv(folder / f"{name}.csv", [{"id": str(n), "report": REFERENCE} for n in range(3)])
    write_jsonl(folder / "theirs.jsonl", [{"id": "1", "report": COLON}])
    write_jsonl(folder / "pairs.jsonl", [{"id": "1", "premise": NLI[0], "hypothesis": NLI[1]}])
    wrong = {"kind": "flip", "effect": "harmful", "severity": 3, "text": WRONG}
    same = {"kind": "synonym", "effect": "harmless", "severity": 0, "text": SAME}
    probe = {"id": "1", "organ": "breast", "reference": REFERENCE, "edits": [wrong, same]}
    write_jsonl(folder / "mine.jsonl", [probe])


def _corpora(folder: Path) -> None:
    for name in ("corpus", "anna", "ben", "dev", "annotated"):
        write_corpus(folder / f"{name}.jsonl", PASSAGES)
    write_corpus(folder / "export.json", PASSAGES, "hare")


def _runs(folder: Path) -> None:
    """Finished runs and tables that single pages speak of, in folders of their names."""
    pairs = folder / "pairs.csv"
    score(pairs, metrics="bleu", output=folder / "pages" / "report" / "results")
    results = folder / "pages" / "results" / "results"
    score(pairs, metrics="bleu,concordance", output=results, format="parquet")
    for name in "ab":
        output = folder / "pages" / "agreement" / name
        score(pairs, metrics="bleu,concordance", output=output)
    for name in ("main", "results/main", "results/new"):
        score(pairs, metrics="bleu,concordance", output=folder / "pages" / "gates" / name)
    with (ROOT / "src/histoeval/examples/pairs.csv").open(encoding="utf-8") as file:
        bundled = [row for row in csv.DictReader(file) if row["id"] in {"breast-01", "skin-02"}]
    (folder / "pages" / "python").mkdir(parents=True)
    write_csv(folder / "pages" / "python" / "pairs.csv", bundled)
    readers = folder / "pages" / "evaluation"
    shutil.copytree(ROOT / "src/histoeval/models/reader", readers / "FOLDER")


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
