"""A small ontology of our own writing, and settings that learn it in seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ORGANS = ("breast", "lung", "kidney", "colon", "liver", "skin")
KINDS = ("carcinoma", "adenoma", "sarcoma", "cyst")


def write_names(folder: Path) -> Path:
    """Every kind of tumour in every organ, each with two synonyms."""
    rows = [
        {
            "id": f"C{len(KINDS) * place + number}",
            "name": f"{organ} {kind}",
            "synonyms": [f"{kind} of {organ}", f"{organ} tumor, {kind} type"],
            "parents": [organ],
        }
        for place, organ in enumerate(ORGANS)
        for number, kind in enumerate(KINDS)
    ]
    file = folder / "names.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return file


def write_opposites(folder: Path) -> Path:
    """One row."""
    row = {
        "phrase": "left kidney",
        "synonym": "kidney, left",
        "opposite": "right kidney",
        "opposite_synonym": "kidney, right",
        "axis": "laterality",
    }
    file = folder / "opposites.jsonl"
    file.write_text(json.dumps(row), "utf-8")
    return file


def settings_of(names: Path, encoder: Path, **others: Any) -> dict[str, Any]:
    """What stands in the YAML file."""
    return {
        "ontologies": [{"file": str(names), "kind": "ncit"}],
        "encoder": str(encoder),
        "naming": {"terms": 0, "composed": 0, "held_out": 0.2},
        "learning": {"epochs": 2, "draws": 64, "batch": 16, "rate": 1e-3},
        **others,
    }
