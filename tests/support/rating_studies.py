"""Studies of our own writing: pairs of two systems, a plan beside them, and ratings."""

import csv
from pathlib import Path
from typing import Any

import yaml

from histoeval.web.study.plan import ExpertStudy, read_study
from histoeval.web.study.store import ExpertRating, RaterRatings, RatingLine

SYSTEMS = ("secretmodel-a", "secretmodel-b")
"""Names that no page for a rater may hold."""

SITES = ("colon", "stomach", "left breast", "right kidney", "skin of the back")
FINDINGS = ("adenocarcinoma", "chronic inflammation", "tubular adenoma", "no malignancy")


def write_pairs(folder: Path, count: int = 12) -> Path:
    """Pairs of two systems on half as many cases, with a column of organs."""
    path = folder / "pairs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "system", "case", "organ", "reference", "candidate"])
        for number in range(count):
            case = number // 2
            site, finding = SITES[case % len(SITES)], FINDINGS[case % len(FINDINGS)]
            said = finding if number % 3 else FINDINGS[(case + 1) % len(FINDINGS)]
            reference = f"Case {case}: {site}, biopsy: {finding}. Margins are clear."
            candidate = f"Biopsy {case} of the {site} shows {said}."
            system = SYSTEMS[number % 2]
            writer.writerow([f"p{case}", system, f"c{case}", site, reference, candidate])
    return path


def write_plan(folder: Path, **changes: Any) -> Path:
    """STUDY.yaml beside its pairs; a change of None takes a setting out."""
    if not (folder / "pairs.csv").exists():
        write_pairs(folder)
    plan = {
        "name": "Biopsies, first reading",
        "pairs": "pairs.csv",
        "raters": ["anna", "ben", "chloe"],
        "seed": 7,
        "labels": ["organ"],
        "output": "study",
    }
    content = {name: value for name, value in (plan | changes).items() if value is not None}
    path = folder / "STUDY.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    return path


def make_study(folder: Path, **changes: Any) -> ExpertStudy:
    return read_study(write_plan(folder, **changes))


def rating(score: float | None = 3.5, **more: Any) -> ExpertRating:
    """A rating with every criterion answered."""
    criteria = {
        "critical_finding_concordance": 3,
        "factual_accuracy": 2,
        "factual_completeness": 3,
        "overall_equivalence": 3,
    }
    return ExpertRating.model_validate({"score": score, "criteria": criteria} | more)


def rated(study: ExpertStudy, scores: list[float | None], **more: Any) -> RaterRatings:
    """What a rater has said who gave these scores to the pairs of the table."""
    found = RaterRatings()
    for number, (pair, score) in enumerate(zip(study.pairs, scores, strict=False), start=1):
        if score is not None:
            line = RatingLine(
                number=number,
                time=f"2026-03-01T10:{number:02}:00+00:00",
                request=f"request-{number}",
                id=pair.key[0],
                system=pair.key[1],
                is_draft=False,
                rating=rating(score, **more),
            )
            found.take(line)
    return found
