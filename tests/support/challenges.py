"""A small challenge: eight invented cases, and teams that hand in more or less of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from histoeval.challenge import init_challenge

TRUTH = {
    "case-1.tiff": "Breast, left, core biopsy: invasive carcinoma of no special type, grade 2.",
    "case-2.tiff": "Stomach, biopsy: chronic gastritis with intestinal metaplasia.",
    "case-3.tiff": "Prostate, needle biopsy: acinar adenocarcinoma, Gleason score 7 (3+4).",
    "case-4.tiff": "Lung, right, biopsy: squamous cell carcinoma.",
    "case-5.tiff": "Colon, polypectomy: tubular adenoma with low grade dysplasia.",
    "case-6.tiff": "Urinary bladder, TUR: papillary urothelial carcinoma, low grade.",
    "case-7.tiff": "Uterine cervix, biopsy: high grade squamous intraepithelial lesion.",
    "case-8.tiff": "Breast, right, core biopsy: fibroadenoma.",
}
"""Written by a language model; no case is a real patient's."""

RULES: dict[str, Any] = {
    "metrics": {"rouge_l": 3, "bleu_4": 1},
    "subgroups": "subgroups.csv",
    "resamples": 200,
    "permutations": 200,
}


def rows(reports: Mapping[str, object]) -> list[dict[str, object]]:
    return [{"id": id_, "report": report} for id_, report in reports.items()]


def write_json(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
    return path


def set_rules(folder: Path, **changes: Any) -> None:
    (folder / "policy.yaml").write_text(yaml.safe_dump(RULES | changes), "utf-8")


def a_challenge(place: Path, **changes: Any) -> Path:
    truth = write_json(place / "given" / "truth.json", rows(TRUTH))
    init_challenge(place / "challenge", truth)
    set_rules(place / "challenge", **changes)
    return place / "challenge"


def changed(count: int, wrong: str = "no such thing at all") -> dict[str, object]:
    """The truth with the reports of the first cases replaced."""
    return {**TRUTH, **dict.fromkeys(list(TRUTH)[:count], wrong)}


def team(place: Path, name: str, reports: Mapping[str, object]) -> Path:
    return write_json(place / "teams" / f"{name}.json", rows(reports))
