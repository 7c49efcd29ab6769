"""Runs of trust over painted slides, as `histoeval trust` leaves them, made without models."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.io.finished_run import write_texts
from histoeval.io.images import image_hash
from histoeval.pathgls.policy.policy import read_policy
from histoeval.pathgls.results import Claim, Grounding, ReportSpan, Spot, Support
from histoeval.report import Assertion, EntityType
from histoeval.run.trust.rows import PatchScores, TrustRow, patches_file, write_patch_scores

REPORT = "Skin: basal cell carcinoma. Ulceration. Some </script> words. No melanoma."
PATCH = 224


def claim(text: str, assertion: Assertion = Assertion.PRESENT) -> Claim:
    start = REPORT.index(text)
    span = ReportSpan(text=text, start=start, end=start + len(text))
    phrase = f"{text.lower()} of the skin"
    return Claim(span=span, type=EntityType.DIAGNOSIS, assertion=assertion, phrase=phrase)


def spots(width: int, height: int) -> list[Spot]:
    return [
        Spot(x=x, y=y, width=PATCH, height=PATCH)
        for y in range(0, height - PATCH + 1, PATCH)
        for x in range(0, width - PATCH + 1, PATCH)
    ]


def grounding(places: list[Spot]) -> Grounding:
    known: dict[str, Any] = {"cosine": 0.5, "decoy": "naevus of the skin"}
    return Grounding(
        value=0.6,
        raw=0.4,
        patches=len(places),
        supports=(
            Support(
                claim=claim("basal cell carcinoma"),
                value=0.9,
                verdict="supported",
                why="stands out from claims of other organs and diseases",
                agreeing=3,
                spot=places[-1],
                against=places[0],
                **known,
            ),
            Support(
                claim=claim("Ulceration"),
                value=0.2,
                verdict="contradicted",
                why="the image shows naevus of the skin rather than this",
                agreeing=0,
                spot=places[1],
                against=places[-1],
                **known,
            ),
            Support(claim=claim("words"), unknown="nearest is a word (0.41)", verdict="not_known"),
        ),
        verdict="supported",
        why="the image shows the organ",
        denied=(claim("melanoma", Assertion.ABSENT),),
        signature="grounding-2|painted@1|patch=224",
    )


def write_slide_run(
    folder: Path,
    image: Path,
    size: tuple[int, int],
    *,
    ids: tuple[str, ...] = ("case <b>1</b>",),
    scores: bool = True,
) -> Path:
    """A finished run about one image, with a row for each id."""
    folder.mkdir(parents=True, exist_ok=True)
    places = spots(*size)
    found = grounding(places)
    rows = [
        TrustRow(
            id=name,
            row=number,
            grounding=0.6,
            route="review",
            evidence={
                "image": image.name,
                "image_hash": image_hash(image),
                "grounding": found.model_dump(mode="json"),
                "trust": {
                    "low": 0.4,
                    "high": 0.8,
                    "reason": "trust 0.6 is below 0.8",
                    "missing": ["stability"],
                },
            },
        )
        for number, name in enumerate(ids, start=1)
    ]
    (folder / "trust.jsonl").write_bytes(b"".join(row.line() for row in rows))
    (folder / "trust.jsonl.meta.json").write_text('{"run": {}, "finished": true}', "utf-8")
    summary = {"policy": read_policy("without_endpoint").content()}
    (folder / "summary.json").write_text(json.dumps(summary), "utf-8")
    write_texts(folder, [{"id": name, "report": REPORT} for name in ids])
    for row in rows if scores else ():
        write_patch_scores(patches_file(folder, row.row), _scores(folder, image, places))
    return folder


def _scores(folder: Path, image: Path, places: list[Spot]) -> PatchScores:
    rising = np.linspace(1000, 6000, len(places)).astype(np.int16)
    return PatchScores(
        os.path.relpath(image, folder),
        "painted",
        np.array([(p.x, p.y, p.width, p.height) for p in places], np.int32),
        np.array([0, 1], np.int32),
        np.stack([rising, rising[::-1]]),
    )
